"""A parsed submission: the zip, the sheet inside, its rows, and facts about the run behind it.

Unreadable content is a finding, never an exception.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath
from typing import NamedTuple

from core.base.archives import is_zip, unpack
from core.base.errors import InputError, UnknownFormat, UnsafeFile
from core.base.tables import delimiter_of, refuse_wide_encodings, text_table
from core.base.texts import quote
from core.base.types import RowResult
from core.features.importing.problems import Row
from core.features.importing.submissions import read_submission
from core.features.submissions.tracks import CSV, PROMPT, TOOLS, Layout
from core.submission import IDENTITY


class Finding(NamedTuple):
    """A problem of a submission: the affected rows (none for the whole file) and a message."""

    rows: Sequence[Row]
    message: str


Faults = dict[str, list[Finding]]


@dataclass(frozen=True, slots=True)
class RunProvenance:
    """Facts about the run for the rules. The defaults describe an unknown run.

    prompt: the text that was run, None if unknown. prompt_fault: why today's text may differ from
    it, "" if they are equal or no prompt is needed. sampling: (temperature, top_p) of the calls.
    models: names of all models used by the run and its parents. learned: phrases on what was
    learned from the competition's labels, each naming its run. shots: number of measured pairs in
    each prompt. changed: differences between the code of the run and today's, "" for none.
    left_out: rows of the run missing from the submission. repeated: rows where a seed gave no
    answer and its columns contain the mean of the others. fewer_seeds: rows of the run, or of its
    parents, with that flag.
    """

    run: str = ""
    prompt: str | None = None
    prompt_fault: str = ""
    sampling: tuple[tuple[float, float], ...] = ()
    models: tuple[str, ...] = ()
    learned: tuple[str, ...] = ()
    shots: int = 0
    changed: str = ""
    left_out: tuple[str, ...] = ()
    repeated: tuple[str, ...] = ()
    fewer_seeds: tuple[str, ...] = ()


UNKNOWN_RUN = RunProvenance()


@dataclass(frozen=True, slots=True)
class Sheet:
    """A CSV: its header and the rows that could be read.

    header: names without outer spaces, including duplicates. columns: the first of each name.
    lines: the line where each row starts. unreadable: ids of rows that could not be read
    completely.
    """

    header: tuple[str, ...]
    columns: Mapping[str, tuple[str, ...]]
    lines: tuple[int, ...]
    unreadable: frozenset[str] = frozenset()

    @property
    def names(self) -> tuple[Row, ...]:
        """Each row's id, or its line if it has none."""
        ids = self.columns.get("id", ("",) * len(self.lines))
        return tuple(
            (key.strip() and key) or line for key, line in zip(ids, self.lines, strict=True)
        )

    def cells(self, *columns: str) -> Iterator[tuple[Row, tuple[str, ...]]]:
        """Yield row and cells of columns; nothing if a column is missing."""
        if all(name in self.columns for name in columns):
            yield from zip(
                self.names, zip(*(self.columns[name] for name in columns), strict=True), strict=True
            )


@dataclass(frozen=True, slots=True)
class File:
    """A submission's file, or its readable parts.

    expected: ids in order. zipped: whether it is a zip. paths: of all members; None if they cannot
    be read, or for a bare CSV. folder: the members' folder, "" for the top. members: bytes of
    submission.csv, prompt.txt and tools/*.py, by path within that folder. sheet: None if it cannot
    be read. results: rows as read by an import. faults: rule → its findings when the file was
    opened.
    """

    name: str
    layout: Layout
    expected: tuple[str, ...]
    provenance: RunProvenance
    zipped: bool
    paths: tuple[str, ...] | None = None
    folder: str = ""
    members: Mapping[str, bytes] = field(default_factory=dict)
    sheet: Sheet | None = None
    results: tuple[RowResult, ...] = ()
    faults: Mapping[str, Sequence[Finding]] = field(default_factory=dict)

    @property
    def prompt(self) -> str | None:
        """The text of prompt.txt, None without one."""
        return self.members[PROMPT].decode("utf-8", "replace") if PROMPT in self.members else None

    def cells(self, *columns: str) -> Iterator[tuple[Row, tuple[str, ...]]]:
        """Yield row and cells of columns; nothing without a sheet, or if a column is missing."""
        return iter(()) if self.sheet is None else self.sheet.cells(*columns)

    @property
    def tools(self) -> dict[str, bytes]:
        """The Python files under tools/, by path."""
        return {path: content for path, content in self.members.items() if is_tool(path)}


def is_tool(path: str) -> bool:
    """Return whether a member is one of tools/*.py."""
    return path.startswith(TOOLS) and path.endswith(".py") and path.count("/") == 1


def parse_submission(
    content: bytes, name: str, layout: Layout, expected: Sequence[str], provenance: RunProvenance
) -> File:
    """Parse the readable parts of a CSV or a zip."""
    faults: Faults = {}
    base = File(name, layout, tuple(expected), provenance, is_zip(content))
    table, unpacked = (content, base) if not base.zipped else _unzip(content, base, faults)
    sheet = None if table is None else _read_sheet(table, unpacked, faults)
    results = (
        ()
        if sheet is None or table is None
        else _read_rows(_rename_repeated_columns(table, sheet.header), name)
    )
    return replace(unpacked, sheet=sheet, results=results, faults=faults)


