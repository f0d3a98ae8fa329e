"""Read a table of pairs, predictions, replies or scores: what it is follows from the roles of its columns."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final

from core.base.archives import Content, open_content
from core.base.roles import AS_GUESSED, CHANGES, Roles, TableOptions, choose_roles, named_columns, stack
from core.base.tables import Table, table_of
from core.datasets.external_scores import ScoreTable, read_external_scores, score_columns
from core.datasets.inspect_logs import Epochs, is_log, read_log
from core.datasets.pairs import PairTable, is_challenge, is_perturbqa, read_challenge, read_perturbqa
from core.datasets.replies import are_replies, read_replies
from core.datasets.submissions import COLUMN_OF, SubmissionTable, TakeRow, is_submission, is_used, read_submission
from core.errors import UnknownFormat
from core.file_io import open_file
from core.file_limits import MAX_UNPACKED_BYTES
from core.hashes import sha256_of_open
from core.texts import quote

AnyTable = PairTable | SubmissionTable | ScoreTable
Recognises = Callable[[Table, Roles], bool]
Reads = Callable[[Table, Roles, str, TakeRow | None], AnyTable]
KEYS: Final = ("id", "pert", "gene")
LABELS: Final = (*KEYS, "label", "split")


def read(
    content: Content,
    name: str,
    take: TakeRow | None = None,
    epochs: Epochs = "mean",
    options: TableOptions = AS_GUESSED,
) -> AnyTable:
    """Return the table in a file; `name` is for messages and tells PerturbQA's tasks apart.

    Rows that cannot be read are in the table's `rejected`. take: is given the rows of a run, instead of the
    table. epochs: see `read_log`. Raise UnknownFormat, UnsafeFile or InputError.
    """
    sha256 = sha256_of_open(open_content(content))
    with collector_paused():
        if is_log(content):
            return read_log(content, name, sha256, take, epochs)
        table = stack(table_of(content, name))
        header = table.header
        roles = choose_roles(table, named_columns(table, options))
        table.keep(options.where)
        read_table = next((read for recognises, read in _READERS if recognises(table, roles)), _refuse_unknown)
        found = read_table(table, roles, sha256, take)
    rejected = tuple(sorted(found.rejected, key=lambda row: row.line))
    return replace(found, notes=(*table.notes, *found.notes), rejected=rejected, header=header)


def _names(table: Table) -> str:
    return quote(", ".join(table.header), 120)


def _refuse_unknown(table: Table, _: Roles, _sha256: str, _take: TakeRow | None) -> AnyTable:
    raise UnknownFormat(
        f"{table.name}: columns {_names(table)}, expected those of pairs (id or pert and gene, label), predictions (id, "
        "prediction_up, prediction_down, …), replies (id, answer), PerturbQA (pert, gene, label, split) or external scores "
        "(id, or pert and gene, and columns of numbers); --column ROLE=NAME says what a column is"
    )


def _renamed(table: Table, of: Mapping[str, str], roles: tuple[str, ...]) -> tuple[str, ...]:
    names = {of[role]: COLUMN_OF.get(role, role) for role in roles if role in of}
    return tuple(names.get(name, name) for name in table.header)


def _rename(table: Table, of: Mapping[str, str], roles: tuple[str, ...]) -> None:
    """Give columns the names that readers know them by, and note which they had."""
    names = {of[role]: COLUMN_OF.get(role, role) for role in roles if role in of}
    other = {new: old for old, new in names.items() if new.lower() != old.lower()}
    if other:
        table.notes.append("read as " + ", ".join(f"{new}: {quote(old)}" for new, old in other.items()))
    table.rename(names)
    table.note_unused(name for name in table.header if name not in names.values() and not is_used(name))


def _are_pairs(table: Table, roles: Roles) -> bool:
    header = _renamed(table, roles.of, LABELS)
    return is_perturbqa(header) or is_challenge(header)


def _read_pairs(table: Table, roles: Roles, sha256: str, _: TakeRow | None) -> PairTable:
    _rename(table, roles.of, LABELS)
    return (read_perturbqa if is_perturbqa(table.header) else read_challenge)(table, sha256)


def _is_submission(table: Table, roles: Roles) -> bool:
    return is_submission(table.header, roles.of)


def _read_submission(table: Table, roles: Roles, sha256: str, take: TakeRow | None) -> SubmissionTable:
    _rename(table, roles.of, (*KEYS, *COLUMN_OF))
    return read_submission(table, sha256, take)


def _is_differential(_: Table, roles: Roles) -> bool:
    return {"pert", "gene"} <= roles.of.keys() and bool(roles.of.keys() & {*CHANGES})


def _refuse_differential(table: Table, _: Roles, _sha256: str, _take: TakeRow | None) -> AnyTable:
    raise UnknownFormat(
        f"{table.name}: differential expression ({_names(table)}): as predictions, `cells predictions FILE "
        "--dataset D` makes a run of it; as labels, `cells labels FILE --name D` makes a dataset"
    )


def _are_scores(table: Table, roles: Roles) -> bool:
    return roles.name_pairs and bool(score_columns(table, roles))


def _read_scores(table: Table, roles: Roles, sha256: str, _: TakeRow | None) -> ScoreTable:
    columns = score_columns(table, roles)
    table.rename({roles.of[role]: role for role in KEYS if role in roles.of})
    return read_external_scores(table, sha256, columns)


# The first that recognises a table reads it.
_READERS: Final[tuple[tuple[Recognises, Reads], ...]] = (
    (_is_submission, _read_submission),
    (_are_pairs, _read_pairs),
    (_is_differential, _refuse_differential),
    (are_replies, read_replies),
    (_are_scores, _read_scores),
)


@contextmanager
def collector_paused() -> Iterator[None]:
    """Pause garbage collection during the block, which may be nested.

    A large file makes a million records without cycles; searching them again and again would take a quarter of the time.
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
    epochs: Epochs = "mean",
    options: TableOptions = AS_GUESSED,
) -> AnyTable:
    """As `read`, from a file of at most 1 GiB; raises InputError if it cannot be opened. name: by default the path's."""
    with open_file(path, MAX_UNPACKED_BYTES) as file:
        return read(file, name or path.name, take, epochs, options)
