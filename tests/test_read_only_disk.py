"""A workspace on a disk that nobody can write to: what reads works, what writes says why not."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.actions.workspace import Workspace
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
    ["bundle", RUN, "--out", "ELSEWHERE/run.zip"],
]
WRITING = [
    ["import", "ELSEWHERE"],
    ["rename", RUN, "other"],
    ["set", RUN, "note=x"],
    ["delete", RUN],
    ["undo", "debate.csv"],
    ["run", "evidence_rules"],
    ["export", RUN, "--out", "HERE/rows.csv"],
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
    return [argument.replace("ELSEWHERE", str(elsewhere)).replace("HERE", str(disk)) for argument in arguments]


@pytest.mark.parametrize("arguments", READING, ids=" ".join)
def test_what_reads_works(disk: Path, tmp_path: Path, arguments: list[str]) -> None:
    done = commands.core(disk, *fill_in(arguments, disk, tmp_path))
    assert done.status == 0, done.err
    assert "Traceback" not in done.err


def test_it_says_what_it_says_elsewhere(disk: Path, demo_workspace: Workspace) -> None:
    there = demo_workspace.settings.workspace
    assert commands.core_json(disk, "runs") == commands.core_json(there, "runs")
    assert commands.core_json(disk, "score", RUN) == commands.core_json(there, "score", RUN)


@pytest.mark.parametrize("arguments", WRITING, ids=" ".join)
def test_what_writes_says_why_not(disk: Path, tmp_path: Path, arguments: list[str]) -> None:
    done = commands.core(disk, *fill_in(arguments, disk, tmp_path))
    assert done.status == 1
    [line] = [line for line in done.err.splitlines() if line.startswith("error: ")]
    assert "read-only" in line or "open for reading only (this user cannot write to its disk)" in line


def test_a_disk_without_a_workspace(disk: Path) -> None:
    done = commands.core(disk / "data" / "embeddings", "runs")
    assert (done.status, done.err.count("\n")) == (1, 1)
    assert "the file system is read-only; choose another place, or mount it for writing" in done.err
