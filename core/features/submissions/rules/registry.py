"""The registry of rules. Each is a small function in a neighbouring module that yields its
findings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from core.base.texts import printable
from core.base.types import Track
from core.features.importing.problems import Problem, Severity
from core.features.submissions.parsed import File, Finding

Find = Callable[[File], Iterable[Finding]]


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule of some tracks; `find` yields the findings in a file."""

    name: str
    severity: Severity
    tracks: tuple[Track, ...]
    find: Find

    def problems(self, file: File) -> Iterator[Problem]:
        """Yield the problems of a file; nothing if the rule does not apply to the file's track."""
        if file.layout.track in self.tracks:
            for rows, message in self.find(file):
                yield Problem(
                    self.name, self.severity, tuple(dict.fromkeys(rows)), printable(message)
                )


RULES: dict[str, Rule] = {}


def rule(name: str, severity: Severity, *tracks: Track) -> Callable[[Find], Find]:
    """Register a rule for the named tracks, or for all tracks if none is named."""

    def register(find: Find) -> Find:
        if name in RULES:
            raise ValueError(f"rule {name!r} is registered twice")
        RULES[name] = Rule(name, severity, tracks or ("A", "B", "C"), find)
        return find

    return register
