"""Published scores on the cell lines of PerturbQA, matched with the most similar baselines here."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

FILE = Path(__file__).with_name("published_scores.toml")


@dataclass(frozen=True, slots=True)
class PublishedScore:
    """A published method on one cell line.

    de, dir: macro AUROCs by gene, None if not published. beside: the name of the most similar
    baseline here, None for none. differs: a description of how the two differ.
    """

    method: str
    de: float | None
    dir: float | None
    beside: str | None
    differs: str


@dataclass(frozen=True, slots=True)
class PublishedTable:
    """All published scores by cell line, in lower case. common: remarks on every comparison."""

    lines: dict[str, tuple[PublishedScore, ...]]
    common: str

    def of(self, dataset: str) -> tuple[PublishedScore, ...]:
        """Return the published scores of a dataset by its name; empty unless it is a published cell
        line."""
        return self.lines.get(dataset.casefold(), ())


@cache
def load_published_scores() -> PublishedTable:
    """Read the file of published scores."""
    content = tomllib.loads(FILE.read_text("utf-8"))
    methods, names = content["methods"], content["lines"]

    def score(method: dict[str, list[float]], question: str, at: int) -> float | None:
        return method[question][at] if question in method else None

    return PublishedTable(
        {
            name: tuple(
                PublishedScore(
                    each["name"],
                    score(each, "de", at),
                    score(each, "dir", at),
                    each["beside"] or None,
                    each["differs"],
                )
                for each in methods
            )
            for at, name in enumerate(names)
        },
        content["common"],
    )
