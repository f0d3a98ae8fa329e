"""Check a submission, and package a run as one."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from dataclasses import replace as replace_in
from pathlib import Path
from typing import Any

from core import __version__
from core.base.environment import refuse_secrets, version_in
from core.base.errors import InputError, NotFound
from core.base.file_io import read_file, write_file
from core.base.file_limits import MAX_UNPACKED_BYTES
from core.base.hashes import sha256_of
from core.base.types import EXTERNAL_SCORE, MADE_ELSEWHERE, Flag, RowResult, Track
from core.evidence.registry import TOOLS, tool_file
from core.features.importing.lineage import Prompts, missing_parents, prompts_of
from core.features.importing.problems import Problem
from core.features.submissions import package as packages
from core.features.submissions.package import Contents, add_base_events, explain_fusion
from core.features.submissions.parsed import UNKNOWN_RUN, RunProvenance
from core.features.submissions.rules import check
from core.runs.component_loader import default_dataset
from core.runs.dependencies import load_pairs
from core.runs.request import parse_row_selection, read_ids, select_rows
from core.runs.uploads_apart import read_apart
from core.runs.workspace import Workspace
from core.store import Cursor, calls, evidence, predictions, runs, traces
from core.store.predictions import RowFilter
from core.store.runs import Run

NEEDED = ("prompt_missing", "prompt_differs", "tools_missing")  # without these, no zip is written


@dataclass(frozen=True, slots=True)
class PackageOptions:
    """How to package a run.

    rows: as in `--rows`, "" for the test split if there is one. prompt: a file instead of the
    method's own texts. tools: a folder of *.py instead of those that the run asked. fusion_trace:
    add to each row's trace what a fusion left out.
    """

    track: Track
    rows: str = ""
    prompt: Path | None = None
    tools: Path | None = None
    fusion_trace: bool = False


@dataclass(frozen=True, slots=True)
class PackageResult:
    """The outcome of packaging; path and sha256 are None if nothing was written."""

    path: Path | None
    sha256: str | None
    problems: list[Problem]


@dataclass(frozen=True, slots=True)
class CheckedPackage:
    """The bytes of a package that is not written yet, and its problems."""

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
    """Return every problem of a submission's file or bytes, which are called `name` in messages.

    rows: which ids it should have. prompt: a file with the prompt that was run. run: the run that
    it was made from, whose facts are then checked too. Raise InputError for a file that cannot be
    opened, and if there is no dataset.
    """
    if workspace.settings.is_shared and isinstance(file, bytes) and prompt is None and run is None:
        found = read_apart(
            workspace, "check", [(name, file)], {"track": track, "dataset": dataset, "rows": rows}
        )
        return [
            Problem(rule, severity, tuple(rows), message) for rule, severity, rows, message in found
        ]
    content = file if isinstance(file, bytes) else read_file(file, MAX_UNPACKED_BYTES)
    facts = UNKNOWN_RUN
    with workspace.store.read() as db:
        if run is not None:
            found = runs.find_predicting(db, run)
            dataset = dataset or found.dataset
            line = runs.lineage(db, [found])
            facts = provenance_of(db, line, prompts_of(workspace, db, line))
    if prompt is not None:
        facts = replace_in(facts, prompt=_read_text(prompt), prompt_fault="")
    expected = expected_ids(workspace, default_dataset(workspace, dataset).id, rows)
    return check(content, name if isinstance(file, bytes) else file.name, track, expected, facts)


def check_task(
    workspace: Workspace, files: Sequence[tuple[str, bytes]], options: Mapping[str, Any]
) -> list[list[Any]]:
    """Check an upload in the process that reads it (`core.runs.upload_process`)."""
    [(name, content)] = files
    return [list(problem) for problem in check_file(workspace, content, name=name, **options)]


def expected_ids(workspace: Workspace, dataset: str, rows: str = "") -> tuple[str, ...]:
    """Return the ids that a submission should have, in order: of the test split if there is one,
    else of every row.

    rows: as in `--rows`; ids=FILE alone asks for them in that file's order. Raise InputError or
    NotFound for rows that cannot be.
    """
    known = load_pairs(workspace.store, dataset)
    chosen = parse_row_selection(rows)
    if chosen.ids is not None and chosen.split is None and chosen.sample is None:
        ids = read_ids(chosen.ids)
        unknown = [key for key in ids if key not in known]
        if unknown:
            raise NotFound(
                f"{chosen.ids}: {len(unknown):,} of {len(ids):,} ids are not in the dataset, such"
                f" as {unknown[0]!r}"
            )
        return ids
    test = any(pair.split == "test" for pair in known.values())
    return select_rows(
        list(known.values()), chosen if rows or not test else parse_row_selection("split=test")
    )


def check_run(workspace: Workspace, run: str, options: PackageOptions) -> CheckedPackage:
    """Return a run's package and its problems, before anything is written. Raise InputError for
    files that cannot be read."""
    with workspace.store.read() as db:
        found = runs.find_predicting(db, run)
    expected = expected_ids(workspace, found.dataset, options.rows)
    with workspace.store.read() as db:
        contents, facts = _contents(workspace, db, found, expected, options)
    content = packages.as_zip(contents)
    problems = check(content, f"{found.name}.zip", options.track, expected, facts)
    return CheckedPackage(content, problems)


def missing_parts(problems: Sequence[Problem]) -> list[str]:
    """Return the rules for which no package may be written: what the judge rejects, and a prompt
    and tools that are not those of the run."""
    return [each.rule for each in problems if each.severity == "rejected" or each.rule in NEEDED]


def package(
    workspace: Workspace, run: str, options: PackageOptions, out: Path, *, replace: bool = False
) -> PackageResult:
    """Write a run's package, unless parts are missing (`missing_parts`); the audit log names its
    SHA-256.

    Raise StateError if another file lies at `out`, unless `replace`, ReadOnly in a workspace that
    is.
    """
    workspace.refuse_if_read_only("package", run)
    checked = check_run(workspace, run, options)
    if missing_parts(checked.problems):
        return PackageResult(None, None, checked.problems)
    with zipfile.ZipFile(io.BytesIO(checked.content)) as archive:
        refuse_secrets(
            workspace.settings,
            f"package of {run}",
            (archive.read(name) for name in archive.namelist()),
        )
    sha256 = sha256_of(checked.content)
    with workspace.change("package", run) as (db, detail):
        detail |= {
            "run": runs.find(db, run).id,
            "track": options.track,
            "file": out.name,
            "sha256": sha256,
        }
        write_file(checked.content, out, replace=replace)
    return PackageResult(out, sha256, checked.problems)


def _contents(
    workspace: Workspace, db: Cursor, run: Run, expected: tuple[str, ...], options: PackageOptions
) -> tuple[Contents, RunProvenance]:
    """Return the contents of a run's package, and the provenance of the run."""
    line = runs.lineage(db, [run])
    prompts = _prompts(prompts_of(workspace, db, line), options.prompt)
    predicted = traces.rows(db, run.id)
    known = set(expected)
    rows = _add_fusion_trace(
        db, run, [predicted[key] for key in expected if key in predicted], options
    )
    contents = Contents(
        track=options.track,
        rows=rows,
        model=next((each.model for each in line if each.model), ""),
        method=run.method,
        prompt=prompts.text if options.prompt is None else _read_text(options.prompt),
        tools=tools_of(db, line) if options.tools is None else _read_tools(options.tools),
        distinct_tools=next(
            (counts for run in line if (counts := evidence.distinct_tools(db, run.id))), {}
        ),
    )
    facts = provenance_of(db, line, prompts)
    repeated = packages.repeated_rows(rows) if options.track == "A" else ()
    return contents, replace_in(
        facts,
        left_out=tuple(key for key in predicted if key not in known),
        fewer_seeds=(*facts.fewer_seeds, *repeated),
    )


