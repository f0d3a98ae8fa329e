"""The published numbers and their source files, from `published_numbers.toml`."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any, Literal

from core.errors import NotFound
from core.experiments.published.number_words import words_of

FILE = Path(__file__).with_name("published_numbers.toml")
SourceKind = Literal["table", "run", "pack"]
_OWN_KEYS = {"name", "published", "tolerance", "needs", "source"}  # keys of a number; all other keys belong to its module


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A source file of numbers. kind: its kind in a workspace; get: the command to get it."""

    kind: SourceKind
    file: str
    name: str
    sha256: tuple[str, ...]
    get: str


@dataclass(frozen=True, slots=True)
class PublishedNumber:
    """One published number.

    name: group.number. tolerance: the largest allowed difference. compute: a module of `core.experiments.published.computed`;
    wanted: the arguments of that module. needs: keys of sources. source: who measured it, and on which data.
    """

    name: str
    title: str
    source: str
    published: float
    tolerance: float
    compute: str
    needs: tuple[str, ...]
    wanted: Mapping[str, Any]

    @property
    def group(self) -> str:
        """The first part of the name."""
        return self.name.partition(".")[0]

    @property
    def words(self) -> str:
        """The readable name, without its group."""
        return words_of(self.name)


@dataclass(frozen=True, slots=True)
class Registry:
    """All published numbers, in the order of the file, and all sources by key."""

    numbers: tuple[PublishedNumber, ...]
    sources: Mapping[str, SourceFile]

    def choose(self, only: str | None) -> tuple[PublishedNumber, ...]:
        """Return the numbers with a name that starts with `only` or matches it (`*`, `?`); None: all. Raise NotFound without a
        match.
        """
        if not only:
            return self.numbers
        found = tuple(each for each in self.numbers if each.name.startswith(only) or fnmatchcase(each.name, only))
        if not found:
            groups = ", ".join(dict.fromkeys(each.group for each in self.numbers))
            raise NotFound(f"published numbers {only!r}: unknown; expected a name, its beginning ({groups}) or a pattern")
        return found


@cache
def load_registry() -> Registry:
    """Read the file of published numbers."""
    content = tomllib.loads(FILE.read_text("utf-8"))
    sources = {key: SourceFile(**{**found, "sha256": tuple(found["sha256"])}) for key, found in content["sources"].items()}
    return Registry(tuple(number for group in content["groups"] for number in _numbers_of(group)), sources)


def _numbers_of(group: Mapping[str, Any]) -> Sequence[PublishedNumber]:
    return [
        PublishedNumber(
            f"{group['name']}.{each['name']}",
            group["title"],
            each.get("source", group["source"]),
            each["published"],
            each.get("tolerance", group.get("tolerance", 0.0)),
            group["compute"],
            (*group["needs"], *each.get("needs", ())),
            {"value": each["name"], **{key: value for key, value in each.items() if key not in _OWN_KEYS}},
        )
        for each in group["numbers"]
    ]
