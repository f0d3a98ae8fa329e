"""Commands about what leaves the workspace: check, package."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from core.base.texts import list_names
from core.base.types import Track
from core.cli.base import DatasetName, Out, Replace, RunName, say, show
from core.features.importing.problems import problem_lines, problem_records

app = typer.Typer()

Rows = Annotated[
    str,
    typer.Option(help='The expected ids, such as "ids=FILE"; by default those of the test split.'),
]


@app.command("check")
def check_(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A CSV, or a zip.")],
    track: Annotated[Track, typer.Option(help="A, B or C.")],
    dataset: DatasetName = None,
    rows: Rows = "",
    prompt: Annotated[
        Path | None, typer.Option(help="The prompt that was run, to compare prompt.txt with.")
    ] = None,
    run: Annotated[
        str | None,
        typer.Option(
            help="The run it was made from; its provenance is checked too.",
        ),
    ] = None,
) -> None:
    """List every problem of a submission. The exit status is 0 whether it is valid or not.

    It is 1 only if the file cannot be opened or there is no dataset to check it against."""
    from core.features.submissions import actions as submissions
    from core.features.submissions.rules import is_valid

    problems = submissions.check_file(
        context.obj, file, track, dataset=dataset, rows=rows, prompt=prompt, run=run
    )
    valid = is_valid(problems)
    verdict = f"{file}: {'valid' if valid else 'not valid'} for track {track}"
    show(
        {"valid": valid, "problems": problem_records(problems)},
        "\n".join([verdict, *problem_lines(problems)]),
    )


@app.command()
def package(
    context: typer.Context,
    run: RunName,
    track: Annotated[Track, typer.Option(help="A, B or C.")],
    out: Out,
    rows: Rows = "",
    prompt: Annotated[
        Path | None, typer.Option(help="A prompt.txt, for a run that did not record its prompt.")
    ] = None,
    tools: Annotated[
        Path | None, typer.Option(help="A folder of tools to use instead of the run's own.")
    ] = None,
    fusion_trace: Annotated[
        bool, typer.Option("--fusion-trace", help="Add the fusion's arithmetic to each trace.")
    ] = False,
    replace: Replace = False,
) -> None:
    """Write a run as a submission. Nothing is written, and the exit status is 1, without its prompt
    or its tools, or if the judge would reject it."""
    from core.features.submissions import actions as submissions

    options = submissions.PackageOptions(track, rows, prompt, tools, fusion_trace)
    package = submissions.package(context.obj, run, options, out, replace=replace)
    path = str(package.path) if package.path else None
    headline = f"{path}: {package.sha256}" if path else f"{run}: not packaged"
    result = {"path": path, "sha256": package.sha256, "problems": problem_records(package.problems)}
    show(result, "\n".join([headline, *problem_lines(package.problems)]))
    if path is None:
        missing = list_names(submissions.missing_parts(package.problems))
        say(f"error: {run}: {missing}, so nothing was written to {out}")
        raise typer.Exit(1)
