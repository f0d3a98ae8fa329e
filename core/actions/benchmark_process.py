"""Starts a benchmark in a process of its own, which outlives the page that started it."""

from __future__ import annotations

from core.actions import jobs
from core.actions.benchmarks import PAGE, job_of, save_benchmark
from core.actions.workspace import Workspace
from core.experiments.benchmark_spec import BenchmarkSpec
from core.file_io import replace_file


def start_apart(workspace: Workspace, spec: BenchmarkSpec) -> None:
    """Starts a benchmark in a process that outlives this one, or goes on with it; one that a process is on stays as it is.

    Raises what `run_benchmark` raises before its first run, and StateError if the process ends before it begins.
    """
    workspace.refuse_if_read_only("benchmark", spec.name)
    save_benchmark(workspace, spec)
    _start_process(workspace, spec)


def _start_process(workspace: Workspace, spec: BenchmarkSpec) -> None:
    folder = job_of(workspace, spec.name)
    folder.path.mkdir(parents=True, exist_ok=True)
    file = folder.path / "spec.toml"
    replace_file(file, spec.text.encode())
    jobs.start(workspace, folder, PAGE, ("benchmark", str(file), "--name", spec.name))
