"""A workspace on a disk that nobody can write to: what reads works, what writes says why not."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.runs.workspace import Workspace
from core.store import runs
from tests import commands, mounts

RUN = "simulated debate"
READING = [
    ["runs"],
    ["doctor"],
    ["score", RUN],
    ["score", RUN, "--by", "split"],
    ["compare", RUN, "simulated collapsed debate"],
    ["controls", RUN],
    ["baselines", "--dataset", "simulated", "--split", "train"],
    ["audit", "debate", RUN],
    ["audit", "leakage"],
    ["embed", "list"],
    ["knn", "--space", "simulated", "--permutations", "0"],
    ["export", RUN, "--out", "ELSEWHERE/rows.csv"],
    ["export", RUN, "--format", "bundle", "--out", "ELSEWHERE/run.zip"],
]
WRITING = [
    ["import", "ELSEWHERE"],
    ["runs", "rename", RUN, "other"],
    ["runs", "set", RUN, "note=x"],
    ["runs", "delete", RUN],
    ["undo", "debate.csv"],
    ["run", "evidence_rules"],
    ["export", RUN, "--out", "HERE/rows.csv"],
    ["export", RUN, "--format", "bundle", "--out", "HERE/run.zip"],
    ["embed", "load", "ELSEWHERE", "--name", "x"],
    ["report", "new", "another", "--runs", RUN],
    ["report", "site", RUN, "--out", "HERE/site"],
    ["backup", "--out", "HERE/backup.tar"],
]


@pytest.fixture(scope="module")
def disk(demo_workspace: Workspace, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The demo on a read-only disk, left without the files that readers use beside the store."""
    place = tmp_path_factory.mktemp("disk") / "workspace"
    shutil.copytree(demo_workspace.settings.workspace, place)
    shutil.rmtree(place / "cache", ignore_errors=True)
    for file in (place / "data").glob("desk.duckdb.lock*"):
        file.unlink()
    with mounts.read_only(place):
        yield place


def fill_in(arguments: list[str], disk: Path, elsewhere: Path) -> list[str]:
    return [
        argument.replace("ELSEWHERE", str(elsewhere)).replace("HERE", str(disk))
        for argument in arguments
    ]


@pytest.mark.soak
@pytest.mark.parametrize("arguments", READING, ids=" ".join)
def test_what_reads_works(disk: Path, tmp_path: Path, arguments: list[str]) -> None:
    done = commands.core(disk, *fill_in(arguments, disk, tmp_path))
    assert done.status == 0, done.err
    assert "Traceback" not in done.err


@pytest.mark.soak
def test_it_says_what_it_says_elsewhere(disk: Path, demo_workspace: Workspace) -> None:
    there = demo_workspace.settings.workspace
    assert commands.core_json(disk, "runs") == commands.core_json(there, "runs")
    assert commands.core_json(disk, "score", RUN) == commands.core_json(there, "score", RUN)


@pytest.mark.few(6)
@pytest.mark.parametrize("arguments", WRITING, ids=" ".join)
def test_what_writes_says_why_not(disk: Path, tmp_path: Path, arguments: list[str]) -> None:
    done = commands.core(disk, *fill_in(arguments, disk, tmp_path))
    assert done.status == 1
    [line] = [line for line in done.err.splitlines() if line.startswith("error: ")]
    assert (
        "read-only" in line or "open for reading only (this user cannot write to its disk)" in line
    )


def test_a_disk_without_a_workspace(disk: Path) -> None:
    done = commands.core(disk / "data" / "embeddings", "runs")
    assert (done.status, done.err.count("\n")) == (1, 1)
    assert "the file system is read-only; choose another place, or mount it for writing" in done.err


@pytest.mark.soak
def test_a_run_whose_worker_was_killed_is_crashed_there_too(
    small_workspace: Workspace, tmp_path: Path
) -> None:
    """The store still says that it is running, and cannot be told otherwise."""
    place = small_workspace.settings.workspace
    assert commands.core(place, "run evidence_rules --name killed").status == 0
    with small_workspace.store.write() as db:
        run = runs.find(db, "killed").id
        runs.change_by_worker(db, run, status="running")
    small_workspace.run_folder(run).done.unlink()
    os.utime(small_workspace.run_folder(run).heartbeat, (0, 0))
    copy = tmp_path / "copy"
    shutil.copytree(place, copy)
    with mounts.read_only(copy):
        for command in (["runs"], ["doctor"], ["log", "killed"]):
            assert commands.core(copy, *command).status == 0
        found = {each["name"]: each["status"] for each in commands.core_json(copy, "runs")["runs"]}
    assert found["killed"] == "crashed"
