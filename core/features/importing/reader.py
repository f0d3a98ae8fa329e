"""Read a table of pairs, predictions, replies or scores: what it is follows from the roles of its
columns."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final

from core.base.archives import Content, open_content
from core.base.errors import UnknownFormat
from core.base.file_io import open_file
from core.base.file_limits import MAX_UNPACKED_BYTES
from core.base.hashes import sha256_of_open
from core.base.tables import Table, table_of
from core.base.texts import quote
from core.features.importing.external_scores import ScoreTable, read_external_scores, score_columns
from core.features.importing.inspect_logs import is_log, read_log
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
    Roles,
    TableOptions,
    choose_roles,
    named_columns,
    stack,
)
from core.features.importing.submissions import (
    COLUMN_OF,
    SubmissionTable,
    TakeRow,
    are_replies,
    is_submission,
    is_used,
    read_replies,
    read_submission,
)

AnyTable = PairTable | SubmissionTable | ScoreTable
KEYS: Final = ("id", "pert", "gene")
LABELS: Final = (*KEYS, "label", "split")


def read(
    content: Content,
    name: str,
    take: TakeRow | None = None,
    options: TableOptions = AS_GUESSED,
) -> AnyTable:
    """Return the table in a file; `name` is for messages and tells PerturbQA's tasks apart.

    Rows that cannot be read are in the table's `rejected`. take: is given the rows of a run,
    instead of the table. Raise UnknownFormat, UnsafeFile or InputError.
    """
    sha256 = sha256_of_open(open_content(content))
    with collector_paused():
        if is_log(content):
            return read_log(content, name, sha256, take)
        table = stack(table_of(content, name))
        header = table.header
        roles = choose_roles(table, named_columns(table, options))
        table.keep(options.where)
        found = _read_table(table, roles, sha256, take)
    rejected = tuple(sorted(found.rejected, key=lambda row: row.line))
    return replace(found, notes=(*table.notes, *found.notes), rejected=rejected, header=header)


def _read_table(table: Table, roles: Roles, sha256: str, take: TakeRow | None) -> AnyTable:
    """Return what the first format that recognises a table reads in it."""
    names = quote(", ".join(table.header), 120)
    labelled = _renamed(table, roles.of, LABELS)
    if is_submission(table.header, roles.of):
        _rename(table, roles.of, (*KEYS, *COLUMN_OF))
        return read_submission(table, sha256, take)
    if is_perturbqa(labelled) or is_challenge(labelled):
        _rename(table, roles.of, LABELS)
        return (read_perturbqa if is_perturbqa(labelled) else read_challenge)(table, sha256)
    if {"pert", "gene"} <= roles.of.keys() and roles.of.keys() & {*CHANGES}:
        raise UnknownFormat(
            f"{table.name}: differential expression ({names}): as predictions, `cells predictions"
            " FILE --dataset D` makes a run of it; as labels, `cells labels FILE --name D` makes a"
            " dataset"
        )
    if are_replies(table, roles):
        return read_replies(table, roles, sha256, take)
    if roles.name_pairs and (scores := score_columns(table, roles)):
        table.rename({roles.of[role]: role for role in KEYS if role in roles.of})
        return read_external_scores(table, sha256, scores)
    raise UnknownFormat(
        f"{table.name}: columns {names}, expected those of pairs (id or pert and gene, label),"
        " predictions (id, prediction_up, prediction_down, …), replies (id, answer), PerturbQA"
        " (pert, gene, label, split) or external scores (id, or pert and gene, and columns of"
        " numbers); --column ROLE=NAME says what a column is"
    )


def _renamed(table: Table, of: Mapping[str, str], roles: tuple[str, ...]) -> tuple[str, ...]:
    names = {of[role]: COLUMN_OF.get(role, role) for role in roles if role in of}
    return tuple(names.get(name, name) for name in table.header)


def _rename(table: Table, of: Mapping[str, str], roles: tuple[str, ...]) -> None:
    """Give columns the names that readers know them by, and note which they had."""
    names = {of[role]: COLUMN_OF.get(role, role) for role in roles if role in of}
    other = {new: old for old, new in names.items() if new.lower() != old.lower()}
    if other:
        table.notes.append(
            "read as " + ", ".join(f"{new}: {quote(old)}" for new, old in other.items())
        )
    table.rename(names)
    table.note_unused(
        name for name in table.header if name not in names.values() and not is_used(name)
    )


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
    path: Path,
    name: str = "",
    take: TakeRow | None = None,
    options: TableOptions = AS_GUESSED,
) -> AnyTable:
    """As `read`, from a file of at most 1 GiB; raises InputError if it cannot be opened. name: by
    default the path's."""
    with open_file(path, MAX_UNPACKED_BYTES) as file:
        return read(file, name or path.name, take, options)
