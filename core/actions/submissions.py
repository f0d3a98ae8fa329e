"""Check a submission, and package a run as one."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import replace as replace_in
from pathlib import Path

from core.actions.components import default_dataset
from core.actions.lineage import Prompts, lineage, prompts_of, provenance_of, tools_of
from core.actions.workspace import Workspace
from core.datasets.archives import MAX_UNPACKED_BYTES
from core.engine.dependencies import pairs_of
from core.engine.request import parse_row_selection, read_ids, select_rows
from core.engine.spec import sha256_of
from core.errors import InputError, NotFound
from core.file_io import read_file
from core.store import Cursor, run_records, runs
from core.store.runs import Run
from core.submission import package as packages
from core.submission.check import check, is_valid
from core.submission.fusion_trace import add_base_events, explain_fusion
from core.submission.package import Contents
from core.submission.provenance import NOTHING, RunProvenance
from core.submission.rules.registry import Problem
from core.types import RowResult, Track


@dataclass(frozen=True, slots=True)
class PackageOptions:
    """What to package of a run.

    rows: as in `--rows`, "" for the test split where there is one. prompt: a file instead of the method's own texts. tools: a
    folder of *.py instead of those that the run asked. fusion_trace: add to each row's trace what a fusion left out.
    """

    track: Track
    rows: str = ""
    prompt: Path | None = None
    tools: Path | None = None
    fusion_trace: bool = False


@dataclass(frozen=True, slots=True)
class PackageResult:
    """What became of it: path and sha256 are None where an error stands among the problems and nothing was written."""

    path: Path | None
    sha256: str | None
    problems: list[Problem]


@dataclass(frozen=True, slots=True)
class CheckedPackage:
    """A run as it would be packaged."""

    content: bytes
    problems: list[Problem]


def check_file(
    workspace: Workspace,
    file: Path | bytes,
    track: Track,
    *,
    dataset: str | None = None,
    rows: str = "",
    prompt: Path | None = None,
    run: str | None = None,
    name: str = "upload",
) -> list[Problem]:
    """Every problem of a submission's file or bytes, which are called `name` in messages.

    rows: which ids it should have. prompt: a file with the prompt that was run. run: the run that it was made from, whose
    facts are then checked too. Raises InputError for a file that cannot be opened, and where there is no dataset.
    """
    content = file if isinstance(file, bytes) else read_file(file, MAX_UNPACKED_BYTES)
    facts = NOTHING
    with workspace.store.read() as db:
        if run is not None:
            found = runs.find(db, run)
            dataset = dataset or found.dataset
            line = lineage(db, found)
            facts = provenance_of(db, line, prompts_of(line))
    if prompt is not None:
        facts = replace_in(facts, prompt=_text_of(prompt), prompt_fault="")
    expected = expected_ids(workspace, default_dataset(workspace, dataset).id, rows)
    return check(content, name if isinstance(file, bytes) else file.name, track, expected, facts)


def expected_ids(workspace: Workspace, dataset: str, rows: str = "") -> tuple[str, ...]:
    """The ids that a submission should have, in order: of the test split where there is one, else of every row.

    rows: as in `--rows`; ids=FILE alone asks for them in that file's order. Raises InputError or NotFound for rows that
    cannot be.
    """
    known = pairs_of(workspace.store, dataset)
    chosen = parse_row_selection(rows)
    if chosen.ids is not None and chosen.split is None and chosen.sample is None:
        ids = read_ids(chosen.ids)
        unknown = [key for key in ids if key not in known]
        if unknown:
            raise NotFound(f"{chosen.ids}: {len(unknown):,} of {len(ids):,} ids are not in the dataset, such as {unknown[0]!r}")
        return ids
    test = any(pair.split == "test" for pair in known.values())
    return select_rows(list(known.values()), chosen if rows or not test else parse_row_selection("split=test"))


def check_run(workspace: Workspace, run: str, wanted: PackageOptions) -> CheckedPackage:
    """A run's package and its problems, before anything is written. Raises InputError for files that cannot be read."""
    with workspace.store.read() as db:
        found = runs.find(db, run)
    expected = expected_ids(workspace, found.dataset, wanted.rows)
    with workspace.store.read() as db:
        contents, facts = _contents(db, found, expected, wanted)
    content = packages.as_zip(contents)
    problems = check(content, f"{found.name}.zip", wanted.track, expected, facts)
    return CheckedPackage(content, [*packages.find_changes(content, contents), *problems])


