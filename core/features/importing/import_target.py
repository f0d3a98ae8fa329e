"""The dataset that a file's predictions belong to, the name of its run, and the record of its
import."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from core.base.config import Settings
from core.base.errors import InputError, StateError
from core.base.texts import quote
from core.base.types import Rejected
from core.features.importing.roles import AS_GUESSED, TableOptions
from core.runs.run_folder import folder_of_run
from core.runs.run_state import refuse_live
from core.store import Cursor, changes, datasets, imports, notes, pairs, runs, spaces
from core.store.datasets import Dataset
from core.store.imports import Import
from core.store.runs import Run


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """Options of an import. name: of the run, or of the dataset for files of pairs; None takes it
    from the file.

    strict: refuse the whole file for one bad row. replace: replace an existing run of that name.
    de, dir: of a file of external scores, the columns that rank rows by an effect and by its
    direction; see `core.features.importing.external_scores`.
    table: what columns are, and which rows count.
    """

    name: str | None = None
    dataset: str | None = None
    strict: bool = False
    replace: bool = False
    de: str | None = None
    dir: str | None = None
    table: TableOptions = AS_GUESSED


DEFAULT_OPTIONS = ImportOptions()


@dataclass(frozen=True, slots=True)
class Imported:
    """The outcome for one file.

    kind is "failed" if nothing was imported and "unknown" for a file in a folder that no reader
    recognises; `message` says why. new is False if the content had been imported already, so that
    nothing changed. organism: of a knowledge pack, "" if its symbols do not tell; None for anything
    else.
    """

    path: str
    kind: str
    name: str | None
    rows: int = 0
    rejected: tuple[Rejected, ...] = ()
    new: bool = True
    message: str = ""
    organism: str | None = None


class ImportedContent(Protocol):
    """The content of a file of any kind."""

    @property
    def kind(self) -> str: ...
    @property
    def sha256(self) -> str: ...


def find_run(db: Cursor, run: str) -> Run | None:
    """Return the run with this id; None if it is not here."""
    return next((each for each in runs.list_all(db) if each.id == run), None)


def dataset_of_rows(
    db: Cursor, pair_ids: Sequence[str], path: str, options: ImportOptions
) -> Dataset:
    """Return the chosen dataset, else the one that knows most of these ids. Raise InputError if
    none knows any."""
    if options.dataset is not None:
        return datasets.find(db, options.dataset)
    known = pairs.datasets_with(db, pair_ids)
    if not known:
        raise InputError(
            f"{path}: no dataset here knows any of its {len(pair_ids)} ids, such as"
            f" {quote(next(iter(pair_ids), '…'))}; expected PERT_GENE of a dataset that is here."
            " Import its files first (of the challenge, train.csv and test.csv), or say by --column"
            " id=NAME, or pert=NAME and gene=NAME, which columns name the pairs"
        )
    return datasets.find(db, known[0][0])


def known_rows(
    db: Cursor, target: Dataset, ids: Sequence[str], lines: Sequence[int], path: str
) -> tuple[list[bool], list[Rejected]]:
    """Return whether a dataset has each row, and the rejections of rows that it lacks."""
    known = pairs.labels(db, target.id)
    keep = [key in known for key in ids]
    rejected = [
        Rejected(path, line, "unknown id", f"{key!r} is not in dataset {target.name}")
        for key, line, is_known in zip(ids, lines, keep, strict=True)
        if not is_known
    ]
    return keep, rejected


def refuse_empty_import(
    path: str, n_rows: int, rejected: Sequence[Rejected], options: ImportOptions
) -> None:
    """Raise InputError if no row is left, or, under --strict, if one was rejected."""
    first = (
        f"the first, line {rejected[0].line}: {rejected[0].reason}, {rejected[0].detail}"
        if rejected
        else ""
    )
    if options.strict and rejected:
        raise InputError(
            f"{path}: {len(rejected)} rows rejected ({first}); nothing imported, because of"
            " --strict"
        )
    if n_rows == 0:
        raise InputError(f"{path}: no row could be imported ({first or 'the file has no rows'})")


def free_name(
    db: Cursor, dataset: str, wanted: str, path: str, sha256: str, options: ImportOptions
) -> tuple[str, Run | None]:
    """Return a name for the run, and the run of that name to replace: the chosen name, or the
    file's, with a hash if taken.

    Raise StateError if a chosen name is another run's, unless options.replace.
    """
    name = options.name or wanted
    existing = next((run for run in runs.list_all(db, dataset) if run.name == name), None)
    if existing is None or options.replace:
        return name, existing
    if options.name:
        raise StateError(
            f"{path}: run {name!r} exists with other content; choose another --name, or use"
            " --replace"
        )
    return f"{name} ({sha256[:6]})", None


def delete_replaced_run(db: Cursor, settings: Settings, run: Run) -> dict[str, object]:
    """Delete a run that is replaced; return its entry for the audit log. `RunFolder.remove` deletes
    its journal afterwards.

    Raise StateError while a worker runs it.
    """
    refuse_live(folder_of_run(settings, run.id))
    detail: dict[str, object] = {
        "replaced": run.id,
        "replaced_notes": notes.of_run(db, run.id).to_dict("records"),
    }
    imports.delete_with_run(db, run.id)
    changes.bump(db, "notes", f"run:{run.id}")
    return detail


@dataclass(frozen=True, slots=True)
class ImportedRows:
    """The number of rows that a file added, and the rejected rows.

    dataset, run: ids; None for spaces and packs, and without a run.
    """

    rows: int
    rejected: Sequence[Rejected] = ()
    dataset: str | None = None
    run: str | None = None


def folder_of(settings: Settings, kind: str, dataset: str) -> Path:
    """Return where files lie that an import of a kind wrote beside its dataset (id): its undo
    deletes them."""
    return settings.data / kind / dataset


def record_import(
    db: Cursor, settings: Settings, file: ImportedContent, path: str, rows: ImportedRows
) -> str:
    """Record that a file was imported; return the import's id."""
    entry = Import(
        id=file.sha256[:12],
        sha256=file.sha256,
        file=Path(path).name,
        kind=file.kind,
        dataset=rows.dataset,
        run=rows.run,
        rows=rows.rows,
        rejected=len(rows.rejected),
        author=settings.author,
    )
    imports.add(db, entry, rows.rejected)
    return entry.id


def describe_existing(db: Cursor, earlier: Import, path: str) -> Imported:
    """Return the outcome for a file whose content was imported before."""
    if earlier.run:
        name = runs.find(db, earlier.run).name
    elif earlier.dataset:
        name = datasets.find(db, earlier.dataset).name
    else:
        named = {pack.source_file: pack.name for pack in spaces.list_packs(db)}
        named |= {
            space.source_file: space.name for space in spaces.list_all(db) if space.source_file
        }
        name = named[earlier.id]
    rejected = imports.rejected_rows_of(db, earlier)
    message = (
        f"{path}: here already, as {name}; nothing changed. `undo {earlier.id}` takes it out, and"
        " then it can be imported otherwise"
    )
    return Imported(path, earlier.kind, name, earlier.rows, rejected, new=False, message=message)
