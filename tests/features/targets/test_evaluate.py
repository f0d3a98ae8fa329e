"""The table of an evaluation, by hand on six cells: averaging, controls of a batch, masks, candidates."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from core.base.errors import InputError
from core.features.targets.evaluate import EvaluationRequest, evaluate, pool_matrix, read_candidates
from core.features.targets.expression import ExpressionSet
from core.features.targets.metrics import best_levels
from core.features.targets.splits import Split
from tests.features.targets import cases

GENES = ("A", "B", "C", "D", "E")
SPLIT = Split(("A",), ("B",), ("A+B", "C", "D"), "hard", ("C", "D"), 0)
# Controls are 5 in batch x and 9 in batch y, so that only a batch's own controls show what fell.
CELLS = ExpressionSet(
    np.array(
        [
            [5, 5, 5, 5, 5],
            [9, 9, 9, 9, 9],
            [1, 3, 5, 5, 5],  # A+B, batch x: A fell by 4, B by 2
            [7, 3, 9, 9, 9],  # A+B, batch y: A fell by 2, B by 6
            [5, 5, 2, 5, 1],  # C, batch x: C fell by 3, but E by 4
            [9, 9, 9, 9, 9],  # D, batch y: nothing fell
        ],
        dtype=np.float32,
    ),
    GENES,
    np.array(["ctrl", "ctrl", "A+B", "A+B", "C", "D"]),
    np.array(["x", "y", "x", "y", "x", "y"]),
)
FIVE_TIE = (1 + 1 / 2 + 1 / 3 + 1 / 4 + 1 / 5) / 5  # of 1 / place over the orders of five
ALL, TRAINED = cases.fallen(GENES), cases.fallen(GENES, 0)


@pytest.fixture(autouse=True)
def _models() -> Iterator[None]:
    with cases.registered():
        yield


def value(found: Any, metric: str, k: int | None) -> float:
    [estimate] = cases.by_model(found.table, metric, k)["estimate"]
    return float(estimate)


@pytest.mark.soak
def test_conditions_are_averaged_first() -> None:
    found = evaluate({"fallen": ALL}, CELLS, SPLIT, EvaluationRequest())
    # A+B: mean falls 3 and 4, so B is first and A second; C: E first, C second; D: all five tie
    assert value(found, "mrr", None) == pytest.approx((1 + 1 / 2 + FIVE_TIE) / 3)
    assert value(found, "relevant_hit", 1) == pytest.approx((1 + 0 + 1 / 5) / 3)
    assert value(found, "recall", 1) == pytest.approx((1 / 2 + 0 + 1 / 5) / 3)
    assert [value(found, "exact_hit", k) for k in (1, 5)] == pytest.approx([1 / 15, 1.0])
    assert cases.by_model(found.table, "mrr", None)["n"].tolist() == [3]


def test_cells_are_ranked_each_with_the_controls_of_its_batch() -> None:
    found = evaluate({"fallen": ALL}, CELLS, SPLIT, EvaluationRequest(unit="cell"))
    # the two cells of A+B: A first, B first; C: second; D: all five tie
    assert value(found, "mrr", None) == pytest.approx((1 + 1 + 1 / 2 + FIVE_TIE) / 4)
    rows = cases.by_model(found.table, "mrr", None).iloc[0]
    assert (rows["n"], rows["conditions"]) == (4, 3)


@pytest.mark.soak
def test_a_model_of_trained_genes_stands_at_its_ceiling() -> None:
    found = evaluate({"trained": TRAINED}, CELLS, SPLIT, EvaluationRequest())
    rows = cases.by_model(found.table, "recall", 1).iloc[0]
    # A of A+B is first; of the other conditions nothing was trained: they tie with the rest behind A
    assert (rows["estimate"], rows["ceiling"]) == (pytest.approx(1 / 6), pytest.approx(1 / 6))


def test_the_random_level_is_the_expected_one_of_the_same_rows() -> None:
    found = evaluate({"fallen": ALL}, CELLS, SPLIT, EvaluationRequest())
    random = best_levels(["A+B", "C", "D"], frozenset(), None, 5)
    for metric, k in (("mrr", None), ("recall", 1)):
        rows = cases.by_model(found.table, metric, k).iloc[0]
        assert rows["random"] == pytest.approx(random[metric, k].mean())


@pytest.mark.soak
def test_masked_targets_tie_and_candidates_narrow() -> None:
    masked = evaluate({"fallen": ALL}, CELLS, SPLIT, EvaluationRequest(mask="targets"))
    # A, B, C, D are perturbed somewhere and show nothing; E fell for C: there the four tie on the places 2 to 5.
    # A+B: two of five that tie, the first of which is on the places 1 to 4 in 4, 3, 2 and 1 of 10 orders
    two_of_five = (4 + 3 / 2 + 2 / 3 + 1 / 4) / 10
    c = (1 / 2 + 1 / 3 + 1 / 4 + 1 / 5) / 4
    assert value(masked, "mrr", None) == pytest.approx((two_of_five + c + FIVE_TIE) / 3)
    pools = {"A+B": frozenset("AC"), "C": frozenset("CD"), "D": frozenset("E")}
    narrowed = evaluate({"fallen": ALL}, CELLS, SPLIT, EvaluationRequest(), pools=pools)
    # A before C; C before D; D is no candidate
    assert value(narrowed, "mrr", None) == pytest.approx(2 / 3)
    assert value(narrowed, "exact_hit", 40) == pytest.approx(1 / 3)
    assert cases.by_model(narrowed.table, "relevant_hit", 1)["random"].tolist() == pytest.approx(
        [(1 / 2 + 1 / 2 + 0) / 3]
    )


def written(folder: Path, text: str) -> Path:
    path = folder / "pool.json"
    path.write_text(text, "utf-8")
    return path


def test_pools_are_read(tmp_path: Path) -> None:
    by_condition = written(tmp_path, json.dumps({"B+A": ["A", "C"], "D+ctrl": ["D"], "E": ["A"]}))
    assert read_candidates(by_condition, ["A+B", "D"]) == {
        "A+B": frozenset("AC"),
        "D": frozenset("D"),
    }
    for text in ('["A", "C"]', "A\n\nC\n"):
        assert read_candidates(written(tmp_path, text), ["A", "B"]) == {
            "A": frozenset("AC"),
            "B": frozenset("AC"),
        }


def test_a_pool_is_a_row_of_flags() -> None:
    found = pool_matrix({"A": frozenset("AC"), "B": frozenset("B")}, ["B", "A", "B"], tuple("ABC"))
    assert found.tolist() == [[False, True, False], [True, False, True], [False, True, False]]
    with pytest.raises(InputError, match="candidates: A: X, Y not among the 3 genes measured"):
        pool_matrix({"A": frozenset("AXY")}, ["A"], tuple("ABC"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        *(
            (text, "no candidates for 1 test conditions, such as A")
            for text in ("", "{}", '{"A": []}', '{"C": ["B"]}')
        ),
        ("[3]", "cannot be read"),
        ('{"A": "B"}', "cannot be read"),
        ("[", "cannot be read"),
    ],
)
def test_a_wrong_file_says_what_is_wrong(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_candidates(written(tmp_path, text), ["A"])
