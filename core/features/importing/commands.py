"""Commands that bring rows in and take them out: import, fetch, undo, export."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from operator import attrgetter
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Literal

import typer

from core.base.errors import InputError
from core.base.file_io import write_by
from core.base.result import plain
from core.base.texts import printable, table_lines
from core.cli.base import Out, Output, Replace, RunName, say, say_progress, show, show_list, working

if TYPE_CHECKING:
    from core.features.importing import actions as imports
    from core.features.importing.preview import Preview

_MOST_SAID = 20  # rejected rows of each reason

app = typer.Typer()


@app.command("import")
def import_(
    context: typer.Context,
    paths: Annotated[list[Path], typer.Argument(help="Files or folders; recognised by content.")],
    name: Annotated[
        str | None, typer.Option(help="Name of the run, or of the dataset for files of pairs.")
    ] = None,
    dataset: Annotated[
        str | None,
        typer.Option(help="The dataset that the rows belong to."),
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Refuse a file if one of its rows is bad.")
    ] = False,
    replace: Replace = False,
    de: Annotated[
        str | None, typer.Option(help="External scores: the column that ranks rows by an effect.")
    ] = None,
    direction: Annotated[
        str | None, typer.Option("--dir", help="External scores: the column that ranks them by up.")
    ] = None,
    column: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ROLE=NAME", help="Tables: which column is what; the others are guessed."
        ),
    ] = None,
    where: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN=VALUE", help="Tables: only the rows with this value."),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print what would be imported; write nothing.")
    ] = False,
    recursive: Annotated[
        bool,
        typer.Option(
            "--recursive",
            help=(
                "Read a folder completely even if it is a disk's root, contains the home folder or"
                " is huge."
            ),
        ),
    ] = False,
) -> None:
    """Import challenge files, submissions, bundles of runs, logs of Inspect AI, PerturbQA,
    knowledge packs and gene spaces.

    External scores are a CSV of ids and columns of numbers. Each column becomes a run, unless --de
    and --dir name columns."""
    from core.features.importing import actions as imports
    from core.features.importing.roles import TableOptions

    table = TableOptions(_pairs("--column", column or ()), _pairs("--where", where or ()))
    options = imports.ImportOptions(name, dataset, strict, replace, de, direction, table)
    if dry_run:
        from core.features.importing.preview import preview_paths

        show_previews(preview_paths(context.obj, paths, options, recursive=recursive))
        return

    with working("looking for files") as step:

        def say_file(share: float, what: str) -> None:
            step(f"{share:4.0%} {what}")

        found = imports.import_paths(
            context.obj, paths, options, recursive=recursive, on_file=say_file
        )
    show_imports(found)


def _pairs(option: str, texts: Sequence[str]) -> dict[str, str]:
    values = dict[str, str]()
    for text in texts:
        name, _, value = text.partition("=")
        if not name or not value:
            raise InputError(f"{option} {text}: expected a name, = and a value")
        values[name] = value
    return values


def show_previews(made: Sequence[Preview]) -> None:
    """Print what an import would do; exit with 1 if a file could not be imported."""
    lines: list[str] = []
    for preview in made:
        lines += [
            f"{preview.path}: {preview.sentence or preview.kind}",
            *table_lines(preview.lines()),
        ]
        lines += [f"{preview.rejected:,} rows rejected"] * bool(preview.rejected)
        lines += preview.notes
        if preview.message:
            say(preview.message)
    show({"preview": [plain(preview) for preview in made]}, "\n".join(map(printable, lines)))
    if any(preview.fails for preview in made):
        raise typer.Exit(1)


@app.command()
def fetch(
    context: typer.Context,
    group: Annotated[
        str, typer.Argument(metavar="challenge|published|perturbqa", help="Which files.")
    ],
) -> None:
    """Download public files, pinned and checked, and import them."""
    from core.features.importing import actions as imports

    show_imports(imports.fetch_and_import(context.obj, group, _say_progress))


def _say_progress(name: str, done: int, total: int) -> None:
    if done in (0, total):
        say_progress(f"{name}: {done:,} of {total:,} bytes")


def show_imports(outcomes: list[imports.Imported]) -> None:
    """Print what came of each file; exit with 1 if one of them was not imported."""
    records = []
    for outcome in outcomes:
        if outcome.message:
            is_named = outcome.path in outcome.message
            say(outcome.message if is_named else f"{outcome.path}: {outcome.message}")
        n_rows = Counter[str]()
        for row in outcome.rejected:
            n_rows[row.reason] += 1
            if n_rows[row.reason] <= _MOST_SAID:
                say(f"{row.file}, line {row.line}: {row.reason}: {row.detail}")
        for reason, n in n_rows.items():
            if n > _MOST_SAID:
                say(f"{outcome.path}: {reason}: {n - _MOST_SAID:,} more rows")
        records.append(
            {
                "path": outcome.path,
                "kind": outcome.kind,
                "name": outcome.name,
                "rows": outcome.rows,
                "new": outcome.new,
                "organism": outcome.organism,
                "rejected": len(outcome.rejected),
            }
        )
    show_list("imported", records, ("kind", "name", "rows", "rejected", "path"), "")
    if "failed" in map(attrgetter("kind"), outcomes):
        raise typer.Exit(1)


@app.command()
def undo(
    context: typer.Context,
    what: Annotated[
        str,
        typer.Argument(
            metavar="IMPORT",
            help="An import's id, file name or run.",
        ),
    ],
    with_runs: Annotated[
        bool, typer.Option("--with-runs", help="Also delete the runs that predict its rows.")
    ] = False,
) -> None:
    """Undo an import: delete its rows and runs."""
    from core.features.importing import imported_rows

    done = imported_rows.undo(context.obj, what, with_runs=with_runs)
    show(
        {"undone": done.file, "kind": done.kind, "rows": done.rows},
        f"{done.file}: undone, {done.rows:,} rows",
    )


@app.command()
def export(
    context: typer.Context,
    run: RunName,
    form: Annotated[
        Literal["csv", "parquet", "jsonl", "eval", "bundle"],
        typer.Option(
            "--format",
            help=(
                "The format of the rows, or a bundle: the run with all its parts, for `import`"
                " elsewhere."
            ),
        ),
    ] = "csv",
    with_traces: Annotated[
        bool, typer.Option("--traces", help="Trace events instead of predictions.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option(help="The file to write; without it, standard output.")
    ] = None,
    replace: Replace = False,
) -> None:
    """Write a run's predictions or traces; as eval, both, as a log that Inspect AI reads.

    As bundle, everything: predictions, traces, evidence, calls and notes.
    """
    from core.features.importing.bundle_actions import write_bundle_file
    from core.features.importing.export import export_into
    from core.features.importing.problems import problem_lines, problem_records

    if out is None and (form in ("parquet", "eval", "bundle") or Output.as_json):
        raise InputError(
            f"export {run}: --format {form}{' --json' if Output.as_json else ''} needs --out FILE"
        )
    if form == "bundle":
        assert out is not None
        if with_traces:
            raise typer.BadParameter(
                "has no effect on a bundle, which holds the traces", param_hint="--traces"
            )
        written = write_bundle_file(context.obj, run, out, replace=replace)
        problems = problem_records(written.problems)
        show(
            {"path": str(out), "sha256": written.sha256, "problems": problems},
            "\n".join([f"{out}: {written.sha256}", *problem_lines(written.problems)]),
        )
        return

    def write_to(file: IO[bytes]) -> int:
        return export_into(file, context.obj, run, form, with_traces=with_traces)

    if out is None:
        write_to(sys.stdout.buffer)
        return
    n = write_by(write_to, out, replace=replace)
    show({"path": str(out), "rows": n}, f"{out}: {n:,} rows")


@app.command()
def backup(
    context: typer.Context,
    out: Out,
    replace: Replace = False,
) -> None:
    """Write the whole workspace to one file, also while runs write."""
    from core.features.importing import backups

    written = backups.back_up(context.obj, out, replace=replace)
    result = {"path": str(out), "sha256": written.sha256}
    show(result, f"{out}: {written.runs:,} runs, SHA-256 {written.sha256}")


@app.command()
def restore(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A file that `backup` wrote.")],
) -> None:
    """Make an empty workspace the one of a backup."""
    from core.features.importing import backups

    restored = backups.restore(context.obj, file)
    place = context.obj.settings.workspace
    result = {"path": str(file), "sha256": restored.sha256}
    show(result, f"{place}: {restored.runs:,} runs from {file}")
