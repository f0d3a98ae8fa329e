"""Benchmarks that were started here, and what they found."""

from __future__ import annotations

from core.actions import benchmarks
from core.actions.benchmark_plans import plan_inputs
from core.actions.benchmarks import SavedBenchmark
from core.experiments.benchmark_report import BenchmarkReport, report_benchmark
from core.experiments.benchmark_spec import parse_benchmark
from core.experiments.planning import BenchmarkPlan, plan_benchmark
from core.ui.shared.loaders.cache import cache_by, reading
from core.ui.shared.loaders.records import all_presets
from core.ui.shared.server_workspace import read_workspace


@cache_by("presets", entries=1)
def saved_benchmarks() -> list[SavedBenchmark]:
    """Every benchmark that was started here, by name."""
    return [benchmarks.read_saved(values) for values in all_presets(benchmarks.PAGE).values()]


@cache_by("presets", "runs", "datasets", entries=8, shared=True)
def benchmark_report(name: str) -> BenchmarkReport:
    """What a benchmark found, whose runs are all done. Raises NotFound, StateError."""
    saved = benchmarks.find_saved(read_workspace(), name)
    with reading() as db:
        return report_benchmark(db, saved.spec, saved.dataset, saved.rows, saved.runs)


@cache_by("presets", "runs", "datasets", "spaces", entries=8)
def benchmark_plan(text: str) -> BenchmarkPlan:
    """The plan of a specification. Raises InputError for a wrong one, and without runs to take variances from."""
    spec = parse_benchmark(text)
    inputs = plan_inputs(read_workspace(), spec)
    with reading() as db:
        return plan_benchmark(db, spec, inputs)
