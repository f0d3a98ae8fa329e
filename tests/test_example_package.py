"""The example of a feature as a package of its own: installed beside the app, it is a page, a command, a job, a part of reports and a kind of file."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from core.base.config import REPOSITORY
from core.runs.workspace import Workspace
from core.store import datasets, pairs
from tests import commands
from tests.ui.conftest import browser, new_context, settle
from tests.ui.serving import WAIT_S, serving

if TYPE_CHECKING:
    from playwright.sync_api import Browser

EXAMPLE = REPOSITORY / "docs" / "examples" / "perturbdesk_example"
# of cases.DEBATES: a brief that answers instead of arguing, numbers that the trace denies, a row without an answer
FLAGS = {
    "did not argue its side": 1,
    "changed after its trace": 1,
    "no answer (.333/.333)": 1,
}
START_JOB = """
import sys
from pathlib import Path
from core.base.config import Settings
from core.runs.component_loader import default_dataset
from core.runs.jobs import control
from core.runs.workspace import open_workspace
workspace = open_workspace(Settings(workspace=Path(sys.argv[1])))
control.start(workspace, "label_counts", "bmdm", {"dataset": default_dataset(workspace, None).id})
"""

__all__ = ["browser"]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an installation of the package, as a path for Python."""
    folder = tmp_path_factory.mktemp("site-packages")
    source = tmp_path_factory.mktemp("source") / "example"
    source.mkdir()
    for file in EXAMPLE.rglob("*"):  # setuptools builds beside it
        if file.suffix in (".py", ".toml"):
            (source / file.relative_to(EXAMPLE)).parent.mkdir(exist_ok=True)
            (source / file.relative_to(EXAMPLE)).write_bytes(file.read_bytes())
    command = [sys.executable, "-m", "uv", "pip", "install", "--no-deps", "--no-build-isolation"]
    subprocess.run(
        [*command, "--offline", "--quiet", "--target", str(folder), str(source)],
        check=True,
        timeout=WAIT_S,
    )
    return folder


@pytest.fixture
def with_it(installed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", f"{installed}{os.pathsep}{REPOSITORY}")


def in_its_own_process(*arguments: str) -> str:
    command = [sys.executable, *arguments]
    done = subprocess.run(
        command, cwd=REPOSITORY, capture_output=True, text=True, check=True, timeout=WAIT_S
    )
    return done.stdout


@pytest.mark.usefixtures("with_it")
def test_its_command_counts_and_is_listed(small_workspace: Workspace) -> None:
    place = str(small_workspace.settings.workspace)
    core = ("-m", "core", "--workspace", place)
    assert " flags " in in_its_own_process(*core, "--help")
    printed = in_its_own_process(*core, "flags", "debate")
    assert all(flag in printed for flag in FLAGS)
    assert '"n": 4' in in_its_own_process(*core, "flags", "debate", "--json")


@pytest.mark.usefixtures("with_it")
def test_its_page_is_in_the_navigation_and_shows_the_same(
    small_workspace: Workspace, browser: Browser
) -> None:
    with serving(small_workspace.settings.workspace) as server, new_context(browser) as context:
        page = context.new_page()
        page.goto(server.url("flags", run="debate"))
        settle(page)
        assert page.locator("[data-testid=stMain] h2").inner_text() == "Flags"
        assert "1 changed after its trace" in page.locator("[data-testid=stMain]").inner_text()
        assert page.get_by_role("link", name="Flags").count() == 1
        assert page.get_by_role("dialog").count() == 0  # for the first visitor of the server, too


@pytest.mark.usefixtures("with_it")
def test_a_report_has_its_part(small_workspace: Workspace) -> None:
    place = ("-m", "core", "--workspace", str(small_workspace.settings.workspace))
    printed = in_its_own_process(*place, "report", "figure", "flags", "--runs", "debate")
    assert "1 changed after its trace" in printed


@pytest.mark.usefixtures("with_it")
def test_a_file_of_its_kind_is_imported(small_workspace: Workspace, tmp_path: Path) -> None:
    place = ("-m", "core", "--workspace", str(small_workspace.settings.workspace))
    file = tmp_path / "screen.calls"
    file.write_text("Atf3 > Il6: up\nAtf3 > Tnf: none\nRel > Il6: down\n")
    in_its_own_process(*place, "import", str(file), "--dataset", "screen")
    with small_workspace.store.read() as db:
        [screen] = [each for each in datasets.list_all(db) if each.name == "screen"]
        rows = pairs.frame(db, screen.id)[["pert", "gene", "label"]].to_numpy().tolist()
    assert rows == [["Atf3", "Il6", "up"], ["Atf3", "Tnf", "none"], ["Rel", "Il6", "down"]]
    file.write_text("Atf3 > Il6: sideways\n")
    with pytest.raises(subprocess.CalledProcessError) as refused:
        in_its_own_process(*place, "import", str(file))
    assert "line 1: got 'Atf3 > Il6: sideways'" in refused.value.stdout + refused.value.stderr


@pytest.mark.soak
@pytest.mark.usefixtures("with_it")
def test_its_job_is_done_in_a_process_of_its_own(small_workspace: Workspace) -> None:
    place = str(small_workspace.settings.workspace)
    in_its_own_process("-c", START_JOB, place)
    deadline = time.monotonic() + WAIT_S
    listed = ""
    while '"state": "done"' not in listed and time.monotonic() < deadline:
        listed = in_its_own_process(
            *("-m", "core", "--workspace", place, "jobs", "list", "--all", "--json"),
        )
    assert '"job": "label_counts/bmdm"' in listed
    made = (small_workspace.settings.cache / "label_counts").rglob("*.json")
    counts = [json.loads(file.read_bytes()) for file in made]
    # of cases.TRAIN: four labelled rows
    assert sum(n for each in counts for name, n in each.items() if name != "pert") == 4


def test_without_it_nobody_knows_it(small_workspace: Workspace) -> None:
    assert commands.core(small_workspace, "flags", "debate").status == 2