def _prompts(prompts: Prompts, given: Path | None) -> Prompts:
    """Return the prompts of a lineage; a given file counts as what ran if it has the recorded
    hash."""
    if given is None or len(prompts.recorded) != 1:
        return prompts
    text = _read_text(given)
    is_recorded = any(
        sha256_of(version) == prompts.recorded[0] for version in (text, text.rstrip("\n"))
    )
    return Prompts(text, prompts.recorded) if is_recorded else prompts


def _add_fusion_trace(
    db: Cursor, run: Run, rows: list[RowResult], options: PackageOptions
) -> list[RowResult]:
    """Return rows with the events that a fusion left out of their traces, if the options ask for
    them."""
    if not options.fusion_trace:
        return rows
    base = run
    while base.method == "fusion" and base.parents:
        base = runs.find(db, base.parents[0])
        rows = add_base_events(rows, traces.rows(db, base.id))
    return explain_fusion(rows)


def _read_tools(folder: Path) -> dict[str, bytes]:
    if not folder.is_dir():
        raise InputError(
            f"{folder}: no such folder, expected a folder with the tools' Python files"
        )
    return {file.name: read_file(file, MAX_UNPACKED_BYTES) for file in sorted(folder.glob("*.py"))}


def _read_text(file: Path) -> str:
    try:
        return read_file(file, MAX_UNPACKED_BYTES).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(
            f"{file}: not UTF-8 ({error.reason} at byte {error.start:,}), expected a text"
        ) from error


