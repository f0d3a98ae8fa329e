"""Every idea on a small screen with runs, spaces and packs: its arms are scored and judged, or it says what it lacks."""

from __future__ import annotations

import json
import math
import re
from itertools import pairwise
from typing import Any

import pytest

from core.base.config import REPOSITORY, Settings
from core.base.errors import InputError, NotFound, StateError
from core.base.fields.record import make, options_of
from core.base.result import to_json
from core.cli.base import result_lines
from core.features.experiments.engine import kinds
from core.features.experiments.result import ExperimentResult
from core.features.importing.actions import import_upload
from core.features.importing.import_target import ImportOptions
from core.runs.workspace import Workspace, open_workspace
from tests import cases, worlds

IDEAS = [name for name, kind in kinds().items() if kind.compute is not None]
OF_RUNS = ("rounds", "judges", "seed_ensembles")
QUICK = {"cuts": "2", "epochs": "1"}


def furnish(workspace: Workspace) -> None:
    """The small screen with runs, a space and a knowledge pack of each kind, about the screen's own symbols."""
    made = worlds.furnish(workspace)
    perts, genes = sorted(set(made.pert)), sorted(set(made.gene))
    symbols = [*perts, *genes]
    packs = {
        "signs": {
            "meta": {"source": "s"},
            "pairs": {f"{p}|{g}": (-1) ** i for p in perts for i, g in enumerate(genes[:9])},
        },
        "edges": [[a, b, 900] for a, b in pairwise(symbols)],
        "pathways": {
            symbol: [f"Pathway {len(symbol) + i % 3}"] for i, symbol in enumerate(symbols)
        },
    }
    ids = made.ids[: made.n_train]
    import_upload(workspace, worlds.llm(ids, 2), "other.csv", ImportOptions(name="llm other"))
    import_upload(
        workspace,
        worlds.table_of({key: vector[::-1] for key, vector in made.vectors.items()}),
        "far.csv",
    )
    numbers = cases.as_csv(
        ["id", "deletion"], [[key, len(key) + i % 5] for i, key in enumerate(ids)]
    )
    import_upload(workspace, numbers, "deletion.csv", ImportOptions(de="deletion"))
    for name, pack in packs.items():
        import_upload(workspace, json.dumps(pack).encode(), f"{name}.json")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    folder = worlds.template(tmp_path_factory.mktemp("ideas"), furnish)
    return open_workspace(Settings(workspace=folder))


def compute(workspace: Workspace, name: str, **chosen: Any) -> ExperimentResult:
    kind = kinds()[name]
    known = {option.name for option in options_of(kind.settings)}
    quick = {key: value for key, value in QUICK.items() if key in known}
    result = kind.compute(workspace, make(kind.settings, {**quick, **chosen}))
    assert isinstance(result, ExperimentResult)
    return result


@pytest.mark.few(2)
@pytest.mark.parametrize("name", IDEAS)
def test_every_idea_scores_and_judges_its_arms_or_says_what_it_lacks(
    place: Workspace, name: str
) -> None:
    if name in OF_RUNS:
        with pytest.raises(StateError, match=f"experiment {name}: needs runs, .*perturbdesk run"):
            compute(place, name)
        return
    found = compute(place, name)
    json.dumps(to_json(found), allow_nan=False)
    assert found.sentence.endswith(".")
    assert all(
        any(value is not None for value in (arm.de, arm.dir, arm.mean)) for arm in found.arms[:1]
    )
    bases = [arm for arm in found.arms if arm.is_base]
    assert len(bases) <= 1
    assert all(math.isnan(arm.p_holm) for arm in bases)
    assert "not asked again" not in " ".join(result_lines(found))
    figure = found.figure()
    assert figure is not None


def test_runs_are_compared_with_the_first_and_were_not_asked_again(place: Workspace) -> None:
    found = compute(place, "rounds", runs="llm train,llm other")
    assert [(arm.name, arm.is_base) for arm in found.arms] == [
        ("llm train", True),
        ("llm other", False),
    ]
    assert "llm train was not asked again" in found.caveats[0]
    with pytest.raises(InputError, match="each once"):
        compute(place, "rounds", runs="llm train,llm train")


def test_another_base_is_one_more_arm(place: Workspace) -> None:
    found = compute(place, "component_blend", cross="llm other")
    assert [arm.name for arm in found.arms][-1] == "llm other with near"
    assert found.left_out > 0  # rows that a space does not cover


def test_what_cannot_be_is_refused(place: Workspace) -> None:
    with pytest.raises(NotFound, match=r"space 'off'.*near"):
        compute(place, "support_strata", spaces="off")
    with pytest.raises(InputError, match=r"cuts: got .*99.*, expected a whole number, 1 to 10"):
        compute(place, "support_strata", cuts="99")
    with pytest.raises(InputError, match="expected two to blend"):
        compute(place, "component_blend", spaces="near")


def test_what_a_workspace_lacks_is_said_with_how_to_get_it(workspace: Workspace) -> None:
    with pytest.raises(InputError, match="dataset"):
        compute(workspace, "embedding_ladder")
    import_upload(workspace, worlds.screen().files()["train.csv"], "train.csv")
    with pytest.raises(
        StateError, match="experiment embedding_ladder: needs a gene space: make one with"
    ):
        compute(workspace, "embedding_ladder")


def test_the_documents_list_every_idea() -> None:
    text = (REPOSITORY / "docs" / "statistics.md").read_text("utf-8")
    section = text.partition("## Ideas of the published entry")[2].partition("\n## ")[0]
    assert sorted(re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)) == sorted(IDEAS)
