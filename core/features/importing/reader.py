"""Read a table of pairs, predictions, replies or scores: what it is follows from the roles of its
columns."""

from __future__ import annotations

import gc
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Final, Union

from core.base.archives import Content, open_content
from core.base.errors import UnknownFormat
from core.base.file_io import open_file
from core.base.file_limits import MAX_UNPACKED_BYTES
from core.base.hashes import sha256_of_open
from core.base.tables import Table, first_character, table_of
from core.base.texts import quote
from core.features.importing.pairs import (
    PairTable,
    is_challenge,
    is_perturbqa,
    read_challenge,
    read_perturbqa,
)
from core.features.importing.roles import (
    AS_GUESSED,
    CHANGES,
    COLUMN_OF,
    SEED_COLUMN,
    Roles,
    TableOptions,
    choose_roles,
    named_columns,
    stack,
)

if TYPE_CHECKING:
    from core.features.importing.external_scores import ScoreTable
    from core.features.importing.submissions import SubmissionTable
    from core.runs.audited_rows import RowSpool

AnyTable = Union[PairTable, "SubmissionTable", "ScoreTable"]
KEYS: Final = ("id", "pert", "gene")
LABELS: Final = (*KEYS, "label", "split")
_HEAD_BYTES: Final = 1 << 10
_PREDICTED, _SPLIT = {"up", "down"}, {"p_de", "p_up_given_de"}
_NUMBER: Final = re.compile("prediction_(?:up|down)")


def read(
    content: Content, name: str, options: TableOptions = AS_GUESSED, *, spooled: bool = False
) -> AnyTable:
    """Return the table in a file; `name` is for messages and tells PerturbQA's tasks apart.

    Rows that cannot be read are in the table's `rejected`. spooled: whether the rows of a run are
    audited as they are read. Raise UnknownFormat, UnsafeFile or InputError.
    """
    sha256 = sha256_of_open(open_content(content))
    with collector_paused():
        head = open_content(content).read(_HEAD_BYTES)
        if head.startswith(b"PK") or first_character(head) == b"{":
            from core.features.importing.inspect_logs import is_log, read_log

            if is_log(content):
                return _read_run(partial(read_log, content, name, sha256), spooled)
        table = stack(table_of(content, name))
        header = table.header
        roles = choose_roles(table, named_columns(table, options))
        table.keep(options.where)
        found = _read_table(table, roles, sha256, spooled)
    rejected = tuple(sorted(found.rejected, key=attrgetter("line")))
    return replace(found, notes=(*table.notes, *found.notes), rejected=rejected, header=header)


def _read_table(table: Table, roles: Roles, sha256: str, spooled: bool) -> AnyTable:
    """Return what the first format that recognises a table reads in it."""
    of, columns = roles.of, {*roles.of, *roles.unused}
    if of.keys() >= _PREDICTED or of.keys() >= _SPLIT or any(map(_NUMBER.match, table.header)):
        from core.features.importing.submissions import read_submission

        _rename(table, of, (*KEYS, *COLUMN_OF))
        return _read_run(partial(read_submission, table, sha256), spooled)
    if is_perturbqa(columns) or is_challenge(columns):
        _rename(table, of, LABELS)
        return (read_perturbqa if is_perturbqa(columns) else read_challenge)(table, sha256)
    names = quote(", ".join(table.header), 120)
    if {"pert", "gene"} <= of.keys() and of.keys() & {*CHANGES}:
        raise UnknownFormat(
            f"{table.name}: differential expression ({names}): as predictions, `cells predictions"
            " FILE --dataset D` makes a run of it; as labels, `cells labels FILE --name D` makes a"
            " dataset"
        )
    from core.features.importing.external_scores import read_external_scores, score_columns
    from core.features.importing.submissions import are_replies, read_replies

    if are_replies(table, roles):
        return _read_run(partial(read_replies, table, roles, sha256), spooled)
    if roles.name_pairs and (scores := score_columns(table, roles)):
        table.rename({of[role]: role for role in KEYS if role in of})
        return read_external_scores(table, sha256, scores)
    raise UnknownFormat(
        f"{table.name}: columns {names}, expected those of pairs (id or pert and gene, label),"
        " predictions (id, prediction_up, prediction_down, …), replies (id, answer), PerturbQA"
        " (pert, gene, label, split) or external scores (id, or pert and gene, and columns of"
        " numbers); --column ROLE=NAME says what a column is"
    )


def _read_run(
    read_rows: Callable[[RowSpool | None], SubmissionTable], spooled: bool
) -> SubmissionTable:
    if not spooled:
        return read_rows(None)
    from core.features.importing.submissions import spool_rows

    return spool_rows(read_rows)


def _rename(table: Table, of: Mapping[str, str], roles: tuple[str, ...]) -> None:
    """Give columns the names that readers know them by, and note which they had."""
    names, others = dict[str, str](), list[str]()
    for role in roles:
        if role in of:
            old, new = of[role], COLUMN_OF.get(role, role)
            names[old] = new
            if new.lower() != old.lower():
                others.append(f"{new}: {quote(old)}")
    if others:
        table.notes.append(f"read as {', '.join(others)}")
    table.rename(names)
    used = (*names.values(), "num_distinct_tools")
    table.note_unused(n for n in table.header if n not in used and not SEED_COLUMN.fullmatch(n))


@contextmanager
def collector_paused() -> Iterator[None]:
    """Pause garbage collection during the block, which may be nested.

    A large file makes a million records without cycles; searching them again and again would take a
    quarter of the time.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def read_path(
    path: Path, name: str = "", options: TableOptions = AS_GUESSED, *, spooled: bool = False
) -> AnyTable:
    """As `read`, from a file of at most 1 GiB; raises InputError if it cannot be opened. name: by
    default the path's."""
    with open_file(path, MAX_UNPACKED_BYTES) as file:
        return read(file, name or path.name, options, spooled=spooled)
