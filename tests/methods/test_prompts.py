"""Cells, seeds and measured pairs of a prompt; its texts, whose fields are all filled."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.base.errors import InputError
from core.base.types import Label, Pair
from core.evidence.label_view import LabelView
from core.methods.prompts import cell_desc, check_fields, examples, fill, prompt_text, read_seeds
from tests.evidence.world import TEST, TRAINING, pair
from tests.methods.world import BLIND, VIEW

LABELS = {(row.pert, row.gene): row.label for row in TRAINING}


def shown(text: str) -> list[tuple[str, str, str]]:
    """(pert, gene, outcome) of every line below the heading."""
    return [
        (*line.split(": ")[0].split(" -> "), line.split(": ")[1]) for line in text.splitlines()[1:]
    ]


def test_the_cells_are_those_of_the_kit_the_site_or_ones_own() -> None:
    assert "CRISPRi" in cell_desc({"context": "kit"})
    assert "LPS" not in cell_desc({"context": "kit"})
    assert "nine hours" in cell_desc({"context": "site"})
    assert cell_desc({"context": " Human T cells {at rest}. "}) == "Human T cells {at rest}."
    with pytest.raises(InputError, match="context: empty"):
        cell_desc({"context": " "})


def test_seeds() -> None:
    assert read_seeds("42, 43,44") == (42, 43, 44)
    assert read_seeds("", 7) == (7,)
    for wrong in ("", "1,1", "a", "-1", "1.5", "²", "1" * 10):
        with pytest.raises(InputError, match="expected distinct whole numbers"):
            read_seeds(wrong)


@given(st.integers(0, 20), st.integers(0, 5))
def test_examples_are_half_unchanged_and_true_and_as_many_as_there_are(
    shots: int, seed: int
) -> None:
    lines = shown(examples(TEST, VIEW, shots, seed)) if shots else []
    assert all(LABELS[pert, gene] == outcome for pert, gene, outcome in lines)
    # The world has 4 unchanged rows and 5 changed ones; the odd one is unchanged.
    quiet = [line for line in lines if line[2] == "none"]
    assert len(quiet) == min(4, shots - shots // 2)
    assert len(lines) - len(quiet) == min(5, shots // 2)
    assert len(set(lines)) == len(lines)


def test_the_seed_alone_decides() -> None:
    drawn = {examples(TEST, VIEW, 4, seed) for seed in range(8)}
    assert len(drawn) > 1
    assert examples(TEST, VIEW, 4, 1) == examples(pair("Stat9_Il9", None, "test"), VIEW, 4, 1)
    assert examples(TEST, VIEW, 0, 1) == ""
    assert examples(TEST, BLIND, 4, 1) == ""


def test_a_row_is_no_example_of_itself_however_it_is_spelled() -> None:
    own = Pair("x", "STAT1", "cxcl10", None, "train")
    assert ("Stat1", "Cxcl10", "down") in shown(examples(TEST, VIEW, 20, 0))
    assert ("Stat1", "Cxcl10", "down") not in shown(examples(own, VIEW, 20, 0))


def test_a_change_of_unknown_direction_is_said_to_be_one() -> None:
    view = LabelView((pair("Jak1_Il6", Label.DE), pair("Jak1_Actb", Label.NONE)))
    assert shown(examples(TEST, view, 2, 0)) == [
        ("Jak1", "Actb", "none"),
        ("Jak1", "Il6", "changed, direction unknown"),
    ]


def test_a_text_is_the_file_without_its_last_newline() -> None:
    assert prompt_text("question_de").startswith("Does losing {pert} change")
    assert not prompt_text("question_de").endswith("\n")


@given(st.text(alphabet="{}ab!:. \t", max_size=30))
def test_values_are_never_read_as_fields(value: str) -> None:
    assert fill("<{pert}>", pert=value) == f"<{value}>"


def test_empty_values_leave_no_gap() -> None:
    assert fill("one\n\n{examples}\n\ntwo", examples="") == "one\n\ntwo"


@pytest.mark.parametrize(
    ("template", "said"),
    [
        ("{perturbation}", "{perturbation} is not known"),
        ("{}", "{} is not known"),
        ("{0}", "{0} is not known"),
        ("{pert.__class__}", "{pert.__class__} is not known"),
        ("{pert!r}", "{pert!r} is not known"),
        ("{pert:>9}", "{pert:>9} is not known"),
        ('{"answer": 1}', "is not known"),
        ("{pert", "do not match"),
        ("pert}", "do not match"),
    ],
)
def test_other_braces_are_refused(template: str, said: str) -> None:
    with pytest.raises(
        InputError, match=r"expected \{pert\}, \{gene\}, and \{\{ or \}\} for a brace itself"
    ) as error:
        check_fields("template", template, ("pert", "gene"))
    assert said in str(error.value)


def test_doubled_braces_are_braces() -> None:
    assert check_fields("template", '{{"pert": "{pert}"}}', ("pert", "gene")) == {"pert"}
    assert fill('{{"pert": "{pert}"}}', pert="Jak1") == '{"pert": "Jak1"}'
