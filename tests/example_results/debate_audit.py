"""Results of the audit of debates: advocates that answer, that are short, that argue; with a dossier and without."""

from __future__ import annotations

from collections.abc import Sequence

from core.base.result import Result
from tests.scoring.test_debate_audit import audit


def examples() -> Sequence[Result]:
    answering = audit(answers=[2, 1], answers_against=[1, 0], short=[3, 1], bare=[2, 0])
    return answering, audit(short=[1, 1]), audit(has_dossier=False, other_side=[0, 1])
