"""A reading with a schema as a result: the findings in a run's texts, counted by role and outcome,
and their worth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from core.base.result import HIDDEN, Figure, Table
from core.features.arguments import readings
from core.features.arguments.findings import FindingKind, load_findings
from core.features.arguments.rubric import Rubric, count_answers
from core.features.arguments.worth import RubricWorth, load_outcomes, rubric_worth
from core.runs.workspace import Workspace
from core.scoring.run_scores import load_scored_rows
from core.store import Cursor, runs, traces
from core.store.runs import Run

MOST_LISTED = 20  # findings in the table; the JSON has all


@dataclass(frozen=True, slots=True, eq=False)
class SchemaReading:
    """The findings in a run's texts. reading: its id; model: that reads.

    n: texts (or debates) that were read; unread: those of which the model's answer could not be;
    judged: debates whose judge gives reasons. n_findings: without `answers`, which only answer the
    question of their own row. quotes, invented: quotations that stand in the text, and that do not.
    replies: whether the sides of a debate reply to each other. roles: the rubric's answers by role.
    counts: by role (or side). worth: where rows have labels.
    """

    kind: FindingKind = field(metadata=HIDDEN)
    rubric: str
    question: str
    run: str
    reading: str
    model: str | None
    n: int
    unread: int
    judged: int
    n_findings: int
    answers: int
    statuses: Mapping[str, int]
    quotes: int
    invented: int
    replies: bool
    roles: Mapping[str, Any]
    counts: tuple[Mapping[str, Any], ...]
    worth: RubricWorth | None
    findings: tuple[Mapping[Any, Any], ...]
    status: str = "done"

    @property
    def title(self) -> str:
        """What is counted."""
        return f"{self.rubric.capitalize()} of {self.run}"

    @property
    def scope(self) -> str:
        """What was read."""
        return f"{self.n:,} {self.kind.texts}"

    @property
    def sentence(self) -> str:
        """How many findings there are, and what became of them."""
        listed = f"{self.n_findings:,} {self.kind.schema.listed} in {self.n:,} {self.kind.texts}"
        statuses = ", ".join(f"{n:,} {status}" for status, n in self.statuses.items())
        return f"{self.run}: {self.model} finds {listed}{f': {statuses}' if statuses else ''}."

    @property
    def caveats(self) -> tuple[str, ...]:
        """What to know before trusting it."""
        given, silent = self.quotes + self.invented, self.n - self.judged
        is_debate = self.kind.schema.of == "debate"
        told = {
            f"{self.unread:,} more {self.kind.texts} could not be read.": self.unread,
            f"{self.invented:,} of {given:,} quotations are not in the text; they do not count.": (
                self.invented
            ),
            f"All {given:,} quotations are in the text word for word.": given and not self.invented,
            f"{self.answers:,} more only answer the question of their own row.": self.answers,
            "The sides wrote without seeing each other: an answer only happens to match.": (
                is_debate and not self.replies
            ),
            f"In {silent:,} the judge gives no reason, so what decided is unknown.": (
                is_debate and silent
            ),
            "How often the reader is wrong, `rubric rate` says once people have labelled texts.": (
                not is_debate
            ),
        }
        return tuple(text for text, holds in told.items() if holds)

    def tables(self) -> tuple[Table, ...]:
        """Return the counts, the worth, and the first findings."""
        counts = Table(
            "By role",
            tuple({name.replace("_", " "): n for name, n in row.items()} for row in self.counts),
        )
        first = tuple(map(self.kind.row, self.others[:MOST_LISTED]))
        listed = Table(f"{len(first):,} of {self.n_findings:,} {self.kind.schema.listed}", first)
        return (counts, *(self.worth.tables() if self.worth else ()), *([listed] if first else []))

    def figure(self) -> Figure | None:
        """Return the shares of the statuses by role, if there are any."""
        rows = [row for row in self.counts if row["findings"] and self.statuses]
        shares = [
            {"role": row["role"], **{status: row[_key(status)] for status in self.statuses}}
            for row in rows
        ]
        values = {"lengths": shares, "what": self.kind.schema.listed}
        return Figure("core.plots.brief_lengths:figure", values, self.sentence) if rows else None

    @property
    def others(self) -> list[Mapping[Any, Any]]:
        """The findings that do more than answer the question of their own row."""
        return [finding for finding in self.findings if not finding["is_answer"]]


def _key(name: str) -> str:
    return name.replace(" ", "_")


def reading_of_run(
    workspace: Workspace, kind: FindingKind, run: str, reading: str | None = None
) -> SchemaReading:
    """Return the findings in a run's texts by a finished reading (name or id), by default the
    newest.

    Raise what `readings.find_reading` does.
    """
    with workspace.store.read() as db:
        found = runs.find_predicting(db, run)
        chosen = readings.find_reading(workspace, db, kind.schema.rubric, found, reading)
        return count(db, kind, found, chosen)


def count(db: Cursor, kind: FindingKind, run: Run, reading: Run) -> SchemaReading:
    """Return the findings of a reading counted by role and outcome, with their worth."""
    asked, findings = load_findings(db, kind, reading.id)
    texts = asked[asked["answer"] != ""]
    others = findings[~findings["is_answer"]]
    rows, read = load_scored_rows(db, run.id), texts["pair_id"].drop_duplicates()
    tried = []
    for name in kind.worth if rows.arrays.outcome.labelled.any() else ():
        having = read.isin(others.loc[kind.which[name](others), "pair_id"])
        if having.any() and not having.all():
            what = f"{kind.schema.listed.removesuffix('s')} that is {name}"
            answers = pd.DataFrame({"pair_id": read, "answer": np.where(having, "yes", "no")})
            tried.append((Rubric(what, f"Has a text of the row a {what}?", unit="row"), answers))
    return SchemaReading(
        kind,
        kind.name,
        kind.schema.rubric.question,
        run.name,
        reading.id,
        reading.model,
        n=len(texts),
        unread=len(asked) - len(texts),
        judged=int(texts["has_verdict"].sum()),
        n_findings=len(others),
        answers=len(findings) - len(others),
        statuses={status: int((others["status"] == status).sum()) for status in kind.statuses},
        quotes=int((findings[kind.schema.names("quote")] != "").sum().sum()),
        invented=int(asked["invented"].sum()),
        replies="rebuttal" in traces.text_counts(db, run.id),
        roles=count_answers(kind.schema.rubric, asked),
        counts=tuple(count_by_role(kind, texts, findings)),
        worth=rubric_worth(rows, load_outcomes(db, rows), tried) if tried else None,
        findings=tuple(findings.astype(object).where(findings.notna(), None).to_dict("records")),
    )


def count_by_role(
    kind: FindingKind, texts: pd.DataFrame, findings: pd.DataFrame
) -> list[dict[str, Any]]:
    """Return the counts of each role."""
    texts_of_role = texts["roles"].explode().value_counts(sort=False)
    rows = []
    for role, n_texts in texts_of_role.items():
        own = findings[findings["role"] == role]
        others, having = own[~own["is_answer"]], own[["pair_id", "seq"]].drop_duplicates()
        row = {"role": role, "texts": int(n_texts), "having": len(having)}
        row |= {"answers": len(own) - len(others), "findings": len(others)}
        rows.append(
            row | {_key(name): int(which(others).sum()) for name, which in kind.which.items()}
        )
    return rows
