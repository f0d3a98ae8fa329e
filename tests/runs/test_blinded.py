"""No method can see a label outside its view: every method there is, through the worker, in worlds that differ in hidden labels.

A world is a workspace. In one every label that the evaluated rows must not see is another, in one every label that they may
see, so that the comparison is known to notice a change.
"""

from __future__ import annotations

import importlib
import json
import pkgutil
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import core.methods as room
from core.base.errors import MissingPackage
from core.base.fields.record import options_of
from core.base.types import ASKED_AGAIN, READING_METHODS, Label, Pair, Prediction, RowResult
from core.evidence.label_view import blinded_view, fold_views
from core.evidence.registry import TOOLS
from core.features.importing.actions import import_upload
from core.methods.base import DerivedMethod, method_named, methods
from core.runs import launch, run_control
from core.runs.journal import read_entries
from core.runs.request import RunRequest
from core.runs.spec import LabelViewSpec
from core.runs.workspace import Workspace
from core.store.runs import Run
from tests import worlds
from tests.cases import as_csv
from tests.fakes.scripted import MODEL, serving
from tests.runs.cases import fast

K = 2  # folds cut six perturbations and six genes into two parts of three each
PERTS, GENES = ([f"{axis}{i}" for i in range(1, 7)] for axis in ("Pert", "Gene"))
LABELS = np.random.default_rng(3).permutation([*["up"] * 10, *["down"] * 10, *["none"] * 16])
ROWS = tuple(
    Pair(f"{pert}_{gene}", pert, gene, Label(label), "train")
    for (pert, gene), label in zip(product(PERTS, GENES), LABELS, strict=True)
)
FOLDS = fold_views(ROWS, K)
CELL = tuple(
    row for row in ROWS if FOLDS.cells[row.pair_id] == FOLDS.cells[ROWS[0].pair_id]
)  # 9 rows that hide one another
EVALUATED = (CELL[0], CELL[4])  # of another perturbation and another gene each
HIDDEN = frozenset(
    row.pair_id for row in ROWS if any(row.pert == e.pert or row.gene == e.gene for e in EVALUATED)
)
VISIBLE = frozenset(row.pair_id for row in FOLDS.view_of(EVALUATED[0]).rows)
ANOTHER = {"up": "down", "down": "none", "none": "up"}
CHANGED = {
    "as it is": frozenset(),
    "hidden": HIDDEN,
    "visible": VISIBLE,
}
# What reads the texts of a run is given a view without any row (tests/features/arguments/test_readings.py), whatever a request says.
# What asks again calls no tool: it has what its parent's agents saw, and the parent's view (tests/features/asking/).
PREDICTING = [name for name in methods() if name not in (*READING_METHODS, ASKED_AGAIN)]
VIEWS = {"blinded": LabelViewSpec("blinded"), "folds": LabelViewSpec("folds", K)}

# What every method that has such an option is told, so that as much as can be is made from labels.
TOLD = {
    "tools": ",".join(name for name, tool in TOOLS.items() if tool.sees_labels),
    "shots": 6,
    "spaces": "near",
    "folds": K,  # a kNN keeps labels away by itself, from the same cells
    "base": "parent",
    "with": "llm",
    "fused": "fused",
}


class Seen(NamedTuple):
    """What was asked for a row, what its tools said, what came of it, and how that is explained."""

    requests: list[str]
    evidence: list[tuple[str, str, str, Mapping[str, Any], str]]
    prediction: Prediction
    said: list[str]

    @classmethod
    def of(cls, row: RowResult) -> Seen:
        evidence = [
            (item.tool, item.key, item.status, item.body, item.view) for item in row.evidence
        ]
        return cls(
            [call.request for call in row.calls],
            evidence,
            row.prediction,
            [event.content for event in row.events],
        )


