"""Starts a benchmark in a process of its own, which outlives the page that started it."""

from __future__ import annotations

from core.actions.benchmarks import save_benchmark
from core.actions.process_apart import start_command
from core.actions.workspace import Workspace
from core.engine.spec import KEY_DIGITS, sha256_of
from core.experiments.benchmark_spec import BenchmarkSpec
from core.file_io import replace_file


def start_apart(workspace: Workspace, spec: BenchmarkSpec) -> None:
    """Starts a benchmark in a process that outlives this one; its log is data/benchmarks/KEY.log.

    Raises what `run_benchmark` raises before its first run.
    """
    workspace.refuse_if_read_only("benchmark", spec.name)
    save_benchmark(workspace, spec)
    _start_process(workspace, spec)


def _start_process(workspace: Workspace, spec: BenchmarkSpec) -> None:
    folder = workspace.settings.data / "benchmarks"
    folder.mkdir(parents=True, exist_ok=True)
    key = sha256_of(spec.name)[:KEY_DIGITS]
    file = folder / f"{key}.toml"
    replace_file(file, spec.text.encode())
    start_command(workspace, ("benchmark", str(file), "--name", spec.name), folder / f"{key}.log")
