"""The kinds of arguments of the 7,497 answers over the labelled pool: seconds, memory, and how well they hold."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time

import pytest

from core.actions.imports import import_paths
from core.actions.workspace import Workspace, open_workspace
from core.config import REPOSITORY, Settings
from soak.conftest import Record
from tests.conftest import SHARED_DATA

RUN, ANSWERS = "track_a_logprobs_train2499", 7_497
MOST_S, MOST_MB = 30, 2_000  # on two cores


@pytest.fixture(scope="module")
def pool(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """The challenge with the published run; skipped where the files are absent."""
    if not SHARED_DATA.is_dir():
        pytest.skip(f"needs the published files in {SHARED_DATA}")
    workspace = open_workspace(Settings(workspace=tmp_path_factory.mktemp("pool"), author="tester"))
    import_paths(workspace, [SHARED_DATA / "challenge", SHARED_DATA / "perturbagent" / f"{RUN}.zip"])
    return workspace


@pytest.mark.parametrize("method", ["kmeans", "hdbscan"])
def test_kinds_of_the_pool(pool: Workspace, record: Record, method: str) -> None:
    command = [sys.executable, "-m", "core", "--workspace", str(pool.settings.workspace), "clusters", RUN, "--json"]
    began = time.monotonic()
    process = subprocess.Popen([*command, "--method", method], cwd=REPOSITORY, stdout=subprocess.PIPE, preexec_fn=two_cores)
    assert process.stdout is not None
    found = json.loads(process.stdout.read())
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    took_s, peak_mb = time.monotonic() - began, used.ru_maxrss / 1024
    kinds = [cluster for cluster in found["clusters"] if not cluster["without"]]
    agreements = {each["over"]: f"{each['adjusted_rand']:.2f}" for each in found["agreements"]}
    record(
        method=method,
        kinds=len(kinds),
        took_s=f"{took_s:.1f}",
        cpu_s=f"{cpu_s(used):.1f}",
        peak_mb=f"{peak_mb:.0f}",
        **agreements,
    )
    assert process.returncode == 0
    assert found["n"] == sum(cluster["n"] for cluster in found["clusters"]) == ANSWERS
    assert -1 <= found["stability"] <= 1
    assert all(cluster["words"] and len(cluster["examples"]) == 5 for cluster in kinds)
    assert took_s <= MOST_S
    assert peak_mb < MOST_MB


def two_cores() -> None:
    """Leaves this process two of the cores that it has."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])


def cpu_s(used: resource.struct_rusage) -> float:
    return used.ru_utime + used.ru_stime