@dataclass(frozen=True)
class World:
    """A workspace, a server to ask, and the file that lists the evaluated rows."""

    workspace: Workspace
    url: str
    ids: Path

    def run(self, method: str, view: str, name: str) -> Run:
        """The run of a method on the evaluated rows, worked on here until it ends; the same one a second time."""
        options = {
            option.name: TOLD[option.name]
            for option in options_of(method_named(method).settings)
            if option.name in TOLD
        }
        labels = (
            "auto" if isinstance(method_named(method), DerivedMethod) else VIEWS[view]
        )  # it has a protocol of its own
        request = RunRequest(method, "bmdm", options, f"ids={self.ids}", model=MODEL, labels=labels)
        try:
            spec = launch.resolve(self.workspace, request)
        except MissingPackage as error:
            pytest.skip(str(error))
        made = run_control.start(
            self.workspace, spec, name, fast(self.url), begin=run_control.work_on
        )
        assert (made.status, made.done, made.failed) == ("done", len(EVALUATED), 0), made.cause
        return made

    def seen(self, method: str, view: str) -> dict[str, Seen]:
        """What the journal of that run holds of each row."""
        made = self.run(method, view, f"{method} {view}")
        entries = (entry for entry, _ in read_entries(self.workspace.run_folder(made.id).rows))
        return {
            row.prediction.pair_id: Seen.of(row) for row in entries if isinstance(row, RowResult)
        }


def both(work: Callable[[str], dict[str, Seen]], *names: str) -> list[dict[str, Seen]]:
    """The same of several worlds, at the same time: most of a small run is waiting for its disk."""
    with ThreadPoolExecutor() as pool:
        return list(pool.map(work, names))


def furnished(folder: Path, changed: frozenset[str]) -> Workspace:
    """A workspace whose labels of these rows are others; a gene space, a network, and a run that knows no label."""
    workspace = worlds.workspace_in(folder)
    rng = np.random.default_rng(0)
    told = [
        (*row[:3], ANOTHER[row[3]] if row[0] in changed else row[3]) for row in map(_columns, ROWS)
    ]
    files = {
        "train.csv": as_csv(["id", "pert", "gene", "label"], told),
        "near.csv": worlds.table_of(
            {symbol: rng.normal(size=4).tolist() for symbol in (*PERTS, *GENES)}
        ),
        "network.json": json.dumps([[a, b, 900] for a in PERTS for b in PERTS if a < b]).encode(),
        "llm.csv": worlds.llm([row.pair_id for row in ROWS]),
    }
    for name, content in files.items():
        assert import_upload(workspace, content, name).kind != "failed"
    return workspace


def _columns(row: Pair) -> tuple[str, str, str, str]:
    return row.pair_id, row.pert, row.gene, str(row.label)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, World]]:
    """The worlds, with the run of a kNN in each for a fusion to build on."""
    ids = tmp_path_factory.mktemp("rows") / "ids.txt"
    ids.write_text("\n".join(row.pair_id for row in EVALUATED))
    with serving() as url:
        found = {
            name: World(furnished(tmp_path_factory.mktemp("world"), changed), url, ids)
            for name, changed in CHANGED.items()
        }
        for world in found.values():
            world.run("knn", "folds", "parent")
            world.run("fusion", "folds", "fused")
        yield found


def test_the_worlds_differ_where_they_should() -> None:
    """Both views hide the rows that are changed in one world, and show those that are changed in the other."""
    assert {len(EVALUATED), len(HIDDEN), len(VISIBLE)} == {2, 20, 9}
    for row in EVALUATED:
        for view in (blinded_view(ROWS, EVALUATED), FOLDS.view_of(row)):
            shown = {other.pair_id for other in view.rows}
            assert not shown & HIDDEN
            assert shown >= VISIBLE


@pytest.mark.few(2)
@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("method", PREDICTING)
def test_nothing_changes_with_a_hidden_label(
    made: dict[str, World], method: str, view: str
) -> None:
    first, hidden = both(lambda world: made[world].seen(method, view), "as it is", "hidden")
    assert set(first) == {row.pair_id for row in EVALUATED}
    assert all(bool(row.requests) == method_named(method).needs_model for row in first.values())
    assert hidden == first


@pytest.mark.few(1)
@pytest.mark.parametrize("method", PREDICTING)
def test_something_changes_with_a_visible_label(made: dict[str, World], method: str) -> None:
    """A method that reads no label at all would fail here: an exception, to be stated in this place.

    recovered takes the kNN out of the fusion again, so what is left is the run that knows no label.
    """
    if method == "recovered":
        return
    first, visible = both(lambda world: made[world].seen(method, "folds"), "as it is", "visible")
    assert all(visible[row] != first[row] for row in first)


def test_what_is_no_method_of_the_registry_is_not_given_labels() -> None:
    """Every module that makes rows is a method, so that the tests above look at it."""
    modules = [
        importlib.import_module(f"{room.__name__}.{found.name}")
        for found in pkgutil.iter_modules(room.__path__)
    ]
    assert not [
        module.__name__
        for module in modules
        if hasattr(module, "results") and not hasattr(module, "METHOD")
    ]
