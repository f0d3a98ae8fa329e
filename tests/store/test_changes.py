"""Counters by which caches know that they are out of date: what a change concerns, and nothing else."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from core.base.config import REPOSITORY
from core.features.importing.actions import import_upload
from core.features.importing.imported_rows import undo
from core.methods.fusion_settings import FusionSettings
from core.runs import actions as run_actions
from core.runs.workspace import Workspace
from core.store import Store, changes, runs
from tests import cases
from tests.derived import save_fusion

ANOTHER = cases.submission([("Pa_Ga", 0.1, 0.1, "none"), ("Pb_Ga", 0.6, 0.1, "none")])


def moved_by(workspace: Workspace, change: Callable[[], object]) -> set[str]:
    """The scopes whose counters a change moves."""
    before = counters(workspace)
    change()
    return {scope for scope, n in counters(workspace).items() if n != before.get(scope)}


def counters(workspace: Workspace) -> dict[str, int]:
    with workspace.store.read() as db:
        return changes.versions(db)


def key_of(workspace: Workspace, name: str) -> str:
    with workspace.store.read() as db:
        return runs.find(db, name).id


@pytest.mark.soak
def test_a_run_that_comes_and_goes_leaves_datasets_and_other_runs_as_they_are(
    small_workspace: Workspace,
) -> None:
    other = f"run:{key_of(small_workspace, 'debate')}"
    for remove in (
        lambda: undo(small_workspace, "more.csv"),
        lambda: run_actions.delete(small_workspace, "more"),
    ):
        moved = moved_by(
            small_workspace, lambda: import_upload(small_workspace, ANOTHER, "more.csv")
        )
        assert f"run:{key_of(small_workspace, 'more')}" in moved
        moved |= moved_by(small_workspace, remove)
        assert "runs" in moved
        assert not moved & {"datasets", "spaces", other}


@pytest.mark.soak
def test_rows_that_come_and_go_move_datasets(small_workspace: Workspace) -> None:
    more = cases.as_csv(["id", "pert", "gene", "label"], [["Pz_Gz", "Pz", "Gz", "down"]])
    assert "datasets" in moved_by(
        small_workspace, lambda: import_upload(small_workspace, more, "more.csv")
    )
    assert "datasets" in moved_by(small_workspace, lambda: undo(small_workspace, "more.csv"))


@pytest.mark.few(1)
@pytest.mark.parametrize("remove", [run_actions.delete, undo])
def test_a_parent_that_goes_moves_what_is_made_from_it(
    small_workspace: Workspace, remove: Callable[[Workspace, str], object]
) -> None:
    import_upload(small_workspace, ANOTHER, "more.csv")
    save_fusion(small_workspace, FusionSettings("debate", ("more",), (0.5,), (0.5,)), "fused")
    save_fusion(
        small_workspace, FusionSettings("debate", ("fused",), (0.5,), (0.5,)), "fused again"
    )
    made = {f"run:{key_of(small_workspace, name)}" for name in ("fused", "fused again")}
    assert made <= moved_by(small_workspace, lambda: remove(small_workspace, "more"))


PROCESSES, CHANGES = 3, 5
WRITER = """
import sys
from pathlib import Path
from core.store import Store, changes
from core.features.experiments import ledger_table
from core.features.experiments.ledger_table import HERE, Entry
folder, name = Path(sys.argv[1]), sys.argv[2]
store = Store(folder / "desk.duckdb", folder / "cache")
for number in range(int(sys.argv[3])):
    with store.write() as db:
        ledger_table.add(db, Entry(kind="registration", name=name, hypothesis=str(number), source=HERE))
        changes.record(db, name, "register hypothesis", str(number), {})
"""


@pytest.mark.soak
def test_processes_that_write_at_once_number_their_entries_without_gaps(tmp_path: Path) -> None:
    store = Store(tmp_path / "desk.duckdb", tmp_path / "cache")
    command = [sys.executable, "-c", WRITER, str(tmp_path)]
    writers = [
        subprocess.Popen([*command, f"w{n}", str(CHANGES)], cwd=REPOSITORY)
        for n in range(PROCESSES)
    ]
    assert [writer.wait(timeout=120) for writer in writers] == [0] * PROCESSES
    expected = list(range(1, PROCESSES * CHANGES + 1))
    with store.read() as db:
        for table in ("trail", "hypothesis"):
            [(positions,)] = db.execute(
                f"SELECT list(position ORDER BY position) FROM {table}"
            ).fetchall()
            assert positions == expected
        [(authors,)] = db.execute("SELECT count(DISTINCT author) FROM trail").fetchall()
    assert authors == PROCESSES


def test_no_code_changes_or_deletes_an_entry_of_the_audit_log_or_the_ledger() -> None:
    rewrites = re.compile(
        r"(?:UPDATE|DELETE FROM|TRUNCATE)\s+(?:trail|hypothesis)\b", re.IGNORECASE
    )
    assert [
        path
        for path in (REPOSITORY / "core").rglob("*.py")
        if rewrites.search(path.read_text("utf-8"))
    ] == []
