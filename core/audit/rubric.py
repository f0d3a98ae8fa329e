"""A rubric: a question with a fixed set of answers, asked of every brief, every verdict or every row of a run.

How often each answer to a rubric was given, by role.
"""

from __future__ import annotations

import json
from dataclasses import MISSING, dataclass
from typing import TYPE_CHECKING, Any, Literal

from core.audit.pattern import check_pattern
from core.errors import InputError
from core.fields.record import part, setting
from core.fields.toml_table import TomlTable
from core.hashes import sha256_of
from core.records import to_json
from core.texts import check_name

if TYPE_CHECKING:
    import pandas as pd

# A speech is a brief, a rebuttal or a verdict; a claim is one that a reading of claims lists, and so of that reading.
Unit = Literal["brief", "speech", "verdict", "row", "claim"]
YES_NO = ("yes", "no")
MOST_ANSWERS = 9  # one key each


@dataclass(frozen=True, slots=True)
class Example:
    """A text and the answer that is right for it."""

    text: str = setting(MISSING, "A text.")
    answer: str = setting(MISSING, "The answer that is right for it.")


@dataclass(frozen=True, slots=True)
class Rubric:
    """A question about texts of a run.

    answers: what it may be answered with, the first is the one that rates count ("yes"). unit: what it is asked of; roles,
    stages: of which of them, () for all. dossier: whether a model sees the row's dossier too. rule: the name of a rule of
    `core.audit.rules` that answers it; pattern: a regular expression, as `core.audit.pattern` searches it, that answers yes where
    it is found, in any case; with neither, people and models answer it.
    """

    name: str = setting(MISSING, "What it is called.")
    question: str = setting(MISSING, "What is asked of each text.")
    answers: tuple[str, ...] = setting(YES_NO, "What it may be answered with; rates count the first.")
    unit: Unit = setting("brief", "What it is asked of.")
    roles: tuple[str, ...] = setting((), "Of which roles; without any, of all.")
    stages: tuple[str, ...] = setting((), "Of which stages; without any, of all.")
    examples: tuple[Example, ...] = part(())
    dossier: bool = setting(False, "Whether a model sees the row's dossier too.")
    rule: str = ""
    pattern: str = setting("", "A regular expression that answers yes where it is found.")

    def __post_init__(self) -> None:
        check_name("rubric", self.name)
        if not self.question.strip():
            raise InputError(f"rubric {self.name}: has no question, expected a text")
        if not 2 <= len(self.answers) <= MOST_ANSWERS or len(set(self.answers)) < len(self.answers):
            got = ", ".join(self.answers) or "none"
            raise InputError(f"rubric {self.name}: answers are {got}; expected 2 to {MOST_ANSWERS} different ones")
        if self.pattern and self.answers != YES_NO:
            raise InputError(f"rubric {self.name}: a pattern answers yes or no, got {', '.join(self.answers)}")
        unknown = next((each.answer for each in self.examples if each.answer not in self.answers), None)
        if unknown is not None:
            raise InputError(f"rubric {self.name}: an example's answer is {unknown!r}, expected {', '.join(self.answers)}")
        if self.pattern:
            check_pattern(self.pattern, f"rubric {self.name}")

    @property
    def is_answered_by_rule(self) -> bool:
        """Whether a rule or a pattern answers it."""
        return bool(self.rule or self.pattern)

    @property
    def sha256(self) -> str:
        """Of its content: two rubrics with one are the same question."""
        return sha256_of(json.dumps(to_json(self), sort_keys=True))


def read_rubric(table: TomlTable) -> Rubric:
    """Return the rubric of a TOML file: name, question.

    Answers, unit, roles, stages, dossier, pattern and [[examples]] if it likes. Raise InputError, with file, line and key, for
    what it should not hold.
    """
    try:
        return table.record(Rubric)
    except InputError as error:
        if str(error).startswith(table.file):
            raise
        raise InputError(f"{table.file}: {error}") from error


ALL = "all"  # every role together
_ROLES = ("EFFECT", "NULL", "UP", "DOWN", "JUDGE")


def count_answers(rubric: Rubric, readings: pd.DataFrame) -> dict[str, dict[str, Any]]:
    """Return role → n, yes, rate, answers, unanswered; the roles in the order of a debate, then all of them as ALL.

    readings: role and answer, one row per text; the role of a whole row is "", which is not listed. n: answered texts. yes: those
    with the rubric's first answer, and rate their share (NaN without any text). answers: answer → how many texts. unanswered:
    texts whose answer could not be read, or on which the rule has none.
    """
    roles = sorted(set(readings["role"]) - {""}, key=lambda role: (_ROLES.index(role) if role in _ROLES else len(_ROLES), role))
    chosen = {role: readings.loc[readings["role"] == role, "answer"] for role in roles} | {ALL: readings["answer"]}
    return {role: _count(rubric, answers) for role, answers in chosen.items()}


def _count(rubric: Rubric, answers: pd.Series[str]) -> dict[str, Any]:
    counts = {answer: int((answers == answer).sum()) for answer in rubric.answers}
    n, yes = sum(counts.values()), counts[rubric.answers[0]]
    return {"n": n, "yes": yes, "rate": yes / n if n else float("nan"), "answers": counts, "unanswered": len(answers) - n}
