"""Who made a report or a walk-through, and when."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date


@dataclass(frozen=True, slots=True)
class Byline:
    """The author, "" if unknown, and the date."""

    authors: str = ""
    day: date | None = None

    @property
    def words(self) -> str:
        """Authors and day, if known."""
        return " · ".join(
            filter(None, (self.authors, "" if self.day is None else f"{self.day:%-d %B %Y}"))
        )


NOBODY = Byline()
