"""The starter kit's functions, by name and meaning."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from core.base.errors import InputError
from core.base.fields.record import read_options
from core.base.types import Label, Pair
from core.evidence.label_view import LabelView
from core.evidence.packs import Packs
from core.features.submissions.rules import check
from core.methods.base import Context
from core.methods.prompt_only import METHOD, prompt_for
from core.submission import (
    build_submission,
    format_prompt,
    format_prompts_from_csv,
    parse_answer,
    parse_answers,
)
from tests.cases import TEST, as_csv

STATED = Pair("Pa_Ga", "Pa", "Ga", Label.UP, "train")


def prompt_of(shots: int) -> str:
    """What the method itself sends about Pc and Gc, with one labelled row in view."""
    context = Context(
        (), read_options(METHOD.settings, {"shots": shots}), lambda _: LabelView((STATED,)), Packs()
    )
    return prompt_for(Pair("Pc_Gc", "Pc", "Gc", None, "test"), context)


def test_a_prompt_is_the_one_that_the_method_sends() -> None:
    assert format_prompt("Pc", "Gc") == prompt_of(0)
    assert format_prompt("Pc", "Gc", [{"pert": "Pa", "gene": "Ga", "label": "up"}]) == prompt_of(2)
    assert "Pa -> Ga: up" in format_prompt(
        "Pc", "Gc", [{"pert": "Pa", "gene": "Ga", "label": "up"}]
    )
    with pytest.raises(InputError, match="has no label, expected pert, gene and label"):
        format_prompt("Pc", "Gc", [{"pert": "Pa", "gene": "Ga"}])
    with pytest.raises(InputError, match="label 'Up', expected up, down, none"):
        format_prompt("Pc", "Gc", [{"pert": "Pa", "gene": "Ga", "label": "Up"}])
    with pytest.raises(InputError, match="has no pert, gene, label, expected"):
        format_prompt("Pc", "Gc", [("Pa", "Ga", "up")])  # type: ignore[list-item]


def test_braces_in_a_symbol_are_no_fields() -> None:
    assert "{gene}" in format_prompt("{gene}", "Gc")


def test_prompts_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "test.csv"
    path.write_bytes(TEST)
    frame = format_prompts_from_csv(path)
    assert list(frame.columns) == ["id", "prompt"]
    assert frame["id"].tolist() == ["Pc_Gc", "Pc_Gm12"]
    assert frame["prompt"].tolist() == [format_prompt("Pc", "Gc"), format_prompt("Pc", "Gm12")]
    path.write_bytes(
        as_csv(["id", "task", "gene", "pert"], [["any id", "de", "NA", "Pc"]])
    )  # as the kit: other columns, any id
    [asked] = format_prompts_from_csv(str(path), cell_desc="Cells of my own.").itertuples(
        index=False
    )
    assert tuple(asked) == ("any id", format_prompt("Pc", "NA", cell_desc="Cells of my own."))
    assert "Cells of my own." in asked.prompt
    path.write_bytes(as_csv(["id", "pert", "gene"], [["Pc_Gc", "Pc", ""]]))
    with pytest.raises(
        InputError, match="line 2: nothing in column gene; expected rows of id, pert, gene"
    ):
        format_prompts_from_csv(path)
    path.write_bytes(as_csv(["id", "prediction_up", "prediction_down"], [["Pc_Gc", 0, 0]]))
    with pytest.raises(
        InputError, match=r"line 1: no column pert, gene; found .*; expected rows of id, pert, gene"
    ):
        format_prompts_from_csv(path)


def test_answers_are_those_of_the_kit_unless_it_is_wrong() -> None:
    """kit: what the challenge's own parser (mlgenx/parsing.py) returned for the same text."""
    values = {"up": (1.0, 0.0), "down": (0.0, 1.0), "none": (0.0, 0.0), "default": (0.333, 0.333)}
    frame = pd.read_csv(Path(__file__).parent / "kit_answers.csv", keep_default_na=False)
    documented = Path("docs/starter_kit.md").read_text("utf-8")
    for row in frame.itertuples():
        text = json.loads(f'"{row.text}"')
        assert parse_answer(text) == values[row.ours], text
        assert (row.ours == row.kit) == (row.why == ""), text
        if row.why:
            assert f"| `{row.text}` | {row.kit} | {row.ours} | {row.why} |" in documented, text
    assert len(frame) >= 97  # the kit's seven and ninety more


def test_answers_with_a_default_of_one_s_own() -> None:
    assert parse_answers(["<answer>C</answer>", "?", None], (0.2, 0.1)) == [
        (0.0, 0.0),
        (0.2, 0.1),
        (0.2, 0.1),
    ]
    assert parse_answer("?", None) is None


def test_the_smallest_submission(tmp_path: Path) -> None:
    out = tmp_path / "s.csv"
    frame = build_submission(["Pc_Gc", "Pc_Gm12"], [0.1, 1 / 3], [0.2, 0.3], out)
    assert frame["prediction_up"].tolist() == [0.1, 1 / 3]
    pd.testing.assert_frame_equal(pd.read_csv(out), frame)
    missing = [
        problem.rule for problem in check(out.read_bytes(), "s.csv", "C", ["Pc_Gc", "Pc_Gm12"])
    ]
    assert missing == ["missing_columns"]
    with pytest.raises(InputError, match="got 1 ids, 2 and 1 predictions"):
        build_submission(["Pc_Gc"], [0.1, 0.2], [0.2])
