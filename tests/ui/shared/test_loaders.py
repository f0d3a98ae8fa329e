"""Loaders ask the store again exactly when a counter of what they show has moved."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from core.actions import runs as actions
from core.actions.workspace import Workspace
from core.store import runs
from core.ui.shared import loaders
from core.ui.shared.loaders import cache
from tests.ui.conftest import forget


@pytest.fixture(autouse=True)
def small_workspace_is_shown(small_workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    forget()
    monkeypatch.setenv("PERTURBDESK_WORKSPACE", str(small_workspace.settings.workspace))
    yield
    forget()


def test_a_loader_asks_again_after_a_change_and_a_refresh(small_workspace: Workspace) -> None:
    loaders.refresh()
    assert [run.name for run in loaders.all_runs()] == ["debate"]
    actions.rename(small_workspace, "debate", "renamed")
    assert [run.name for run in loaders.all_runs()] == ["debate"]  # one page shows one state
    loaders.refresh()
    assert [run.name for run in loaders.all_runs()] == ["renamed"]


def test_a_shared_result_is_one_object() -> None:
    loaders.refresh()
    with cache.reading() as db:
        run = runs.find(db, "debate").id
    assert loaders.run_rows(run) is loaders.run_rows(run)


def test_a_cached_loader_refuses_to_run_inside_a_reading_block() -> None:
    loaders.refresh()
    with cache.reading(), pytest.raises(AssertionError, match="inside a reading block"):
        loaders.all_runs()


def test_queries_of_a_refresh_see_the_state_of_its_counters(small_workspace: Workspace) -> None:
    seen: list[str] = []
    loaders.refresh(lambda db: seen.extend(run.name for run in runs.list_all(db)))
    assert seen == [run.name for run in loaders.all_runs()]
    assert small_workspace.store._readers == 0


def test_a_loader_tells_ids_apart_however_they_are_cut() -> None:
    asked = []

    @cache.cached("anything", entries=20)
    def load(ids: tuple[str, ...], parts: tuple[int, tuple[str, ...]]) -> int:
        asked.append((ids, parts))
        return len(asked)

    found = [
        load(ids, parts)
        for ids in (("a", "b"), ("ab",), ('a", "b',), ())
        for parts in ((1, ("a", "b")), (1, ("ab",)), (2, ("a", "b")))
    ]
    assert found == list(range(1, 13))
    assert load(("a", "b"), (1, ("a", "b"))) == 1
