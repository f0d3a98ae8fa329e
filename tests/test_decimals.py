from __future__ import annotations

from pathlib import Path

import pytest

from core.datasets import ScoreTable
from core.delimited import delimiter_of, is_decimal_comma, with_points
from core.embeddings import load_space
from core.importing.files import recognise


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("0,62", True),
        ("-1,5", True),
        ("12,25", True),
        ("0,625", True),
        ("1,5E-3", True),
        ("1,234", False),
        ("1,2,3", False),
        ("5", False),
    ],
)
def test_a_decimal_comma(text: str, is_one: bool) -> None:
    assert is_decimal_comma(text) is is_one


@pytest.mark.parametrize(
    ("cells", "read"),
    [
        (["0,62", "1,234", "2"], ["0.62", "1.234", "2"]),  # one cell says what the others are
        (["1,234", "12,345"], ["1,234", "12,345"]),  # thousands, or not: nobody knows
        (["0,62", "0.5"], ["0,62", "0.5"]),
    ],
)
def test_a_column_has_one_reading(cells: list[str], read: list[str]) -> None:
    assert with_points(cells) == read


def test_of_as_many_commas_as_semicolons_the_commas_are_decimal() -> None:
    assert delimiter_of("STAT1;0,1;0,2") == ";"
    assert delimiter_of("pert,gene,score") == ","
    assert delimiter_of("symbol") == ","


@pytest.mark.parametrize("joint", [";", "\t"])
def test_scores_and_spaces_with_decimal_commas(tmp_path: Path, joint: str) -> None:
    (tmp_path / "s.csv").write_text(
        "\n".join(map(joint.join, [["pert", "gene", "score"], ["A", "B", "0,62"], ["A", "C", "1,125"]]))
    )
    found = recognise(tmp_path / "s.csv")
    assert isinstance(found, ScoreTable)
    assert found.columns == {"score": (0.62, 1.125)}
    (tmp_path / "space.csv").write_text("\n".join(map(joint.join, [["A", "0,5", "1,25"], ["B", "-2,5", "1"]])))
    space = load_space(tmp_path / "space.csv", "s")
    assert (space.symbols, space.vectors.tolist()) == (("A", "B"), [[0.5, 1.25], [-2.5, 1]])
