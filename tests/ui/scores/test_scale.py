"""A run's score between no biology and a replicate, on the page Scores and by the command; and its cautions."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from core.actions.imports import ImportOptions, import_upload
from core.actions.workspace import Workspace
from core.scoring.score_scale import caution
from core.stats.official_score import ScaledScore
from core.texts import NO_BIOLOGY
from tests.cases import TRAIN
from tests.commands import core_json
from tests.ui.conftest import Visit
from tests.ui.test_apptest import text_of


def test_a_replicate_is_named_and_the_score_stands_on_its_scale(small_workspace: Workspace, visit: Visit, tmp_path: Path) -> None:
    assert "Replicate of the screen" not in [each.label for each in visit(small_workspace, "scores", run="debate").selectbox]
    assert (
        import_upload(small_workspace, TRAIN + b"Pd_Gd,Pd,Gd,up\n", "train.csv", ImportOptions(dataset="again")).kind
        == "challenge_train"
    )
    text = text_of(visit(small_workspace, "scores", run="debate", replicate="again"))
    assert "DE on the scale" in text
    assert "replicate 1.000" in text
    part = core_json(small_workspace.settings.workspace, "score", "debate", "--replicate", "again")["scale"]["de"]
    assert part["ceiling"] == 1.0
    assert part["value"] == (part["score"] - part["floor"]) / (1 - part["floor"])
    assert f"**{part['value']:.2f}**".replace(".", r"\.") in text
    place, file = small_workspace.settings.workspace, tmp_path / "r.html"
    core_json(place, "report", "new", "r", "--runs", "debate", "--replicate", "again")
    core_json(place, "report", "build", "r", "--out", str(file))
    assert f"on the scale from the {NO_BIOLOGY} (0) to replicate again (1)" in file.read_text("utf-8")
    assert core_json(place, "report", "list")["reports"][0]["replicate"] == "again"
    assert "again" in [
        each.value for each in visit(small_workspace, "share", **{"tab": "Report", "report_replicate": "again"}).selectbox
    ]


@pytest.mark.parametrize(
    ("floor", "ceiling", "low", "said"),
    [
        (0.6, 0.6, math.nan, "the replicate is not above the baselines without biology"),
        (0.6, 0.7, math.nan, "no interval: in fewer than 90% of resamples the replicate is above the baselines without biology"),
        (0.6, 0.62, 0.1, "the replicate is only 0.020 above the baselines without biology: 0.01 of AUROC is 0.50 here"),
        (0.6, 0.7, 0.1, ""),
    ],
)
def test_what_the_scale_cannot_say(floor: float, ceiling: float, low: float, said: str) -> None:
    value = 0.5 if ceiling > floor else math.nan
    assert caution(ScaledScore(0.61, floor, ceiling, value, low, low)) == said
