"""What a command and the shell of all pages import: what they do not need costs nobody time."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from typer.main import get_group
from typer.testing import CliRunner

from core.base.feature import PANELS, resolve
from core.cli.base import app
from core.features import features
from core.runs.workspace import Workspace
from tests import cases

ROOT = Path(__file__).resolve().parents[2]
HEAVY = {"numpy", "pandas", "pyarrow", "scipy", "sklearn", "plotly", "streamlit", "openai", "dspy"}
# llm: the settings of a model server; plots: colours and signs.
ROOMS_OF_THE_SHELL = {"base", "features", "llm", "plots", "runs", "store", "ui"}
AFTER = "import sys\nfrom core.cli import main\ntry:\n    main()\nfinally:\n    print(*sys.modules, file=sys.stderr)\n"
RESOLVE = """
import sys
from typer.main import get_group
import core.runs.workspace
from core.base.feature import resolve
for app in sys.argv[1:]:
    get_group(resolve(app))
print(*sys.modules)
"""
# The settings of these still lie beside what computes.
LATER = {f"core.features.{name}.commands:app" for name in ("arguments", "cells", "targets")}


def modules_after(*arguments: str) -> set[str]:
    """What a fresh process has imported by the end of a command."""
    done = subprocess.run(
        [sys.executable, "-c", AFTER, *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    assert done.stdout
    return set(done.stderr.split())


def test_help_imports_neither_the_store_nor_a_command() -> None:
    loaded = modules_after("--help")
    assert not loaded & (HEAVY | {"duckdb"})
    rooms = {name for name in loaded if name.startswith("core.")}
    brought = {name for name in rooms if name.startswith("core.features.")}
    assert {name.split(".")[1] for name in rooms} <= {"base", "cli", "features"}
    assert not [name for name in rooms if name.startswith("core.base.fields")]
    assert all(name.endswith(".feature") or name.count(".") == 2 for name in brought)


@pytest.mark.soak
def test_runs_needs_the_store_and_no_tables(small_workspace: Workspace) -> None:
    loaded = modules_after("--workspace", str(small_workspace.settings.workspace), "runs")
    assert "duckdb" in loaded
    assert not loaded & HEAVY


def test_an_import_of_labels_loads_no_other_reader_no_method_and_no_score(tmp_path: Path) -> None:
    (tmp_path / "train.csv").write_bytes(cases.TRAIN)
    place = str(tmp_path / "workspace")
    loaded = modules_after("--workspace", place, "import", str(tmp_path / "train.csv"))
    rooms = {name.split(".")[1] for name in loaded if name.startswith("core.")}
    assert not rooms & {"llm", "methods", "scoring", "stats", "transfer", "embeddings", "plots"}
    assert "core.features.importing.pairs" in loaded
    readers = {"submissions", "external_scores", "inspect_logs", "bundles", "imported_runs"}
    assert not loaded & {f"core.features.importing.{name}" for name in readers}


def test_no_help_of_a_command_loads_what_computes_or_draws() -> None:
    """In one process, which resolves every command's application as --help does."""
    entries = {entry.app for feature in features().values() for entry in feature.commands.values()}
    done = subprocess.run(
        [sys.executable, "-c", RESOLVE, *sorted(entries - LATER)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    assert "core.features.neighbours.commands" in done.stdout.split()
    assert not set(done.stdout.split()) & (HEAVY - {"numpy"})


def test_the_shell_of_all_pages_loads_no_feature_and_nothing_that_computes() -> None:
    """Streamlit itself loads pandas, pyarrow and plotly."""
    program = "import sys, core.ui.shell; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    loaded = set(done.stdout.split())
    rooms = {".".join(name.split(".")[1:3]) for name in loaded if name.startswith("core.")}
    assert {room.split(".")[0] for room in rooms} <= ROOMS_OF_THE_SHELL
    assert {room for room in rooms if room.startswith("features")} == {"features"}
    assert not loaded & {"scipy", "sklearn", "openai", "dspy"}


@pytest.mark.soak
def test_no_command_loads_the_local_servers_of_tests(small_workspace: Workspace) -> None:
    loaded = modules_after("--workspace", str(small_workspace.settings.workspace), "run", "--help")
    assert not [
        name
        for name in loaded
        if name.startswith("core.") and name.endswith((".testing", ".scripted_server"))
    ]


def test_every_command_of_every_module_is_listed_once() -> None:
    entries = [entry for feature in features().values() for entry in feature.commands.items()]
    assert len(entries) == len(dict(entries))
    for group in {entry.app for _, entry in entries}:
        there = {*get_group(resolve(group)).commands}
        names = {name for name, entry in entries if entry.app == group}
        assert names - there == set() or len(names - there) == 1  # the name of a group
        assert names - there or names == there  # of a group, some stand at the top too, hidden
    modules = {entry.app.partition(":")[0] for _, entry in entries}
    behind = {"core.features.sharing.commands"}  # of report
    files = (ROOT / "core" / "features").glob("*/*.py")
    assert {
        ".".join(file.relative_to(ROOT).with_suffix("").parts)
        for file in files
        if "typer.Typer(" in file.read_text("utf-8")
    } == modules | behind


def test_help_lists_commands_under_headings_and_hides_what_is_not_for_people() -> None:
    shown = CliRunner().invoke(app, ["--help"]).output
    places = [shown.index(f"─ {panel} ") for panel in PANELS]
    assert places == sorted(places)
    assert not re.search(r"│ (worker|bench|pause|resume|cancel|retry|log) ", shown)
    assert CliRunner().invoke(app, ["worker", "--help"]).exit_code == 0


def test_every_command_is_described_in_one_line() -> None:
    assert (
        max(
            len(entry.about)
            for feature in features().values()
            for entry in feature.commands.values()
        )
        <= 68
    )


def test_a_mistyped_command_is_named_with_the_one_it_resembles() -> None:
    done = CliRunner().invoke(app, ["rnus"])
    assert done.exit_code == 2
    assert "'runs'" in done.output
