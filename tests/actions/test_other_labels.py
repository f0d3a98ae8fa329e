"""Labels of a screen at other thresholds, from what its dataset keeps; whether a verdict depends on them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from core.actions import cells
from core.actions.component_loader import load_index
from core.actions.label_request import LabelRequest
from core.actions.training_distance import label_at_thresholds
from core.actions.workspace import Workspace
from core.cells.labels import Thresholds
from core.cells.other_thresholds import label_effects, vary_thresholds
from core.errors import InputError
from core.store import datasets
from tests.cells.cases import write_case
from tests.commands import core, core_json


@pytest.fixture
def screen(workspace: Workspace, tmp_path: Path) -> Workspace:
    write_case(tmp_path / "screen.h5ad")
    cells.label_cells(workspace, tmp_path / "screen.h5ad", LabelRequest("screen"), lambda _: None)
    return workspace


def test_pairs_get_the_labels_of_other_thresholds() -> None:
    changes = pd.DataFrame(
        {
            "log2_fc": [0.7, -0.7, 0.7, 0.1, 0.1, np.nan],
            "fdr": [0.001, 0.03, 0.3, 0.3, 0.001, np.nan],
            "replicate_fdr": [0.02, np.nan, 0.001, 0.5, 0.5, np.nan],
        }
    )
    assert label_effects(changes, Thresholds()).tolist() == ["up", "down", None, "none", None, None]
    strict = vary_thresholds(Thresholds(), [0.01])["effects at FDR < 0.01"]
    assert label_effects(changes, strict).tolist() == [None, None, None, "none", None, None]  # the replicates say 0.02
    wide = vary_thresholds(Thresholds(), log2_fc=[1.0])["effects from |log2 fold change| 1"]
    assert label_effects(changes.drop(columns="replicate_fdr"), wide).tolist() == [None, None, None, "none", None, None]


def test_thresholds_vary_around_those_of_the_dataset() -> None:
    found = vary_thresholds(Thresholds(fdr=0.02, log2_fc=0.4, none_fdr=0.03))
    numbers = np.array([(each.fdr, each.log2_fc, each.none_fdr, each.none_log2_fc) for each in found.values()])
    expected = [(0.004, 0.4, 0.03, 0.25), (0.04, 0.4, 0.04, 0.25), (0.02, 0.2, 0.03, 0.2), (0.02, 0.8, 0.03, 0.25)]
    assert numbers == pytest.approx(np.array(expected))
    with pytest.raises(InputError, match="other thresholds: fdr: got 0"):
        vary_thresholds(Thresholds(), [0.0])


@pytest.mark.soak
def test_a_screen_is_labelled_anew_from_what_its_dataset_keeps(screen: Workspace) -> None:
    with screen.store.read() as db:
        dataset = datasets.find(db, "screen")
    index = load_index(screen, dataset)
    own, stricter = label_at_thresholds(screen, dataset.id, index, [0.05, 0.0001]).values()
    assert own.tolist() == index.labels.tolist()
    effects = {label for label in stricter.tolist() if label is not None}
    assert effects <= {"up", "down", "none"}
    assert sum(label in ("up", "down") for label in stricter) < sum(label in ("up", "down") for label in own)


def test_the_command_tries_thresholds_on_a_screen(screen: Workspace, tmp_path: Path) -> None:
    place = screen.settings.workspace
    with screen.store.read() as db:
        ids = [key for (key,) in db.execute("SELECT pair_id FROM pair ORDER BY position").fetchall()]
    rng = np.random.default_rng(0)
    for name in ("a", "b"):
        pd.DataFrame({"id": ids, "score": rng.random(len(ids))}).to_csv(tmp_path / f"{name}.csv", index=False)
        done = core(place, "import", str(tmp_path / f"{name}.csv"), "--dataset", "screen", "--name", name)
        assert done.status == 0, done.err
    names = [one["name"] for one in core_json(place, "sensitivity", "a", "b")["variants"]]
    assert names[:2] == ["as sampled and labelled", "natural base rate"]
    assert [name.partition(" ")[0] for name in names[2:]] == ["effects"] * 4
    asked = core_json(place, "sensitivity", "a", "b", "--fdr", "0.01", "--log2-fc", "1")["variants"]
    assert [one["name"] for one in asked[2:]] == ["effects at FDR < 0.01", "effects from |log2 fold change| 1"]
    assert "expected numbers, separated by commas" in core(place, "sensitivity", "a", "b", "--fdr", "low").err


def test_other_datasets_keep_no_statistics(demo_workspace: Workspace) -> None:
    with demo_workspace.store.read() as db:
        dataset = datasets.list_all(db)[0]
    index = load_index(demo_workspace, dataset)
    assert label_at_thresholds(demo_workspace, dataset.id, index) == {}
    with pytest.raises(InputError, match="simulated: has no statistics of its labels"):
        label_at_thresholds(demo_workspace, dataset.id, index, [0.01])
