"""What a command imports: what it does not need costs nobody time."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from typer.main import get_group
from typer.testing import CliRunner

from core.actions.workspace import Workspace
from core.cli.base import app
from core.cli.commands import PANELS, Command, Group
from core.cli.lazy_group import app_of

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
        "cli.commands",
        "cli.lazy_group",
        "config",
        "errors",
        "file_io",
        "setting_types",
        "system_errors",
        "log",
        "texts",
        "version",
        "memory",
        "net",
        "net.addresses",
        "net.address_list",
        "net.scrubber",
        "net.server_access",
        "secrets_file",
        "base",
        "base.feature",
        "base.result",
        "features",
    )
    features = {name for name in rooms if name.startswith("core.features.")}
    assert rooms - features <= {f"core.{name}" for name in light}
    assert all(name.count(".") == 2 or name.endswith(".feature") for name in features)


@pytest.mark.soak
def test_runs_needs_the_store_and_no_tables(small_workspace: Workspace) -> None:
    loaded = modules_after("--workspace", str(small_workspace.settings.workspace), "runs")
    assert "duckdb" in loaded
    assert not loaded & HEAVY


@pytest.mark.soak
def test_no_command_loads_the_local_servers_of_tests(small_workspace: Workspace) -> None:
    loaded = modules_after("--workspace", str(small_workspace.settings.workspace), "run", "--help")
    assert not [name for name in loaded if name.startswith("core.") and name.endswith((".testing", ".scripted_server"))]


def test_every_command_of_every_module_is_listed_once() -> None:
    entries = [(name, entry) for panel in PANELS.values() for name, entry in panel.items()]
    assert len(entries) == len(dict(entries))
    listed: dict[str, set[str]] = {}
    for name, entry in entries:
        if isinstance(entry, Command):
            listed.setdefault(entry.module, set()).add(name)
    groups = {name for name, entry in entries if isinstance(entry, Group)}
    others = {"__init__", "base", "commands", "lazy_group", "names", "progress", "reading_options", "results", "settings"}
    others |= {"label", "run_status", "walk"}  # behind rubric, run and report
    files = {file.stem for file in (ROOT / "core" / "cli").glob("*.py")} - others
    assert files == {*listed, *groups}
    in_full = set(listed) - groups  # of a group, some stand at the top too, hidden
    assert {name: listed[name] for name in in_full} == {name: set(get_group(app_of(name)).commands) for name in in_full}


def test_help_lists_commands_under_headings_and_hides_what_is_not_for_people() -> None:
    shown = CliRunner().invoke(app, ["--help"]).output
    places = [shown.index(f"─ {panel} ") for panel in PANELS]
    assert places == sorted(places)
    assert not re.search(r"│ (worker|bench|pause|resume|cancel|retry|log) ", shown)
    assert CliRunner().invoke(app, ["worker", "--help"]).exit_code == 0


def test_every_command_is_described_in_one_line() -> None:
    assert max(len(entry.about) for panel in PANELS.values() for entry in panel.values()) <= 68


def test_a_mistyped_command_is_named_with_the_one_it_resembles() -> None:
    done = CliRunner().invoke(app, ["rnus"])
    assert done.exit_code == 2
    assert "'runs'" in done.output