def _unzip(content: bytes, file: File, faults: Faults) -> tuple[bytes | None, File]:
    """Return the bytes of the submission in a zip (None unless there is exactly one) and the file
    with its members."""
    try:
        paths, found = unpack(content, file.name, _is_wanted)
    except UnsafeFile as error:
        faults["zip_unsafe"] = [Finding((), str(error))]
        return None, file
    except InputError as error:
        faults["zip_damaged"] = [Finding((), str(error))]
        return None, file
    named = [path for path in paths if PurePosixPath(path).name == CSV]
    if len(named) != 1:
        inside = ", ".join(map(quote, (named or paths)[:5])) or "nothing"
        faults["no_submission"] = [
            Finding((), f"{len(named)} files {CSV} in the zip ({inside}), expected one")
        ]
    tables = named or [path for path in paths if path.lower().endswith(".csv")]
    folder = tables[0].rpartition("/")[0] if len(tables) == 1 else ""
    inside_of = f"{folder}/" if folder else ""
    members = {
        path.removeprefix(inside_of): data
        for path, data in found.items()
        if path.startswith(inside_of)
    }
    table = found[tables[0]] if len(tables) == 1 else None
    return table, replace(file, paths=paths, folder=folder, members=members)


def _is_wanted(path: str) -> bool:
    parts = PurePosixPath(path).parts
    return (
        path.lower().endswith(".csv")
        or parts[-1:] == (PROMPT,)
        or (path.endswith(".py") and TOOLS[:-1] in parts[-2:-1])
    )


def _read_sheet(content: bytes, file: File, faults: Faults) -> Sheet | None:
    """Return the sheet of a CSV file; None, with a fault, if the content is not CSV."""
    try:
        refuse_wide_encodings(content[:4], file.name)
        raw = next(
            (
                cells
                for cells in csv.reader(io.StringIO(content.decode("utf-8-sig", "replace")))
                if cells
            ),
            [],
        )
        header = tuple(cell.strip() for cell in raw)
        table = text_table(io.BytesIO(_rename_repeated_columns(content, header)), file.name)
        records = list(table.records())
    except UnknownFormat as error:
        faults["encoding" if content.strip() else "not_csv"] = [Finding((), str(error))]
        return None
    except InputError as error:
        faults["encoding"] = [Finding((), str(error))]
        return None
    except csv.Error as error:
        faults["not_csv"] = [Finding((), f"{file.name}: cannot be read as CSV ({error})")]
        return None
    if not set(file.layout.columns) & set(header):
        expected = f"expected the columns {', '.join(file.layout.columns)}"
        separator = delimiter_of(", ".join(header))
        found = (
            f"is separated by {separator!r}"
            if separator != ","
            else f"begins with {quote(', '.join(header))}"
        )
        faults["not_csv"] = [
            Finding(
                (), f"{file.name}: {found}, {expected}{' separated by commas' * (separator != ',')}"
            )
        ]
        return None
    for reason, fault in (("wrong number of columns", "ragged"), ("wrong encoding", "encoding")):
        bad = [row for row in table.rejected if row.reason == reason]
        if bad:
            faults[fault] = [
                Finding(
                    [row.line for row in bad],
                    f"line {bad[0].line}: {bad[0].detail}{_count_rows(bad)}",
                )
            ]
    columns = {name: tuple(cells[i] for _, cells in records) for i, name in enumerate(table.header)}
    unreadable = (
        _unreadable_ids(content, {row.line for row in table.rejected}, header.index("id"))
        if "id" in header
        else frozenset()
    )
    return Sheet(header, columns, tuple(line for line, _ in records), unreadable)


def _count_rows(rows: Sequence[object]) -> str:
    return f"; {len(rows):,} rows in all" if len(rows) > 1 else ""


def _unreadable_ids(content: bytes, lines: set[int], column: int) -> frozenset[str]:
    """Return the readable ids of the rows that start on these lines."""
    if not lines:
        return frozenset()
    reader = csv.reader(io.StringIO(content.decode("utf-8-sig", "replace"), newline=""))
    found, line = set(), 1
    for cells in reader:
        if line in lines and len(cells) > column:
            found.add(cells[column])
        line = reader.line_num + 1
    return frozenset(found)


def _rename_repeated_columns(content: bytes, header: tuple[str, ...]) -> bytes:
    """Return the file with repeated column names changed, so that the first column of each name can
    be read."""
    if len(set(header)) == len(header):
        return content
    lines = content.splitlines(keepends=True)
    first = next(i for i, line in enumerate(lines) if line.strip(b"\r\n"))
    names = [
        name if name not in header[:i] else f"{name} (again, column {i + 1})"
        for i, name in enumerate(header)
    ]
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerow(names)
    return b"".join(
        [*lines[:first], out.getvalue().encode("utf-8", "replace"), *lines[first + 1 :]]
    )


def _read_rows(content: bytes, name: str) -> tuple[RowResult, ...]:
    """Return the rows that an import would accept."""
    table = text_table(io.BytesIO(content), name)
    return read_submission(table, "").rows if set(IDENTITY) <= set(table.header) else ()