def tools_of(db: Cursor, line: Sequence[Run]) -> dict[str, bytes]:
    """Return file name → source code of every evidence tool that the lineage's rows used, as far as
    it still exists."""
    used = {name for run in line for name in evidence.tools(db, run.id)}
    return {f"{name}.py": tool_file(name).read_bytes() for name in TOOLS if name in used}


def provenance_of(db: Cursor, line: Sequence[Run], prompts: Prompts) -> RunProvenance:
    """Return the facts about the first run of a lineage that rules check."""
    requests = [request for run in line for request in calls.request_settings(db, run.id)]
    models = [*(run.model for run in line), *(model for model, _, _ in requests)]
    sampling = {
        (heat, top_p) for _, heat, top_p in requests if heat is not None and top_p is not None
    }
    fewer_seeds = RowFilter(flags=(Flag.FEWER_SEEDS,))
    return RunProvenance(
        run=line[0].name,
        prompt=prompts.text,
        prompt_fault=prompts.fault,
        sampling=tuple(sorted(sampling)),
        models=tuple(dict.fromkeys(model for model in models if model)),
        learned=tuple(_learned_parts(line)),
        shots=max((int(run.spec.get("options", {}).get("shots", 0)) for run in line), default=0),
        fewer_seeds=tuple(
            dict.fromkeys(
                key for run in line for key in predictions.find_pair_ids(db, run.id, fewer_seeds)
            )
        ),
        changed="; ".join(_code_changes(line, list(missing_parents(db, line).values()))),
    )


def _learned_parts(line: Sequence[Run]) -> Iterator[str]:
    for run in line:
        if run.method == "knn":
            spaces = (
                run.spec.get("spaces") or run.spec.get("options", {}).get("spaces") or "unknown"
            )
            named = spaces if isinstance(spaces, str) else ", ".join(spaces)
            yield (
                f"{run.name}, a kNN over the training labels (gene spaces: {named}; state how they"
                " were made)"
            )
        elif run.method == "recovered":
            yield f"{run.name}, recovered from a fusion, whose training data are unknown"
        elif run.method in MADE_ELSEWHERE:
            what = "an external score" if run.method == EXTERNAL_SCORE else "predicted expression"
            yield f"{run.name}, {what}, whose training data are unknown"


def _code_changes(line: Sequence[Run], missing: Sequence[str]) -> Iterator[str]:
    if missing:
        yield f"made from {', '.join(missing)}, not in this workspace, so its origin is unknown"
    old = sorted({version_in(run.code_version) for run in line} - {__version__})
    if old:
        yield f"made by version {', '.join(old)}; prompt and tools are those of {__version__}"
