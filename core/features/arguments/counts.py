"""How many texts of a run have each answer to a rubric, by role."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from core.audit.rubric import ALL
from core.base.result import Table, hidden


@dataclass(frozen=True, slots=True)
class AnswerCounts:
    """The counts of `core.audit.rubric.count_answers`. judge: "rule" or "model"; reading: the id of a model's."""

    rubric: str
    question: str
    run: str
    judge: str
    reading: str | None
    status: str
    roles: Mapping[str, Mapping[str, Any]]
    unit: str = hidden()

    @property
    def title(self) -> str:
        """What is counted."""
        return "Answers"

    @property
    def scope(self) -> str:
        """The texts and who answers."""
        return f"{self.roles[ALL]['n']:,} {self.unit}s of {self.run}, answered by a {self.judge}"

    @property
    def sentence(self) -> str:
        """The question, and how often each answer is given."""
        answers = ", ".join(f"{answer} {n:,}" for answer, n in self.roles[ALL]["answers"].items())
        return f"{self.question} {answers} of {self.roles[ALL]['n']:,} {self.unit}s."

    @property
    def caveats(self) -> tuple[str, ...]:
        """The texts that are in no rate."""
        unanswered = self.roles[ALL]["unanswered"]
        return (f"{unanswered:,} more {self.unit}s have no readable answer.",) if unanswered else ()

    def tables(self) -> tuple[Table, ...]:
        """Return a line for each role."""
        rows = [{"role": role, f"{self.unit}s": n["n"], **n["answers"], "rate": n["rate"]} for role, n in self.roles.items()]
        return (Table("Answers by role", tuple(rows)),)

    def figure(self) -> None:
        """Return no figure: `rubric rate` has intervals."""
