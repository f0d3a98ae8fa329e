"""Prompts, answers and the doubly disjoint cut."""

from __future__ import annotations

import json
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core import submission
from core.base.errors import InputError
from core.base.fields.record import read_options
from core.base.types import Label, Pair
from core.features.finetune.actions import LETTER_OF, as_lines, cut
from core.features.finetune.job_folder import FinetuneSettings
from core.features.finetune.local_model import METHOD
from core.llm.answers import read_label
from core.methods.prompt_only import prompt_for
from tests.methods.world import context
from tests.strength import examples

LABELS = (Label.UP, Label.DOWN, Label.NONE)
SETTINGS = read_options(FinetuneSettings, {})


def pairs(perts: int, genes: int) -> list[Pair]:
    """Every pair of so many perturbations and genes."""
    return [
        Pair(f"P{i}_G{j}", f"P{i}", f"G{j}", LABELS[(i + j) % 3], "train")
        for i, j in product(range(perts), range(genes))
    ]


@given(st.integers(2, 12), st.integers(2, 12), st.integers(2, 6), st.integers(0, 20))
@examples(60)
def test_no_validation_row_shares_a_perturbation_or_a_gene_with_a_training_row(
    perts: int, genes: int, parts: int, seed: int
) -> None:
    rows = pairs(perts, genes)
    try:
        found = cut(rows, parts, seed)
    except InputError:
        assert (
            min(perts, genes) < parts
        )  # some part is empty: with two or more of each in use it is never refused
        return
    assert not {row.pert for row in found.train} & {row.pert for row in found.validation}
    assert not {row.gene for row in found.train} & {row.gene for row in found.validation}
    assert len(found.train) + len(found.validation) + found.left_out == len(rows)
    assert cut(rows, parts, seed) == found


def test_the_cut_leaves_the_share_that_the_parts_say() -> None:
    found = cut(pairs(10, 10), 5, 0)  # 2 × 2 rows validate, 8 × 8 train
    assert (len(found.train), len(found.validation), found.left_out) == (64, 4, 32)
    assert cut(pairs(10, 10), 5, 1).validation != found.validation


def test_rows_without_a_direction_and_too_few_rows_are_refused() -> None:
    changed = [Pair("P_G", "P", "G", Label.DE, "train"), Pair("P_H", "P", "H", None, "train")]
    with pytest.raises(InputError, match="no rows labelled up, down or none"):
        cut(changed, 5, 0)
    with pytest.raises(InputError, match="0 rows to train on"):
        cut(pairs(1, 8), 2, 0)
    with pytest.raises(InputError, match="P_G: got the label de"):
        as_lines(changed, SETTINGS)


def test_the_prompt_is_the_one_that_the_model_will_be_asked_and_the_answer_its_letter() -> None:
    [row] = pairs(1, 1)
    [line] = as_lines([row], SETTINGS).decode().splitlines()
    example = json.loads(line)
    assert example == {
        "id": "P0_G0",
        "prompt": prompt_for(row, context(METHOD)),
        "answer": "<answer>A</answer>",
    }
    question = "What does losing P0 do to the expression of G0?"
    assert question in example["prompt"]
    # The starter kit's prompt, but for how the answer is to be written: the letter alone.
    assert (
        example["prompt"].rpartition("\n\n")[0]
        == submission.format_prompt("P0", "G0").rpartition("\n\n")[0]
    )
    assert [read_label(f"<answer>{LETTER_OF[each]}</answer>") for each in LABELS] == list(LABELS)


def test_the_cells_are_described_as_chosen() -> None:
    lines = as_lines(pairs(1, 1), {**SETTINGS, "context": "Cells of a hat."}).decode()
    assert "Cells of a hat." in lines
    assert "macrophages. In each cell" not in lines
