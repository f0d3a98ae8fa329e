"""Rules about the columns."""

from __future__ import annotations

from collections.abc import Iterator

from core.datasets.tables import quote
from core.submission.parsed import File, Finding
from core.submission.rules.registry import list_names, rule
from core.submission.tracks import LAYOUTS


@rule("missing_columns", "error")
def missing_columns(file: File) -> Iterator[Finding]:
    """Columns of the track that are not there."""
    if file.sheet is not None:
        missing = [name for name in file.layout.columns if name not in file.sheet.header]
        if missing:
            yield Finding((), f"no column {', '.join(missing)}; found {quote(', '.join(file.sheet.header), 200)}")


@rule("column_order", "error")
def column_order(file: File) -> Iterator[Finding]:
    """The track's columns in another order."""
    if file.sheet is not None:
        found = [name for name in dict.fromkeys(file.sheet.header) if name in file.layout.columns]
        expected = [name for name in file.layout.columns if name in found]
        if found != expected:
            yield Finding((), f"columns in the order {', '.join(found)}, expected {', '.join(expected)}")


@rule("duplicate_columns", "error")
def duplicate_columns(file: File) -> Iterator[Finding]:
    """A column that occurs more than once; the first is read."""
    if file.sheet is not None:
        header = file.sheet.header
        twice = [name for name in dict.fromkeys(header) if header.count(name) > 1]
        if twice:
            yield Finding((), f"{list_names(twice)} more than once in the header, expected each column once")


@rule("other_track", "error")
def other_track(file: File) -> Iterator[Finding]:
    """Columns that only another track has."""
    if file.sheet is not None:
        ours = set(file.layout.columns)
        theirs = {name: layout.track for layout in LAYOUTS.values() for name in layout.columns if name not in ours}
        found = [name for name in dict.fromkeys(file.sheet.header) if name in theirs]
        if found:
            tracks = ", ".join(sorted({theirs[name] for name in found}))
            yield Finding((), f"columns {', '.join(found)} belong to track {tracks}, expected those of track {file.layout.track}")


@rule("unexpected_columns", "warning")
def unexpected_columns(file: File) -> Iterator[Finding]:
    """Columns that no track has."""
    if file.sheet is not None:
        known = {name for layout in LAYOUTS.values() for name in layout.columns}
        odd = [name or "(without a name)" for name in dict.fromkeys(file.sheet.header) if name not in known]
        if odd:
            yield Finding((), f"columns {list_names(odd)}, expected none beside {', '.join(file.layout.columns)}")
