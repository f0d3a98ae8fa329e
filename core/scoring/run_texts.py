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
    `traces.TEXT_KINDS`.
    """

    run: Run
    kind: str
    frame: pd.DataFrame
    content: Sequence[str]

    @property
    def name(self) -> str:
        """A description of the texts."""
        return _PLURALS[self.kind]


def load_texts(db: Cursor, run_name: str, kind: str = "") -> RunTexts:
    """Return the texts of a run (name or id). kind: by default the first of `traces.TEXT_KINDS` that it has.

    Raise NotFound for an unknown run, InputError for a run or kind without texts.
    """
    run = runs.find(db, run_name)
    counts = traces.text_counts(db, run.id)
    chosen = kind or next(iter(counts), "")
    if not chosen:
        raise InputError(f"{run.name}: it has no texts, expected briefs, answers or thoughts")
    if chosen not in counts:
        raise InputError(f"{run.name}: no texts of the kind {chosen}, expected {', '.join(counts) or 'none, as it has no texts'}")
    frame, content = traces.texts(db, run.id, chosen)
    ids = frame["pair_id"].drop_duplicates().tolist()
    outcomes = predictions.list_rows(db, run.id, ids).set_index("pair_id")["outcome"]
    outcome = frame["pair_id"].map(outcomes).astype(object)
    return RunTexts(run, chosen, frame.assign(outcome=outcome.where(outcome.notna(), None)), content)
