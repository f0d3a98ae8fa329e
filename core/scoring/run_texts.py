"""The texts of one kind of a run, and what became of their rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from core.errors import InputError
from core.store import Cursor, predictions, runs, traces
from core.store.runs import Run

_PLURALS = {
    "brief": "briefs",
    "rebuttal": "rebuttals",
    "answer": "answers",
    "thought": "thoughts",
    "text": "texts",
    "verdict": "verdicts",
}


@dataclass(frozen=True, slots=True, eq=False)
class RunTexts:
    """The texts of one kind of a run.

    frame: of `traces.texts`, with the outcome of each row, "hit", "miss" or None; content: the texts. kind: of
    `traces.TEXT_KINDS`; role: "" for all.
    """

    run: Run
    kind: str
    role: str
    frame: pd.DataFrame
    content: Sequence[str]

    @property
    def name(self) -> str:
        """A description of the texts."""
        return f"{_PLURALS[self.kind]} of {self.role}" if self.role else _PLURALS[self.kind]


def load_texts(db: Cursor, run_name: str, kind: str = "", role: str = "") -> RunTexts:
    """Return the texts of a run (name or id). kind: by default the first of `traces.TEXT_KINDS` that it has.

    Raise NotFound for an unknown run, InputError for a run, kind or role without texts.
    """
    run = runs.find(db, run_name)
    counts = traces.text_counts(db, run.id)
    chosen = kind or next(iter(counts), "")
    if not chosen:
        raise InputError(f"{run.name}: it has no texts, expected briefs, answers or thoughts")
    if chosen not in counts or role not in ("", *counts[chosen]):
        known = "; ".join(f"{name} by {', '.join(roles)}" for name, roles in counts.items())
        wanted = f"{chosen} by {role}" if role else chosen
        raise InputError(f"{run.name}: no texts of the kind {wanted}, expected {known or 'none, since it has no texts'}")
    frame, content = traces.texts(db, run.id, chosen, role)
    ids = frame["pair_id"].drop_duplicates().tolist()
    outcomes = predictions.list_rows(db, run.id, ids).set_index("pair_id")["outcome"]
    outcome = frame["pair_id"].map(outcomes).astype(object)
    return RunTexts(run, chosen, role, frame.assign(outcome=outcome.where(outcome.notna(), None)), content)
