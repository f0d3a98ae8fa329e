"""From a run's rows to its numbers."""

from __future__ import annotations

import dataclasses
import math
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from core.actions.desk import Desk
from core.actions.imports import import_upload
from core.errors import InputError
from core.report import numbers, shapes, verdict
from core.stats.score import official_score
from core.stats.slices import by_slice
from core.store import pairs, predictions, runs
from core.store.predictions import GENE_ROWS, RowFilter
from core.store.runs import Run
from tests import cases


def rows_of(desk: Desk, name: str) -> tuple[Run, pd.DataFrame]:
    with desk.store.read() as db:
        run = runs.find(db, name)
        return run, numbers.with_counts(predictions.frame(db, run.id), pairs.frame(db, run.dataset))


def test_counts_are_over_the_whole_split_and_not_over_the_run(small_desk: Desk) -> None:
    _, rows = rows_of(small_desk, "debate")
    # in train.csv Ga and Gb have two rows each; in test.csv Gc has one
    assert dict(zip(rows["pair_id"], rows["gene_rows"], strict=True)) == {"Pa_Ga": 2, "Pa_Gb": 2, "Pb_Ga": 2, "Pc_Gc": 1}
    assert rows.set_index("pair_id")["count_only"]["Pc_Gc"] == 0


def test_the_score_is_the_official_one(demo_desk: Desk) -> None:
    _, rows = rows_of(demo_desk, "simulated debate")
    found = numbers.scored(rows, numbers.submitted(rows))
    official = official_score(numbers.labels(rows), rows["prediction_up"], rows["prediction_down"])
    assert (found.de.value, found.dir.value, found.mean.value) == pytest.approx(
        (official.de, official.dir, official.mean), abs=1e-12
    )


def test_without_labels_there_are_nulls_and_words(demo_desk: Desk) -> None:
    run, rows = rows_of(demo_desk, "simulated debate test")
    found = numbers.scored(rows, numbers.submitted(rows))
    shape = shapes.score(found, None)
    assert (shape["n_labelled"], shape["de"], shape["dir"], shape["mean"]) == (0, None, None, None)
    pair = numbers.paired(run, rows, run, rows)
    result = numbers.compared(pair.rows, pair.a, pair.b)
    [sentence] = verdict.compared(result, "a", "b")
    assert "No labels here" in sentence
    assert shapes.comparison(result, [sentence])["delta_mean"] is None


FIELDS = {  # a slice's filter in Debates; slices by neighbours have none
    "gene's rows": "gene_rows",
    "gene's symbol": "naming",
    "P(DE)": "p_de",
    "P(up | DE)": "p_up",
    "split": "split",
    "perturbation": "pert",
    "target gene": "gene",
}


@pytest.mark.parametrize("by", FIELDS)
def test_slices_add_up_and_each_filter_finds_its_rows(demo_desk: Desk, by: str) -> None:
    run, rows = rows_of(demo_desk, "simulated debate")
    assert by in numbers.slices_of(rows)
    pert, gene = numbers.codes(rows["pert"]), numbers.codes(rows["gene"])
    found = by_slice(numbers.labels(rows), numbers.submitted(rows), numbers.SLICES[by](rows), pert, gene)
    assert sum(part.n for part in found) == len(rows)
    assert sum(part.mean.cost for part in found) == pytest.approx(0, abs=1e-12)
    with demo_desk.store.read() as db:
        for part in found[:8]:
            assert len(predictions.matching(db, run.id, filter_of(by, part.name))) == part.n, part.name


def filter_of(by: str, name: str) -> RowFilter:
    value: object = tuple(map(float, name.split("–"))) if by.startswith("P(") else name
    return dataclasses.replace(RowFilter(), **{FIELDS[by]: value})


def test_slices_by_neighbours_are_for_runs_that_have_some(demo_desk: Desk) -> None:
    _, debate = rows_of(demo_desk, "simulated debate")
    assert set(numbers.SLICES) - set(numbers.slices_of(debate)) == {"coverage by neighbours", "support of neighbours"}
    rows = pd.DataFrame({"support": [3.0, 1.0, 0.0, 2.0, 4.0], "flags": [[], [], ["uncovered"], ["partly_covered"], ["x"]]})
    assert set(numbers.SLICES) == set(numbers.slices_of(rows))
    quarters = ["third quarter", "least quarter", "none", "second quarter", "most quarter"]
    assert numbers.SLICES["support of neighbours"](rows).tolist() == quarters
    covered = numbers.SLICES["coverage by neighbours"](rows).tolist()
    assert covered == ["with neighbours", "with neighbours", "without a neighbour", "without a neighbour", "with neighbours"]


def test_the_ranges_of_gene_rows_leave_no_gap() -> None:
    bounds = list(GENE_ROWS.values())
    assert bounds[0][0] == 1
    assert all(high + 1 == low for (_, high), (low, _) in pairwise(bounds))


def test_runs_on_different_datasets_are_not_compared(small_desk: Desk) -> None:
    run, rows = rows_of(small_desk, "debate")
    with pytest.raises(InputError, match="different labels"):
        numbers.paired(run, rows, dataclasses.replace(run, dataset="other", name="b"), rows)


def test_runs_without_a_row_in_common_are_not_compared(small_desk: Desk) -> None:
    import_upload(small_desk, cases.submission([("Pc_Gm12", 0.1, 0.1, "none")]), "second.csv")
    first, rows = rows_of(small_desk, "debate")
    second, others = rows_of(small_desk, "second")
    with pytest.raises(InputError, match="no row in common"):
        numbers.paired(first, rows, second, others)


def test_the_verdict_follows_the_interval(demo_desk: Desk) -> None:
    (good, rows_good), (bad, rows_bad) = rows_of(demo_desk, "simulated debate"), rows_of(demo_desk, "simulated collapsed debate")
    pair = numbers.paired(bad, rows_bad, good, rows_good)
    result = numbers.compared(pair.rows, pair.a, pair.b)
    assert result.mean.change.two_way.low > 0
    assert "is better than" in verdict.compared(result, bad.name, good.name)[0]
    back = numbers.compared(pair.rows, pair.b, pair.a)
    assert "is worse than" in verdict.compared(back, good.name, bad.name)[0]
    itself = numbers.compared(pair.rows, pair.a, pair.a)
    words = verdict.compared(itself, "a", "a")
    assert "do not tell" in words[0]
    assert "not evidence that they are equal" in words[1]


def test_one_class_is_said_and_not_scored() -> None:
    rows = pd.DataFrame({"label": ["none"] * 3, "pert": list("abc"), "gene": list("abc")})
    scores = numbers.desk_scores(np.array([0.1, 0.2, 0.3]), np.array([0.1, 0.2, 0.3]))
    result = numbers.compared(rows, scores, scores)
    assert "only one class" in verdict.compared(result, "a", "b")[0]
    assert math.isnan(result.mean.change.two_way.estimate)


def test_leakage_needs_labels(small_desk: Desk) -> None:
    with small_desk.store.read() as db:
        frame = pairs.frame(db, runs.find(db, "debate").dataset)
    assert numbers.leakage(frame).shared_genes == 0
    with pytest.raises(InputError, match="no labelled rows"):
        numbers.leakage(frame[frame["split"] == "test"])
