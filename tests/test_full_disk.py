"""Commands on a disk without space: what reads works, what writes says how much is free and where, and nothing is torn."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.runs.workspace import Workspace
from tests import cases, commands, mounts
from tests.little_demo import at_a_sixth

MB = 1 << 20
READING = [
    "runs",
    "doctor",
    "score debate",
    "audit debate debate",
    "export debate",
    "embed list",
]
WRITING = [
    "import FILE",
    "runs rename debate other",
    "runs set debate note=x",
    "demo",
    "run evidence_rules",
    "export debate --format bundle --out DISK/run.zip",
    "export debate --out DISK/rows.csv",
    "fetch challenge",
    "undo debate.csv",
    "runs delete debate",
    "embed load SPACE --name x",
    "report new another --runs debate",
    "report build saved --out DISK/report.html",
    "report site debate --out DISK/site",
    "backup --out DISK/backup.tar",
    "export debate --format eval --out DISK/run.eval",
]


def files_on(disk: Path) -> set[str]:
    """Files below a workspace; a log and the files that readers lock are nobody's work."""
    names = {str(file.relative_to(disk)) for file in disk.rglob("*") if file.is_file()}
    return {name for name in names if ".lock" not in name and "desk.log" not in name}


LOCKS = ("with its lock", "without")


@pytest.fixture(params=LOCKS)
def disk(
    request: pytest.FixtureRequest, small_workspace: Workspace, tmp_path: Path
) -> Iterator[Path]:
    """A workspace on a full disk; the file that readers lock may be there or not."""
    place = small_workspace.settings.workspace
    assert commands.core(place, "report new saved --runs debate").status == 0
    with mounts.small_disk(tmp_path / "disk", 24 * MB) as folder:
        shutil.copytree(small_workspace.settings.workspace, folder / "workspace")
        if request.param == "without":
            for file in (folder / "workspace" / "data").glob("desk.duckdb.lock*"):
                file.unlink()
        mounts.fill(folder)
        yield folder / "workspace"


@pytest.mark.soak
def test_what_reads_works(disk: Path) -> None:
    for command in READING:
        done = commands.core(disk, command)
        assert (done.status, "Traceback" in done.err) == (0, False), (command, done.err)


@pytest.mark.parametrize(
    "disk", [LOCKS[0], pytest.param(LOCKS[1], marks=pytest.mark.soak)], indirect=True
)
def test_what_writes_says_how_much_is_free_and_where(
    disk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "more.csv").write_bytes(
        cases.as_csv(["id", "pert", "gene"], [[f"P{i}_G", f"P{i}", "G"] for i in range(500)])
    )
    monkeypatch.setenv(
        "PERTURBDESK_MIRROR", "http://127.0.0.1:9"
    )  # nobody answers there, if the disk is ever reached
    (tmp_path / "space.csv").write_text("symbol,x\nPa,1\nPb,2\nGa,3\n")
    before, files = commands.core_json(disk, "runs"), files_on(disk)
    for command in WRITING:
        given = (
            command.replace("FILE", str(tmp_path / "more.csv"))
            .replace("DISK", str(disk))
            .replace("SPACE", str(tmp_path / "space.csv"))
        )
        with at_a_sixth():
            done = commands.core(disk, given)
        assert done.status == 1, command
        line = done.err.splitlines()[-1]
        assert "Traceback" not in done.err
        if command != "fetch challenge":
            assert re.search(
                r"no space left on the disk \(0\.0 MB are free in /.*\); free some space and try again",
                line,
            ), line
    assert commands.core_json(disk, "runs") == before
    assert files_on(disk) - files <= {"data/desk.duckdb.wal"}  # the store's own, which is empty
    (disk.parent / "filler").unlink()
    for arguments in (
        ["report", "build", "saved", "--out", str(disk / "report.html")],
        ["backup", "--out", str(disk / "backup.tar")],
        ["embed", "load", str(tmp_path / "space.csv"), "--name", "x"],
        ["runs", "rename", "debate", "other"],
    ):
        assert commands.core(disk, *arguments).status == 0
    assert commands.core_json(disk, "score", "other")["n"] == 4
