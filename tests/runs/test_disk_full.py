"""A disk that is full while a run works: it ends, says so, tears nothing, and goes on when there is space again."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from core.base.errors import DiskFull
from core.base.types import Pair, RowResult
from core.methods.base import Context
from core.runs import run_control
from core.runs.journal import Journal, read_progress
from core.runs.workspace import Workspace
from tests import mounts
from tests.runs.cases import fast, run_here, status, stored_rows, wish, workspace_with
from tests.runs.methods import Counting, constant, here

MB = 1 << 20


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    with mounts.small_disk(tmp_path / "disk", 16 * MB) as folder:
        yield folder


class Filling(Counting):
    """Fills the disk before a row, and leaves some bytes of it free."""

    def __init__(self, disk: Path, row: int, but: int) -> None:
        super().__init__()
        self.disk, self.row, self.but = disk, row, but

    async def predict_row(self, pair: Pair, context: Context) -> RowResult:
        if len(self.asked) == self.row:
            mounts.fill(self.disk, self.but)
        return await super().predict_row(pair, context)


def compare_rows(workspace: Workspace, run: str, reference: Workspace, other: str) -> None:
    ours, theirs = (
        stored_rows(*at).drop(columns="run") for at in ((workspace, run), (reference, other))
    )
    assert ours.equals(theirs)


@pytest.mark.soak
@pytest.mark.parametrize("but", [0, 4096, 40_000])
def test_a_run_ends_says_why_and_goes_on_when_there_is_space(
    disk: Path, tmp_path: Path, but: int
) -> None:
    workspace = workspace_with(disk, 300)
    method = Filling(disk, 40, but)
    spec = wish(workspace, method)
    with suppress(DiskFull):  # of the store, which is told of the ending
        run_control.start(workspace, spec, "r", fast(), begin=here(method))
    folder = workspace.run_folder(spec.key)
    found = status(workspace, run_control._find(workspace, "r"))
    assert (found.state, found.counts.failed) == ("stopped", 0)
    assert re.search(
        r"no space left on the disk \(0\.\d MB are free in .*\); free some space and try again$",
        found.cause,
    )
    assert folder.rows.read_bytes().endswith(b"\n")
    assert found.counts.done == read_progress(folder.rows).done < 300
    (disk / "filler").unlink()
    plain = Counting()
    run = run_control.resume(workspace, "r", begin=here(plain))
    assert (run.status, run.done, run.failed) == ("done", 300, 0)
    assert len(plain.asked) == 300 - found.counts.done
    assert not folder.reserve.exists()
    elsewhere = workspace_with(tmp_path / "elsewhere", 300)
    clean = Counting()
    other = run_here(elsewhere, clean)
    compare_rows(workspace, run.id, elsewhere, other.id)


def test_a_run_cannot_begin_on_a_full_disk(disk: Path) -> None:
    workspace = workspace_with(disk, 3)
    method = Filling(disk, 1, 0)
    spec = wish(workspace, method)
    with suppress(DiskFull):
        run_control.start(workspace, spec, "r", fast(), begin=here(method))
    with pytest.raises((DiskFull, OSError), match=r"[Nn]o space left"):
        run_control.resume(workspace, "r", begin=here(Counting()))
    assert status(workspace, run_control._find(workspace, "r")).state == "stopped"


@pytest.mark.soak
def test_a_batch_that_does_not_fit_leaves_the_journal_as_it_was(disk: Path) -> None:
    workspace = workspace_with(disk, 3)
    method = Counting()
    spec = wish(workspace, method)
    run = run_control.start(workspace, spec, "r", fast(), begin=here(method))
    folder = workspace.run_folder(run.id)
    before = folder.rows.read_bytes()
    mounts.fill(disk)
    with Journal(folder) as journal:
        with pytest.raises(OSError, match="No space left"):
            journal.append(
                [constant(Pair(f"a_{i}", "a", str(i), None, "test")) for i in range(500)]
            )
        assert folder.rows.read_bytes() == before
        assert journal.progress.bytes == len(before)
