"""Loaders ask the store again exactly when a counter of what they show has moved."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.runs import actions
from core.runs.workspace import Workspace
from core.store import predictions, runs
from core.ui.loaders import cache, records
from core.ui.loaders.cache import refresh
from core.ui.loaders.records import all_runs, read_ahead, row_details
from core.ui.loaders.scores import run_rows
from tests.ui.conftest import forget


@pytest.fixture(autouse=True)
def small_workspace_is_shown(
    small_workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    forget()
    monkeypatch.setenv("PERTURBDESK_WORKSPACE", str(small_workspace.settings.workspace))
    yield
    forget()


@pytest.mark.soak
def test_a_loader_asks_again_after_a_change_and_a_refresh(small_workspace: Workspace) -> None:
    refresh()
    assert [run.name for run in all_runs()] == ["debate"]
    actions.rename(small_workspace, "debate", "renamed")
    assert [run.name for run in all_runs()] == ["debate"]  # one page shows one state
    refresh()
    assert [run.name for run in all_runs()] == ["renamed"]


@pytest.mark.soak
def test_a_shared_result_is_one_object() -> None:
    refresh()
    with cache.reading() as db:
        run = runs.find(db, "debate").id
    assert run_rows(run) is run_rows(run)


@pytest.mark.soak
def test_a_cached_loader_refuses_to_run_inside_a_reading_block() -> None:
    refresh()
    with cache.reading(), pytest.raises(AssertionError, match="inside a reading block"):
        all_runs()


@pytest.mark.soak
def test_a_store_that_nobody_changed_is_not_opened_for_its_counters(
    small_workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = []
    monkeypatch.setattr(cache, "_read_versions", lambda: opened.append(True) or {})
    cache._versions_in.cache_clear()
    files = [
        small_workspace.store.file,
        small_workspace.store.file.with_name(small_workspace.store.file.name + ".wal"),
    ]
    for file in filter(Path.exists, files):
        os.utime(file, (1, 1))  # changed long ago
    refresh()
    refresh()
    assert len(opened) == 1
    actions.rename(small_workspace, "debate", "renamed")
    refresh()
    refresh()  # so soon after a change, the file may change again without a sign
    assert len(opened) == 3


@pytest.mark.soak
def test_a_row_is_read_ahead(small_workspace: Workspace) -> None:
    with small_workspace.store.read() as db:
        run = runs.find(db, "debate").id
        ids = predictions.find_pair_ids(db, run, predictions.RowFilter())
    refresh()
    read_ahead([run], [*ids[:2], "no such row"])
    records._AHEAD.submit(lambda: None).result()
    small_workspace.store.file.rename(small_workspace.store.file.with_suffix(".away"))
    try:
        assert [row_details(run, pair_id).numbers["pair_id"] for pair_id in ids[:2]] == ids[:2]
    finally:
        small_workspace.store.file.with_suffix(".away").rename(small_workspace.store.file)


def test_a_loader_tells_ids_apart_however_they_are_cut() -> None:
    asked = []

    @cache.cache_by("anything", entries=20)
    def load(ids, parts):
        asked.append((ids, parts))
        return len(asked)

    found = [
        load(ids, parts)
        for ids in (("a", "b"), ("ab",), ('a", "b',), ())
        for parts in ((1, ("a", "b")), (1, ("ab",)), (2, ("a", "b")))
    ]
    assert found == list(range(1, 13))
    assert load(("a", "b"), (1, ("a", "b"))) == 1
