"""`bundle` and the `import` of what it wrote: nothing of a run is lost, and the same run gives the same bytes."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.runs.actions import add_note, delete
from core.runs.workspace import Workspace
from core.store import runs
from tests import worlds
from tests.bundled import everything, stored
from tests.commands import core_json
from tests.fakes.scripted import serving

pytestmark = pytest.mark.soak

BUNDLED = {"path", "sha256", "problems"}
RUNS = ("argued", "ruled", "simulated debate test")


def desk_at(folder: Path) -> Workspace:
    return worlds.workspace_in(folder)


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with serving() as url:
        yield url


@pytest.fixture(scope="module")
def bare(little_demo: Workspace, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo's dataset without a run; copied, never changed."""
    workspace = worlds.copied(
        little_demo.settings.workspace, desk_at(tmp_path_factory.mktemp("bare"))
    )
    with workspace.store.read() as db:
        found = runs.list_all(db)
    for run in found:
        delete(workspace, run.id)
    return workspace.settings.workspace


@pytest.fixture(scope="module")
def made(little_demo: Workspace, tmp_path_factory: pytest.TempPathFactory, server: str) -> Path:
    """The demo with two runs of the engine on it, one of them a debate, and notes; tests only read it."""
    folder = tmp_path_factory.mktemp("made")
    worlds.copied(little_demo.settings.workspace, desk_at(folder))
    on = ("--dataset", "simulated", "--rows", "split=test;sample=3")
    core_json(folder, "run", "evidence_rules", "--name", "ruled", *on)
    core_json(folder, "run", "debate", "--name", "argued", "--endpoint", server, *on)
    core_json(folder, "runs set argued public_score=0.61 'note=the first one'")
    workspace = desk_at(folder)
    add_note(workspace, "argued", None, "all of it")
    add_note(
        workspace,
        "argued",
        stored(workspace, "argued")["prediction"][0][1],
        "odd ± 一",
        author="Ada",
    )
    return folder


@pytest.fixture
def fresh(bare: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(bare, tmp_path / "fresh"))


@pytest.mark.parametrize("name", RUNS)
def test_every_table_comes_back_and_so_do_the_bytes(
    made: Path, fresh: Path, tmp_path: Path, name: str
) -> None:
    out = tmp_path / "run.zip"
    result = core_json(made, "export", name, "--format", "bundle", "--out", str(out))
    assert set(result) == BUNDLED
    assert (result["path"], result["problems"]) == (str(out), [])
    assert result["sha256"] == hashlib.sha256(out.read_bytes()).hexdigest()
    [record] = core_json(fresh, "import", str(out))["imported"]
    ours, theirs = stored(desk_at(made), name), stored(desk_at(fresh), name)
    assert (record["kind"], record["name"], record["rows"], record["rejected"]) == (
        "bundle",
        name,
        len(ours["prediction"]),
        0,
    )
    for table, rows in ours.items():
        assert theirs[table] == rows, table
    if name == "argued":
        assert all(ours.values())
    again = tmp_path / "again.zip"
    core_json(fresh, "export", name, "--format", "bundle", "--out", str(again))
    assert again.read_bytes() == out.read_bytes()


def test_undo_leaves_the_workspace_as_it_was(made: Path, fresh: Path, tmp_path: Path) -> None:
    core_json(made, "export", "argued", "--format", "bundle", "--out", str(tmp_path / "run.zip"))
    before = everything(desk_at(fresh))
    core_json(fresh, "import", str(tmp_path / "run.zip"))
    core_json(fresh, "undo", "run.zip")
    after = everything(desk_at(fresh))
    for table in before.keys() - {"trail", "version"}:
        assert after[table] == before[table], table


def test_read_only_lets_a_bundle_out(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    core_json(made, "export", "ruled", "--format", "bundle", "--out", str(tmp_path / "before.zip"))
    monkeypatch.setenv("PERTURBDESK_READ_ONLY", "1")
    core_json(made, "export", "ruled", "--format", "bundle", "--out", str(tmp_path / "run.zip"))
    assert (tmp_path / "run.zip").read_bytes() == (tmp_path / "before.zip").read_bytes()