def package(workspace: Workspace, run: str, wanted: PackageOptions, out: Path, *, replace: bool = False) -> PackageResult:
    """Write a run's package, unless one of its problems is an error; the trail names its SHA-256.

    Raises StateError where another file lies at `out`, unless `replace`, ReadOnly in a workspace that is.
    """
    workspace.refuse_if_read_only("package", run)
    made = check_run(workspace, run, wanted)
    if not is_valid(made.problems):
        return PackageResult(None, None, made.problems)
    sha256 = hashlib.sha256(made.content).hexdigest()
    with workspace.change("package", run) as (db, detail):
        detail |= {"run": runs.find(db, run).id, "track": wanted.track, "file": out.name, "sha256": sha256}
        packages.write(made.content, out, replace=replace)
    return PackageResult(out, sha256, made.problems)


def _contents(db: Cursor, run: Run, expected: tuple[str, ...], wanted: PackageOptions) -> tuple[Contents, RunProvenance]:
    """What goes into a run's zip, and what is known of the run."""
    line = lineage(db, run)
    prompts = _prompts(line, wanted.prompt)
    there = run_records.rows(db, run.id)
    known = set(expected)
    rows = _traced(db, run, [there[key] for key in expected if key in there], wanted)
    contents = Contents(
        track=wanted.track,
        rows=rows,
        model=next((each.model for each in line if each.model), ""),
        method=run.method,
        prompt=prompts.text if wanted.prompt is None else _text_of(wanted.prompt),
        tools=tools_of(db, line) if wanted.tools is None else _tools_in(wanted.tools),
        distinct_tools=_distinct_tools(db, line),
    )
    facts = provenance_of(db, line, prompts)
    repeated = packages.repeated_rows(rows) if wanted.track == "A" else ()
    return contents, replace_in(facts, left_out=tuple(key for key in there if key not in known), repeated=repeated)


def _prompts(line: list[Run], given: Path | None) -> Prompts:
    """The prompt that was run; a file that has the recorded hash is, whatever the texts of today say."""
    found = prompts_of(line)
    if given is None or len(found.recorded) != 1:
        return found
    text = _text_of(given)
    same = next((version for version in (text, text.rstrip("\n")) if sha256_of(version) == found.recorded[0]), None)
    return found if same is None else Prompts(text, found.recorded)


def _traced(db: Cursor, run: Run, rows: list[RowResult], wanted: PackageOptions) -> list[RowResult]:
    """Rows with what a fusion left out of their traces, where that is wanted."""
    if not wanted.fusion_trace:
        return rows
    base = run
    while base.method == "fusion" and base.parents:
        base = runs.find(db, base.parents[0])
        rows = add_base_events(rows, run_records.rows(db, base.id))
    return explain_fusion(rows)


def _distinct_tools(db: Cursor, line: list[Run]) -> Mapping[str, int]:
    """Row → how many tools it asked, as the first run of the lineage that kept evidence knows."""
    return next((counts for run in line if (counts := run_records.distinct_tools(db, run.id))), {})


def _tools_in(folder: Path) -> dict[str, bytes]:
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder, expected one with the tools' Python files")
    return {file.name: read_file(file, MAX_UNPACKED_BYTES) for file in sorted(folder.glob("*.py"))}


def _text_of(file: Path) -> str:
    try:
        return read_file(file, MAX_UNPACKED_BYTES).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{file}: not UTF-8 ({error.reason} at byte {error.start:,}), expected a text") from error
