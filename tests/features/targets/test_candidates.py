"""Pools of candidates: how they are read, and what a random ranking of one scores, against all its orders."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import numpy as np
import pytest

from core.base.errors import InputError
from core.features.targets.evaluate import pool_matrix, read_candidates
from core.features.targets.metrics import best_levels, place_targets, score_rankings

KS = (1, 2, 3, 5, 10)


def written(folder: Path, text: str) -> Path:
    path = folder / "pool.json"
    path.write_text(text, "utf-8")
    return path


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("condition", "pool"),
    [
        ("A", None),
        ("A+B", None),
        ("A+B+C", None),
        ("A+B", "ACDE"),
        ("A+B", "CDE"),
        ("A+B", "AB"),
        ("A", "ABCD"),
    ],
)
def test_the_random_level_is_the_mean_over_all_orders(condition: str, pool: str | None) -> None:
    genes = "ABCDEF"
    ranked = pool or genes
    targets = [genes.index(gene) for gene in condition.split("+")]
    orders = list(itertools.permutations(range(len(ranked))))
    scores = np.full((len(orders), len(genes)), np.nan)
    scores[:, [genes.index(gene) for gene in ranked]] = np.array(orders, dtype=float)
    brute = score_rankings(place_targets(scores, [targets] * len(orders)), KS)
    pools = None if pool is None else {condition: frozenset(pool)}
    found = best_levels([condition], frozenset(), pools, len(genes), KS)
    for metric, values in found.items():
        assert values[0] == pytest.approx(brute[metric].mean()), metric


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
