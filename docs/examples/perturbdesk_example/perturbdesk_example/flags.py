"""How many rows of a run carry each flag: one result, for the command, the page and the report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from core.base.result import Figure, Table
from core.base.types import FLAG_NAMES
from core.store import predictions, runs
from core.store.connection import Cursor


@dataclass(frozen=True)
class FlagCounts:
    """The flags of a run. n: its rows. flags: flag, in words → rows, most frequent first."""

    run: str
    n: int
    flags: Mapping[str, int]

    title = "Flags"
    caveats = ()

    @property
    def scope(self) -> str:
        """All rows of the run."""
        return f"{self.run} · {self.n:,} rows · counts, so no interval"

    @property
    def sentence(self) -> str:
        """The counts in words."""
        counts = ", ".join(f"{rows:,} {flag}" for flag, rows in self.flags.items())
        return f"Of {self.n:,} rows: {counts or 'none carries a flag'}."

    def tables(self) -> tuple[Table, ...]:
        """Return a row for each flag."""
        rows = tuple({"flag": flag, "rows": n} for flag, n in self.flags.items())
        return (Table("Rows with a flag", rows),) if rows else ()

    def figure(self) -> Figure | None:
        """Return None: a table says it all."""
        return None


def count_flags(db: Cursor, name: str) -> FlagCounts:
    """Return the flags of the run of a name or id. Raise NotFound if there is no such run."""
    run = runs.find(db, name)
    counts = sorted(predictions.flag_counts(db, run.id).items(), key=lambda item: -item[1])
    return FlagCounts(run.name, run.total, {FLAG_NAMES[flag]: n for flag, n in counts})
