from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest

from core.ui import background as module
from core.ui.background import Background, Progress, Result


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "QUIET_S", 0.0)


def until(found: Callable[[], bool]) -> None:
    end = time.monotonic() + 30
    while not found():
        assert time.monotonic() < end
        time.sleep(0.005)


def returns(value: object) -> Callable[[Progress], object]:
    return lambda _progress: value


def test_a_result_is_there_once_it_is_computed_and_stays() -> None:
    results, go = Background(), threading.Event()
    assert results.ask("a", lambda _: go.wait() and 1) == Result(ready=False)
    until(lambda: results._current == "a")
    assert results.ask("a", returns(2)) == Result(ready=False)
    go.set()
    until(lambda: results.ask("a", returns(2)).ready)
    assert results.ask("a", returns(3)) == Result(ready=True, value=1)
    until(lambda: results._thread is None)  # it ends with its work
    results.ask("b", returns(4))
    until(lambda: results.ask("b", returns(4)) == Result(ready=True, value=4))


def test_what_was_asked_for_last_comes_first_and_the_oldest_is_dropped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "MAX_WAITING", 3)
    results, go, order = Background(), threading.Event(), []
    results.ask("first", lambda _: go.wait())
    until(lambda: results._current == "first")
    for key in "abcdb":
        results.ask(key, lambda _, key=key: order.append(key))
    go.set()
    until(lambda: results._thread is None)
    assert order == ["b", "d", "c"]


def test_nothing_begins_while_new_things_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "QUIET_S", 0.3)
    results, order = Background(), []
    for key in range(8):
        results.ask(key, lambda _, key=key: order.append(key))
        time.sleep(0.05)
        assert order == []
    until(lambda: results._thread is None)
    assert order == [7, 6, 5, 4, 3, 2, 1, 0]


def test_what_nobody_asks_for_any_more_gives_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FORGOTTEN_S", 0.0)
    results, turns = Background(), []

    def long(progress):
        while True:
            turns.append(1)
            time.sleep(0.005)
            progress(0.5)

    results.ask("long", long)
    until(lambda: len(turns) > 3)  # alone, it goes on
    results.ask("other", returns(1))
    until(lambda: results.ask("other", returns(1)).ready)
    n = len(turns)
    assert not results.ask("long", returns(2)).ready  # it may be asked for again
    until(lambda: results.ask("long", returns(2)).ready)
    assert len(turns) == n


def test_a_failure_is_in_the_log_and_is_not_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    results, recorded = Background(), []
    monkeypatch.setattr(
        module.log, "record_error", lambda what, error: recorded.append((what, str(error)))
    )

    def fail(_progress):
        raise ValueError("broken")

    until(lambda: results.ask("a", fail).ready)
    assert results.ask("a", returns(1)).value is None
    assert recorded == [("in the background: ValueError", "broken")]


def test_old_results_are_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_RESULTS", 2)
    results = Background()
    for key in "abc":
        results.ask(key, returns(key))
        until(lambda key=key: results.ask(key, returns(key)).ready)  # type: ignore[misc]
    assert [results.ask(key, returns(0)).ready for key in "bc"] == [True, True]
    assert not results.ask("a", returns(0)).ready


def steps_of(
    results: Background, key: str, steps: list[str], begun: threading.Event
) -> Callable[[], Result]:
    """Asks for a result whose computation notes that it went on after a report of progress."""

    def compute(progress: Progress) -> str:
        begun.set()
        progress(0.5)
        steps.append(key)
        return key

    return lambda: results.ask(key, compute)


def test_a_computation_pauses_while_pages_run_and_a_moment_after(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "REST_S", 0.5)
    monkeypatch.setattr(module, "LONGEST_PAUSE_S", 60.0)
    results, steps, begun = Background(), [], threading.Event()
    ask = steps_of(results, "a", steps, begun)
    with results.pause():
        with results.pause():
            ask()
            assert begun.wait(30)
        time.sleep(0.1)
        assert steps == []  # another page runs still
    ended_at = time.monotonic()
    until(lambda: ask().ready)
    assert time.monotonic() - ended_at > 0.4
    results.rest()  # a browser loads a page
    rested_at = time.monotonic()
    until(lambda: steps_of(results, "b", steps, threading.Event())().ready)
    assert time.monotonic() - rested_at > 0.4


def test_a_computation_gets_on_while_pages_never_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LONGEST_PAUSE_S", 0.05)
    results, steps = Background(), []
    with results.pause():
        until(lambda: steps_of(results, "b", steps, threading.Event())().ready)
    assert steps == ["b"]
