"""What is said beside a brief's name."""

from __future__ import annotations

import pytest

from core.methods.brief_checks import check_brief
from core.scoring.row_trace import warning_of

REASONS = " The two genes share no pathway, no partner and no regulator in any source that the dossier holds for these cells."


@pytest.mark.parametrize(
    ("role", "text", "said"),
    [
        ("NULL", "C", "an answer, not an argument"),
        (
            "NULL",
            f"C) Knockdown of Pa does not significantly affect Ga.{REASONS}",
            "an answer, with reasons",
        ),
        (
            "EFFECT",
            f"C) Knockdown of Pa does not significantly affect Ga.{REASONS}",
            "an answer against its own side",
        ),
        ("NULL", f"Knockdown of Pa does nothing to Ga.{REASONS}", ""),
    ],
)
def test_a_brief_that_gives_reasons_is_not_called_no_argument(
    role: str, text: str, said: str
) -> None:
    assert warning_of(check_brief(role, text, "Pa_Ga"), {}) == said
