"""Commands that are killed at the moment at which their work would get its name: nothing half-made has it, and the next one works."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from core.base.config import REPOSITORY
from core.runs.workspace import Workspace
from tests import cases, commands

# Runs a command, and kills it as soon as a file is to be renamed, or the store to be changed.
KILLED = """
import os, signal, sys
from pathlib import Path
from core.store.connection import Store

def die(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)

moment = sys.argv.pop(1)
if moment == "rename":
    os.rename = os.replace = Path.rename = Path.replace = die
elif moment == "second rename":
    rename, names = Path.rename, []

    def once(path, target):
        names.append(path.name)
        return rename(path, target) if len(names) == 1 else die()

    Path.rename = once
else:
    from core.runs.workspace import Workspace
    change = Workspace.change
    from contextlib import contextmanager

    @contextmanager
    def changing(*arguments, **more):
        with change(*arguments, **more) as found:
            yield found
            die()

    Workspace.change = changing
from core.cli import main
main()
"""
FILES = {
    "bundle": "export debate --format bundle --out OUT/run.zip",
    "log": "export debate --format eval --out OUT/run.eval",
    "table": "export debate --out OUT/run.csv",
    "report": "report build saved --out OUT/report.html",
    "slides": "report build saved --slides --out OUT/slides.html",
    "site": "report site debate --out OUT/site",
    "backup": "backup --out OUT/backup.tar",
}
CHANGES = {
    "import": "import HERE/more.csv",
    "import of a bundle": "import HERE/run.zip --replace",
    "undo": "undo debate.csv",
    "space": "embed load HERE/space.csv --name x",
}


def killed(workspace: Workspace, moment: str, arguments: list[str]) -> None:
    """Give a command and have it killed."""
    place = str(workspace.settings.workspace)
    command = [sys.executable, "-c", KILLED, moment, "--workspace", place, *arguments]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()


@pytest.fixture
def here(small_workspace: Workspace, tmp_path: Path) -> Path:
    """A folder with files to import; the workspace has a saved report."""
    place, folder = small_workspace.settings.workspace, tmp_path / "here"
    folder.mkdir()
    (folder / "more.csv").write_bytes(
        cases.as_csv(["id", "pert", "gene"], [[f"P{i}_G", f"P{i}", "G"] for i in range(50)])
    )
    (folder / "space.csv").write_text("symbol,x\nPa,1\nPb,2\nGa,3\n")
    for arguments in (
        ["report", "new", "saved", "--runs", "debate"],
        ["export", "debate", "--format", "bundle", "--out", str(folder / "run.zip")],
    ):
        assert commands.core(place, *arguments).status == 0
    return folder


@pytest.mark.few(3)
@pytest.mark.parametrize("name", FILES)
def test_a_file_that_was_not_finished_has_no_name_and_is_gone_with_the_next(
    small_workspace: Workspace, here: Path, name: str
) -> None:
    out = here / "out"
    out.mkdir()
    arguments = FILES[name].replace("OUT", str(out)).split()
    killed(small_workspace, "rename", arguments)
    left = [file.name for file in out.iterdir()]
    assert [file for file in left if not (file.startswith(".") and file.endswith(".part"))] == []
    command = [sys.executable, "-m", "core", "--workspace", str(small_workspace.settings.workspace)]
    subprocess.run([*command, *arguments], cwd=REPOSITORY, check=True, capture_output=True)
    assert [file.name for file in out.iterdir()] == [Path(arguments[-1]).name]


@pytest.mark.few(3)
@pytest.mark.parametrize(
    ("name", "moment"), [*((name, "commit") for name in CHANGES), ("space", "rename")]
)
def test_a_change_that_was_not_finished_is_none(
    small_workspace: Workspace, here: Path, name: str, moment: str
) -> None:
    place = small_workspace.settings.workspace
    before, spaces = commands.core_json(place, "runs"), files_in(place / "data" / "embeddings")
    arguments = CHANGES[name].replace("HERE", str(here)).split()
    killed(small_workspace, moment, arguments)
    assert commands.core(place, "doctor").status == 0
    assert commands.core_json(place, "runs") == before
    assert commands.core_json(place, "embed", "list")["spaces"] == []
    command = [sys.executable, "-m", "core", "--workspace", str(place), *arguments]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    left = {f for f in files_in(place / "data" / "embeddings") - spaces if f.startswith(".")}
    assert left == set()


def files_in(folder: Path) -> set[str]:
    return set(os.listdir(folder)) if folder.exists() else set()


def test_a_restore_that_was_not_finished_is_given_again(
    small_workspace: Workspace, here: Path
) -> None:
    """A folder is in its place, the store is not: what is there goes, and nothing else."""
    place, other = small_workspace.settings.workspace, here / "restored"
    load = ["embed", "load", str(here / "space.csv"), "--name", "x"]
    for arguments in (load, ["run", "evidence_rules"], ["backup", "--out", str(here / "b.tar")]):
        assert commands.core(place, *arguments).status == 0
    (other / "data").mkdir(parents=True)
    (other / "data" / "endpoints.toml").write_text("# mine")
    restored = replace(small_workspace, settings=replace(small_workspace.settings, workspace=other))
    killed(restored, "second rename", ["restore", str(here / "b.tar")])
    moved = {name for name in os.listdir(other / "data") if not name.startswith(".")}
    assert moved - {"restore.unfinished", "endpoints.toml"}
    assert "desk.duckdb" not in moved
    done = commands.core(other, "restore", str(here / "b.tar"))
    assert done.status == 0, done.err
    assert commands.core_json(other, "runs") == commands.core_json(place, "runs")
    assert (other / "data" / "endpoints.toml").read_text() == "# mine"
    assert "restore.unfinished" not in os.listdir(other / "data")
