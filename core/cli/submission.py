"""Commands about what leaves the workspace: check, package, bundle."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from core.actions import bundles, submissions
from core.cli.base import Json, RunName, say, show
from core.submission.check import is_valid
from core.submission.rules.registry import Problem, list_names
from core.types import Track

app = typer.Typer()

Rows = Annotated[str, typer.Option(help='Which ids it should have, such as "ids=FILE"; by default the test split\'s.')]


@app.command("check")
def check_(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A CSV, or a zip.")],
    track: Annotated[Track, typer.Option(help="A, B or C.")],
    dataset: Annotated[str | None, typer.Option(help="By default the only one that is not the demo.")] = None,
    rows: Rows = "",
    prompt: Annotated[Path | None, typer.Option(help="The prompt that was run, to compare prompt.txt with.")] = None,
    run: Annotated[str | None, typer.Option(help="The run it was made from, whose facts are then checked too.")] = None,
    as_json: Json = False,
) -> None:
    """Every problem of a submission. Exit 0 whether it is valid or not; 1 only where the file cannot be opened, or there is
    no dataset to hold it against."""
    found = submissions.check_file(context.obj, file, track, dataset=dataset, rows=rows, prompt=prompt, run=run)
    valid = is_valid(found)
    told = f"{file}: {'valid' if valid else 'not valid'} for track {track}"
    show({"valid": valid, "problems": _records(found)}, as_json, "\n".join([told, *_lines(found)]))


@app.command()
def package(
    context: typer.Context,
    run: RunName,
    track: Annotated[Track, typer.Option(help="A, B or C.")],
    out: Annotated[Path, typer.Option(help="The zip to write.")],
    rows: Rows = "",
    prompt: Annotated[Path | None, typer.Option(help="A prompt.txt, where the run does not know its own.")] = None,
    tools: Annotated[Path | None, typer.Option(help="A folder of tools, instead of those that the run asked.")] = None,
    fusion_trace: Annotated[bool, typer.Option("--fusion-trace", help="Add to each trace what a fusion left out.")] = False,
    replace: Annotated[bool, typer.Option("--replace", help="Over another file of that name.")] = False,
    as_json: Json = False,
) -> None:
    """Write a run as a submission. With errors nothing is written, and the exit is 1."""
    wanted = submissions.PackageOptions(track, rows, prompt, tools, fusion_trace)
    made = submissions.package(context.obj, run, wanted, out, replace=replace)
    told = f"{made.path}: {made.sha256}" if made.path else f"{run}: not packaged"
    result = {"path": str(made.path) if made.path else None, "sha256": made.sha256, "problems": _records(made.problems)}
    show(result, as_json, "\n".join([told, *_lines(made.problems)]))
    if made.path is None:
        errors = sum(problem.severity == "error" for problem in made.problems)
        say(f"error: {run}: {_counted(errors, 'error')}, so nothing was written to {out}")
        raise typer.Exit(1)


@app.command()
def bundle(
    context: typer.Context,
    run: RunName,
    out: Annotated[Path, typer.Option(help="The file to write.")],
    replace: Annotated[bool, typer.Option("--replace", help="Over another file of that name.")] = False,
    as_json: Json = False,
) -> None:
    """Write a run with its predictions, traces, evidence, calls and notes as one file, for `import` elsewhere."""
    made = bundles.write_bundle_file(context.obj, run, out, replace=replace)
    result = {"path": str(out), "sha256": made.sha256, "problems": _records(made.problems)}
    show(result, as_json, "\n".join([f"{out}: {made.sha256}", *_lines(made.problems)]))


def _records(problems: Sequence[Problem]) -> list[dict[str, Any]]:
    return [{**problem._asdict(), "rows": list(problem.rows)} for problem in problems]


def _lines(problems: Sequence[Problem]) -> list[str]:
    """Errors, then warnings, each with how many rows it names and the first of them."""
    lines = []
    for severity in ("error", "warning"):
        ours = [problem for problem in problems if problem.severity == severity]
        lines += [_counted(len(ours), severity)] if ours else []
        for problem in ours:
            lines.append(f"  {problem.rule}: {problem.message}")
            if problem.rows:
                lines.append(f"    {_counted(len(problem.rows), 'row')}: {list_names(problem.rows)}")
    return lines


def _counted(n: int, what: str) -> str:
    return f"{n:,} {what}{'' if n == 1 else 's'}"
