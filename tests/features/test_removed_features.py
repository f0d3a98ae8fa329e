"""Delete a feature's folder, its pages and its line: everything else works, on a workspace that was made with it."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from streamlit.proto.Alert_pb2 import Alert

from core.base.config import REPOSITORY
from core.features import features
from core.runs.workspace import Workspace
from tests.ui.conftest import FUSED, KNN, LABELLED
from tests.ui.page_client import Drawn, browsing
from tests.ui.serving import WAIT_S, serving

NEEDED = {name for feature in features().values() for name in feature.needs}
REMOVED = [name for name in features() if name not in NEEDED]
# Each command of the copy shows its help.
HELP = """
import typer
from typer.main import get_command
from typer.testing import CliRunner
from core.cli.base import app
main = get_command(app)
context = typer.Context(main)
for name in main.list_commands(context):
    _, command, _ = main.resolve_command(context, [name])
    for inner in command.list_commands(context) if hasattr(command, "list_commands") else [""]:
        done = CliRunner().invoke(app, [name, *inner.split(), "--help"])
        assert done.exit_code == 0, (name, inner, done.output)
"""


@pytest.fixture
def without(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """A copy of the app without a feature."""
    name, copy = request.param, tmp_path / "copy"
    ignored = shutil.ignore_patterns("__pycache__", "secrets.toml")
    for folder in ("core", "pages", ".streamlit"):
        shutil.copytree(REPOSITORY / folder, copy / folder, ignore=ignored)
    shutil.copy(REPOSITORY / "app.py", copy)
    shutil.rmtree(copy / "core" / "features" / name)
    for page in features()[name].pages:
        (copy / "pages" / f"{page.name}.py").unlink()
    names = copy / "core" / "features" / "__init__.py"
    text, n = re.subn(rf'\n? *"{name}",', "", names.read_text("utf-8"))
    assert n == 1
    names.write_text(text, "utf-8")
    return copy


def run_in(copy: Path, *arguments: str) -> None:
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=copy,
        capture_output=True,
        text=True,
        check=False,
        timeout=5 * WAIT_S,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def wrong_in(drawn: Drawn) -> list[str]:
    """The exceptions and errors that a page shows."""
    elements = [message.delta.new_element for message in drawn.messages]
    errors = [each.alert.body for each in elements if each.alert.format == Alert.ERROR]
    return errors + [each.exception.message for each in elements if each.HasField("exception")]


@pytest.mark.few(1)
@pytest.mark.parametrize("without", REMOVED, indirect=True)
def test_the_rest_works(without: Path, fused_demo: Workspace, tmp_path: Path) -> None:
    place = tmp_path / "workspace"
    shutil.copytree(fused_demo.settings.workspace, place)
    run_in(without, "-c", HELP)
    core = ("-m", "core", "--workspace", str(place))
    if (without / "core" / "features" / "predicting").exists():
        run_in(without, *core, "runs")
        run_in(without, *core, "jobs", "list")
    if (without / "core" / "features" / "sharing").exists():
        run_in(without, *core, "report", "new", "of all", "--runs", f"{FUSED},{KNN},{LABELLED}")
        run_in(without, *core, "report", "build", "of all", "--out", str(tmp_path / "all.html"))
    pages = [file.stem for file in (without / "pages").glob("*.py")]
    with serving(place, folder=without) as server, browsing(server.address) as client:
        for page in pages:
            for run in (LABELLED, FUSED):
                drawn = client.run("" if page == "overview" else page, f"run={run}")
                assert wrong_in(drawn) == [], (page, run)
