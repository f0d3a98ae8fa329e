"""What a command imports: what it does not need costs nobody time."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from typer.main import get_group
from typer.testing import CliRunner

from core.actions.workspace import Workspace
from core.cli import lazy_group
from core.cli.base import app

ROOT = Path(__file__).resolve().parent.parent
HEAVY = {"numpy", "pandas", "pyarrow", "scipy", "sklearn", "plotly", "streamlit", "openai", "dspy"}
AFTER = "import sys\nfrom core.cli import main\ntry:\n    main()\nfinally:\n    print(*sys.modules, file=sys.stderr)\n"


def modules_after(*arguments: str) -> set[str]:
    """What a fresh process has imported by the end of a command."""
    done = subprocess.run(
        [sys.executable, "-c", AFTER, *arguments], cwd=ROOT, capture_output=True, text=True, check=True, timeout=120
    )
    assert done.stdout
    return set(done.stderr.split())


def test_help_imports_neither_the_store_nor_a_command() -> None:
    loaded = modules_after("--help")
    assert not loaded & (HEAVY | {"duckdb"})
    rooms = {name for name in loaded if name.startswith("core.")}
    light = (
        "cli",
        "cli.base",
        "cli.lazy_group",
        "config",
        "errors",
        "setting_types",
        "system_errors",
        "log",
        "texts",
        "version",
        "net",
        "net.addresses",
    )
    assert rooms <= {f"core.{name}" for name in (*light, "net", "net.addresses")}


def test_runs_needs_the_store_and_no_tables(small_workspace: Workspace) -> None:
    loaded = modules_after("--workspace", str(small_workspace.settings.workspace), "runs")
    assert "duckdb" in loaded
    assert not loaded & HEAVY


def test_no_command_loads_the_local_servers_of_tests(small_workspace: Workspace) -> None:
    loaded = modules_after("--workspace", str(small_workspace.settings.workspace), "run", "--help")
    assert not [name for name in loaded if name.startswith("core.") and name.endswith((".testing", ".scripted_server"))]


@pytest.mark.parametrize("module", [*lazy_group.MODULES, *lazy_group.GROUPS])
def test_the_list_agrees_with_what_the_modules_register(module: str) -> None:
    listed = dict(lazy_group._commands_in(module))
    registered = get_group(lazy_group._app_of(module)).commands
    assert {name: command.help for name, command in registered.items()} == listed


def test_every_module_of_commands_is_listed() -> None:
    files = {file.stem for file in (ROOT / "core" / "cli").glob("*.py")} - {"__init__", "base", "lazy_group"}
    assert files == {*lazy_group.MODULES, *lazy_group.GROUPS}


def test_a_mistyped_command_is_named_with_the_one_it_resembles() -> None:
    done = CliRunner().invoke(app, ["rnus"])
    assert done.exit_code == 2
    assert "'runs'" in done.output
