"""Pools of candidates: how they are read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from core.base.errors import InputError
from core.features.targets.evaluate import pool_matrix, read_candidates


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
