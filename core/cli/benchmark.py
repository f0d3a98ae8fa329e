"""Commands about experiments with arms: benchmark, plan."""

from __future__ import annotations

from dataclasses import replace as replaced
from pathlib import Path
from typing import Annotated

import typer

from core.actions import benchmarks, ledger
from core.actions.benchmark_ledger import looked_lines
from core.actions.benchmark_plans import plan_inputs
from core.cli.base import Json, say_arm, show, show_scores
from core.experiments import benchmark_words
from core.experiments.benchmark_report import report_benchmark
from core.experiments.benchmark_spec import BenchmarkSpec, read_benchmark
from core.experiments.benchmark_words import benchmark_lines
from core.experiments.ledger import line_of_benchmark
from core.experiments.ledger_words import benchmark_sentence, line_record
from core.experiments.plan_words import plan_json, plan_lines
from core.experiments.planning import plan_benchmark
from core.texts import check_name

app = typer.Typer()

SpecFile = Annotated[Path, typer.Argument(metavar="SPEC.toml", help="The specification: rows, folds, arms, decision rule.")]


def _read(file: Path, name: str | None) -> BenchmarkSpec:
    spec = read_benchmark(file)
    if name is None:
        return spec
    check_name("benchmark", name)
    return replaced(spec, name=name)


@app.command()
def benchmark(
    context: typer.Context,
    file: SpecFile,
    name: Annotated[str | None, typer.Option(help="By default the file's.")] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Replace a benchmark, and runs, of these names.")] = False,
    as_json: Json = False,
) -> None:
    """Run a blinded paired benchmark: every arm a run, compared inside the same cells. Interrupted, the same command resumes."""
    spec = _read(file, name)
    saved = benchmarks.run_benchmark(context.obj, spec, overwrite=replace, progress=say_arm)
    with context.obj.store.read() as db:
        found = report_benchmark(db, saved.spec, saved.dataset, saved.rows, saved.runs)
    looked = looked_lines(context.obj, found)
    line = line_of_benchmark(ledger.list_lines(context.obj), spec.name) if spec.hypothesis else None
    lines = [*benchmark_lines(found), *looked, *([benchmark_sentence(line, spec.name)] if line else [])]
    shape = {**benchmark_words.benchmark(found), "hypothesis": None if line is None else line_record(line)}
    show_scores(found.dataset.marks, shape, as_json, "\n".join(lines))


@app.command()
def plan(context: typer.Context, file: SpecFile, as_json: Json = False) -> None:
    """Say how many rows and tokens a benchmark takes to see its smallest effect."""
    spec = read_benchmark(file)
    inputs = plan_inputs(context.obj, spec)
    with context.obj.store.read() as db:
        found = plan_benchmark(db, spec, inputs)
    show(plan_json(found), as_json, "\n".join(plan_lines(found)))
