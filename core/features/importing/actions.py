"""Import challenge files, PerturbQA, submissions, bundles, knowledge packs and gene spaces,
recognised by their content."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from dataclasses import replace as replace_in
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core.base.archives import Content, bare_name
from core.base.errors import DeskError, InputError, StateError, UnknownFormat
from core.base.log import record_error
from core.base.records import from_json, to_json
from core.base.texts import check_name
from core.base.types import Rejected
from core.features.importing import imported_rows
from core.features.importing.files import (
    BundleFile,
    FileContent,
    FoundFile,
    PackFile,
    SpaceFile,
    expand,
    recognise,
    recognise_upload,
)
from core.features.importing.import_target import (
    DEFAULT_OPTIONS,
    Imported,
    ImportedRows,
    ImportOptions,
    describe_existing,
    record_import,
    save_columns,
    with_saved_columns,
)
from core.features.importing.other_formats import refuse_other_format
from core.features.importing.pairs import PairTable, TableRows
from core.features.importing.reader import collector_paused
from core.runs import packs
from core.runs.actions import keep_results, set_values
from core.runs.uploads_apart import read_apart
from core.runs.workspace import Workspace
from core.store import changes, imports
from core.store import spaces as space_records
from core.store.spaces import SpaceRecord

if TYPE_CHECKING:
    from core.features.importing.fetch import Progress

__all__ = [
    "ImportOptions",
    "Imported",
    "fetch_and_import",
    "import_paths",
    "import_space",
    "import_upload",
    "import_uploads",
]

# gets the share that is done, and what begins now, as in "reading train.csv"
OnFile = Callable[[float, str], object]


def import_paths(
    workspace: Workspace,
    paths: Sequence[Path],
    options: ImportOptions = DEFAULT_OPTIONS,
    *,
    recursive: bool = False,
    on_file: OnFile = lambda *_: None,
) -> list[Imported]:
    """Import files, and recognised files in folders: pairs first, so that submissions find their
    rows.

    One file's failure does not stop the others; it is reported with kind "failed". recursive: as of
    `expand`. on_file: see `OnFile`.
    """
    workspace.refuse_if_read_only("import", ", ".join(map(str, paths)))
    files = expand(list(paths), recursive=recursive)
    options = with_saved_columns(workspace, options)
    with collector_paused():
        read = partial(recognise, options=options.table)
        return import_files(workspace, files, options, read, on_file=on_file)


def import_files(
    workspace: Workspace,
    files: Sequence[FoundFile],
    options: ImportOptions,
    read: Callable[[Path], FileContent] = recognise,
    on_file: OnFile = lambda *_: None,
) -> list[Imported]:
    """Import found files; see `import_paths`. read: returns a file's content, or raises
    DeskError."""
    workspace.refuse_if_read_only("import", ", ".join(map(str, map(attrgetter("path"), files))))
    tables: list[tuple[Path, FileContent]] = []
    outcomes: list[Imported] = []
    for at, (path, chosen, problem) in enumerate(files):
        on_file(at / (2 * len(files)), f"reading {path.name}")
        try:
            if problem:
                raise UnknownFormat(f"{path}: {problem}")
            tables.append((path, read(path)))
        except UnknownFormat as error:
            outcomes.append(
                _failed_import(str(path), error)
                if chosen
                else Imported(str(path), "unknown", None, message=str(error))
            )
        except DeskError as error:
            outcomes.append(_failed_import(str(path), error))
    if options.name and len(tables) > 1:
        raise InputError(f"--name {options.name}: got {len(tables)} files to import, expected one")
    n_tables = len(tables)
    tables.sort(key=lambda found: _PRECEDENCE.get(found[1].kind, _LAST))
    while tables:  # what was read goes before results are computed, which takes memory too
        path, table = tables.pop(0)
        on_file(0.5 + (n_tables - len(tables) - 1) / (2 * n_tables), f"writing {path.name}")
        outcomes += _import_or_report(workspace, table, str(path), options)
        del table
    keep_results(workspace)
    return outcomes


# Pairs before what stands on them; packs after them, so that their genes are described.
_PRECEDENCE = {
    "challenge_train": 0,
    "challenge_test": 1,
    "perturbqa": 2,
    "sample_submission": 3,
    "submission": 4,
    "inspect_log": 4,
    "external_score": 4,
    "bundle": 5,
}
_LAST = 6


def import_upload(
    workspace: Workspace, content: Content, name: str, options: ImportOptions = DEFAULT_OPTIONS
) -> Imported:
    """Import the content of one file; return the first outcome of a file with several runs
    (external scores)."""
    return import_uploads(workspace, [(name, content)], options)[0]


def import_uploads(
    workspace: Workspace,
    files: Sequence[tuple[str, Content]],
    options: ImportOptions = DEFAULT_OPTIONS,
    on_file: OnFile = lambda *_: None,
) -> list[Imported]:
    """Import files by their names and contents, in their order; on a shared server each in its own
    process."""
    outcomes = _import_uploads(workspace, files, options, on_file)
    keep_results(workspace)
    return outcomes


def _import_uploads(
    workspace: Workspace,
    files: Sequence[tuple[str, Content]],
    options: ImportOptions,
    on_file: OnFile = lambda *_: None,
) -> list[Imported]:
    outcomes: list[Imported] = []
    for at, (name, content) in enumerate(files):
        on_file(at / len(files), f"importing {name}")
        workspace.refuse_if_read_only("import", name)
        try:
            options = with_saved_columns(workspace, options)
            if workspace.settings.is_shared:
                outcomes += _import_apart(workspace, (name, content), options)
                continue
            table = recognise_upload(content, name, options.table)
        except DeskError as error:
            outcomes.append(_failed_import(name, error))
            continue
        on_file((at + 0.5) / len(files), f"writing {name}")
        outcomes += _import_or_report(workspace, table, name, options)
    return outcomes


def import_task(
    workspace: Workspace, files: Sequence[tuple[str, bytes]], options: Mapping[str, Any]
) -> list[Any]:
    """Import uploads in the process that reads them (`core.runs.upload_process`)."""
    wanted = from_json(ImportOptions, options, "options of an import")
    return [to_json(outcome) for outcome in _import_uploads(workspace, files, wanted)]


def _import_apart(
    workspace: Workspace, file: tuple[str, Content], options: ImportOptions
) -> list[Imported]:
    """Return the outcomes of an upload; files that its process could not read within its limits
    have failed."""
    try:
        return from_json(
            list[Imported],
            read_apart(workspace, "import", [file], asdict(options)),
            "outcome of an import",
        )
    except DeskError as error:
        return [_failed_import(file[0], error)]


def fetch_and_import(
    workspace: Workspace, group: str, progress: Progress | None = None
) -> list[Imported]:
    """Download one of SOURCES' groups into data/fetched (existing complete files are not fetched
    again) and import it.

    Public scores that were published for a run are recorded with it. Raise Unreachable,
    WrongContent or InputError.
    """
    from core.features.importing.fetch import GITHUB, SOURCES, fetch

    workspace.refuse_if_read_only("fetch", group)
    folder = workspace.settings.data / "fetched" / group
    files = fetch(group, folder, base=workspace.settings.mirror or GITHUB, progress=progress)
    outcomes = import_paths(workspace, files)
    scores = {folder / source.file: source.public_score for source in SOURCES[group]}
    for outcome in outcomes:
        score = scores.get(folder / outcome.path)
        if score is not None and outcome.name is not None and outcome.new:
            set_values(workspace, outcome.name, {"public_score": str(score)})
    return outcomes


def import_space(
    workspace: Workspace, path: Path, name: str, *, replace: bool = False, kept: Sequence[str] = ()
) -> SpaceRecord:
    """Import a file or checkpoint that has to be a gene space; return an existing space with the
    same content.

    kept: see `load_space`.
    """
    from core.features.importing.spaces.load import load_space

    workspace.refuse_if_read_only("embed load", str(path))
    if not path.exists():
        raise InputError(f"{path}: no such file or folder")
    refuse_other_format(path, str(path))
    file = SpaceFile(load_space(path, name, kept=kept))
    outcome = _import_content(workspace, file, str(path), ImportOptions(name=name, replace=replace))
    with workspace.store.read() as db:
        found = space_records.find(db, str(outcome.name))
    # what of this file was left out
    return found if outcome.new else replace_in(found, notes=file.space.notes)


def _import_or_report(
    workspace: Workspace, table: FileContent, path: str, options: ImportOptions
) -> list[Imported]:
    parts: Iterable[tuple[Any, str]] = [(table, path)]
    outcomes = []
    try:
        if table.kind == "external_score":
            from core.features.importing.external_scores import ScoreTable
            from core.features.importing.imported_runs import split_scores

            assert isinstance(table, ScoreTable)
            parts = split_scores(table, path, options)
        elif options.de is not None or options.dir is not None:
            raise InputError(
                f"{path}: --de and --dir name columns of external scores, got a file of kind"
                f" {table.kind}. Expected id, or pert and gene, and columns of numbers, without the"
                " column label beside all three"
            )
    except DeskError as error:
        return [_failed_import(path, error, table.rejected)]
    for part, part_path in parts:
        try:
            outcomes.append(_import_content(workspace, part, part_path, options))
        except DeskError as error:
            outcomes.append(_failed_import(part_path, error, part.rejected))
    if options.table.columns and any(
        outcome.new and outcome.kind != "failed" for outcome in outcomes
    ):
        header = table.header if isinstance(table, TableRows) else ()
        save_columns(workspace, header, options.table.columns, path)
    return outcomes


def _failed_import(path: str, error: DeskError, rejected: tuple[Rejected, ...] = ()) -> Imported:
    """Return the outcome of a file that could not be imported; its error is in the log."""
    record_error(f"import {path}", error)
    return Imported(path, "failed", None, rejected=rejected, message=str(error))


def _import_content(workspace: Workspace, file: Any, path: str, options: ImportOptions) -> Imported:
    with workspace.store.read() as db:
        earlier = imports.by_content(db, file.sha256)
        existing = None if earlier is None else describe_existing(db, earlier, path)
        if existing is None and file.kind == "submission":
            from core.features.importing.imported_runs import find_bundled_run

            existing = find_bundled_run(db, file, path, options)
    if existing is not None:
        return _restore_file(workspace, file, existing)
    if isinstance(file, PackFile):
        return _write_pack(workspace, file, path, options)
    if isinstance(file, SpaceFile):
        return _write_space(workspace, file, path, options)
    if isinstance(file, BundleFile):
        from core.features.importing.bundle_actions import import_bundle

        return import_bundle(workspace, file, path, options)
    with workspace.change("import", path) as (db, detail):
        if isinstance(file, PairTable):
            outcome = imported_rows.write_pairs(db, workspace.settings, file, path, options)
            changes.bump(db, "datasets")
        else:
            from core.features.importing.imported_runs import write_run

            outcome, replaced = write_run(db, workspace.settings, file, path, options)
            detail |= replaced
        detail |= {
            "kind": outcome.kind,
            "name": outcome.name,
            "rows": outcome.rows,
            "rejected": len(outcome.rejected),
        }
    if "replaced" in detail:
        workspace.run_folder(detail["replaced"]).remove()
    return outcome


def _restore_file(workspace: Workspace, table: FileContent, existing: Imported) -> Imported:
    """Return the outcome for content that is here already; writes a pack's or space's file again if
    it was lost or changed."""
    name = str(existing.name)
    if isinstance(table, PackFile):
        existing = replace(existing, organism=table.pack.organism)
        restored = packs.restore(workspace.settings, name, table.content, table.sha256)
    elif isinstance(table, SpaceFile):
        from core.features.importing.spaces import space_files

        with workspace.store.read() as db:
            record = space_records.find(db, name)
        restored = space_files.restore(workspace.settings, record, table.space)
    else:
        restored = False
    if not restored:
        notes = table.space.notes if isinstance(table, SpaceFile) else ()
        return replace(existing, message="; ".join((existing.message, *notes)))
    return replace(
        existing, message=f"{existing.path}: here already, as {name}; its lost file is restored"
    )


def _write_pack(
    workspace: Workspace, file: PackFile, path: str, options: ImportOptions
) -> Imported:
    name = options.name or Path(bare_name(path)).stem
    check_name("pack", name)
    with workspace.change("import", path) as (db, detail):
        existing = next((pack for pack in space_records.list_packs(db) if pack.name == name), None)
        if existing is not None and not options.replace:
            raise StateError(
                f"{path}: pack {name!r} exists with other content; choose another --name, or use"
                " --replace"
            )
        source = record_import(db, workspace.settings, file, path, ImportedRows(len(file.pack)))
        packs.add_pack(db, workspace.settings, file.pack, file.content, name, source)
        if existing is not None:
            imports.delete(db, existing.source_file)
        detail |= {"kind": file.kind, "name": name, "rows": len(file.pack)}
    return Imported(path, file.kind, name, len(file.pack), organism=file.pack.organism)


def _write_space(
    workspace: Workspace, file: SpaceFile, path: str, options: ImportOptions
) -> Imported:
    from core.features.importing.spaces import space_files

    space = replace(file.space, name=options.name or Path(bare_name(path)).stem)
    space_files.refuse_uncovering(workspace, space, path)
    with workspace.change("import", path) as (db, detail):
        spec = space_files.spec_of_loaded(space, Path(path).name)
        source = record_import(db, workspace.settings, file, path, ImportedRows(len(space.symbols)))
        _, replaced = space_files.record_space(
            db, workspace.settings, space, "loaded", spec, source, replace=options.replace
        )
        detail |= {
            "kind": file.kind,
            "name": space.name,
            "rows": len(space.symbols),
            "replaced": [old.id for old in replaced],
        }
    for old in replaced:
        space_files.remove_file(workspace.settings, old)
    return Imported(path, file.kind, space.name, len(space.symbols), message="; ".join(space.notes))
