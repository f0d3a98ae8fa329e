"""Prompt texts are filled strictly."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import InputError
from core.methods.prompt_texts import check_fields, fill, prompt_text


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
    with pytest.raises(InputError, match=r"expected \{pert\}, \{gene\}, and \{\{ or \}\} for a brace itself") as error:
        check_fields("template", template, ("pert", "gene"))
    assert said in str(error.value)


def test_doubled_braces_are_braces() -> None:
    assert check_fields("template", '{{"pert": "{pert}"}}', ("pert", "gene")) == {"pert"}
    assert fill('{{"pert": "{pert}"}}', pert="Jak1") == '{"pert": "Jak1"}'
