"""The slices of a run's rows."""

from __future__ import annotations

import dataclasses
import math
from itertools import pairwise

import pandas as pd
import pytest

from core.features.scores.slices import score_slices
from core.features.scores.slicing import SLICES, available_slices
from core.runs.workspace import Workspace
from core.stats.within_axis import Axis, score_within
from core.store import predictions
from core.store.predictions import GENE_ROWS, RowFilter
from tests.scoring.test_run_scores import CELLS, FOLDS, loaded, rows_of

FIELDS = {  # a slice's filter in Debates; slices by neighbours have none
    "gene's rows": "gene_rows",
    "gene's symbol": "naming",
    "P(DE)": "p_de",
    "P(up | DE)": "p_up",
    "split": "split",
    "perturbation": "pert",
    "target gene": "gene",
}


@pytest.mark.few(2)
@pytest.mark.parametrize("by", FIELDS)
def test_slices_add_up_and_each_filter_finds_its_rows(demo_workspace: Workspace, by: str) -> None:
    rows = loaded(demo_workspace, "simulated debate")
    assert by in available_slices(rows.frame)
    found = score_slices(rows, by)
    assert sum(part.n for part in found) == len(rows)
    assert sum(part.mean.cost for part in found) == pytest.approx(0, abs=1e-12)
    with demo_workspace.store.read() as db:
        for part in found[:8]:
            assert (
                len(predictions.find_pair_ids(db, rows.run.id, filter_of(by, part.name))) == part.n
            ), part.name


def filter_of(by: str, name: str) -> RowFilter:
    value = tuple(map(float, name.split("–"))) if by.startswith("P(") else name
    return dataclasses.replace(RowFilter(), **{FIELDS[by]: value})


def test_slices_by_neighbours_are_for_runs_that_have_some(demo_workspace: Workspace) -> None:
    debate = loaded(demo_workspace, "simulated debate").frame
    assert set(SLICES) - set(available_slices(debate)) == {
        "coverage by neighbours",
        "support of neighbours",
    }
    rows = pd.DataFrame(
        {
            "support": [3.0, 1.0, 0.0, 2.0, 4.0],
            "flags": [[], [], ["uncovered"], ["partly_covered"], ["x"]],
        }
    )
    assert set(SLICES) == set(available_slices(rows))
    quarters = ["third quarter", "least quarter", "none", "second quarter", "most quarter"]
    assert SLICES["support of neighbours"](rows).tolist() == quarters
    covered = SLICES["coverage by neighbours"](rows).tolist()
    assert covered == [
        "with neighbours",
        "with neighbours",
        "without a neighbour",
        "without a neighbour",
        "with neighbours",
    ]


def test_the_ranges_of_gene_rows_leave_no_gap() -> None:
    bounds = list(GENE_ROWS.values())
    assert bounds[0][0] == 1
    assert all(high + 1 == low for (_, high), (low, _) in pairwise(bounds))


def test_a_slice_of_a_run_under_folds_counts_pairs_inside_the_cells_too() -> None:
    rows = rows_of(protocols=(FOLDS,), cells=CELLS)
    parts = {part.name: part for part in score_slices(rows, "perturbation")}
    # c: two rows that go up, in one cell; a: one of the two goes up and is ranked above the other
    assert parts["a"].de.score.value == 1.0
    assert parts["c"].de.score.value != parts["c"].de.score.value
    # Of six pairs inside cells, b's .4 is above a's .3, and d's .7 above its .6: a, b and d are charged a twelfth each, d twice.
    losses = {name: part.de.loss for name, part in parts.items()}
    assert losses == pytest.approx({"a": 1 / 12, "b": 1 / 12, "c": 0, "d": 2 / 12})
    assert sum(part.de.cost for part in parts.values()) == pytest.approx(0, abs=1e-15)


@pytest.mark.parametrize(("by", "axis"), [("target gene", "gene"), ("perturbation", "pert")])
def test_the_macro_mean_is_the_plain_mean_of_the_slices_with_both_classes(
    demo_workspace: Workspace, by: str, axis: Axis
) -> None:
    rows = loaded(demo_workspace, "simulated debate")
    aurocs = [
        part.de.score.value
        for part in score_slices(rows, by)
        if not math.isnan(part.de.score.value)
    ]
    found = score_within(rows.arrays, axis)
    assert found.de.groups == len(aurocs)
    assert found.de.macro.value == pytest.approx(sum(aurocs) / len(aurocs), abs=1e-12)
