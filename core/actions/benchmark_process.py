"""Starts a benchmark in a process of its own, which outlives the page that started it."""

from __future__ import annotations

import subprocess
import sys
import threading

from core.actions.benchmarks import save_benchmark
from core.actions.workspace import Workspace
from core.config import REPOSITORY, environment_of
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
    command = (sys.executable, "-m", "core", "--workspace", str(workspace.settings.workspace), "benchmark", str(file))
    with (folder / f"{key}.log").open("ab") as log:
        process = subprocess.Popen(
            (*command, "--name", spec.name),
            cwd=REPOSITORY,
            env=environment_of(workspace.settings),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    threading.Thread(target=process.wait, daemon=True).start()  # so that no zombie is left
