"""Names of conditions."""

from __future__ import annotations

import pytest

from core.errors import InputError
from core.target_ranking.expression import CONTROL, parse_condition, parse_conditions, targets_in


@pytest.mark.parametrize(
    ("text", "canonical", "targets"),
    [
        ("ctrl", CONTROL, ()),
        ("A+ctrl", "A", ("A",)),
        ("ctrl+A", "A", ("A",)),
        (" B + A ", "A+B", ("A", "B")),
        ("HLA-A+ctrl", "HLA-A", ("HLA-A",)),
        ("ctrl+ctrl", CONTROL, ()),
    ],
)
def test_conditions_have_one_name(text: str, canonical: str, targets: tuple[str, ...]) -> None:
    assert parse_condition(text) == canonical
    assert targets_in(canonical) == targets


def test_another_word_for_controls() -> None:
    assert parse_conditions(["non-targeting", "A", "B+A"], "non-targeting") == [CONTROL, "A", "A+B"]


@pytest.mark.parametrize(("text", "message"), [("", "empty part"), ("A++B", "empty part"), ("A+A", "names a gene twice")])
def test_what_is_no_condition_is_refused(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        parse_condition(text)
