"""Rows that are watched: what is written for whoever watches, what it leaves behind, and that the run is the same."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import replace
from io import FileIO
from pathlib import Path
from typing import Any

import pytest

from core.base.errors import ReadOnly
from core.base.types import Call, Pair, RowResult
from core.features.asking import actions as ask
from core.methods.base import method_named
from core.methods.row_feed import RowFeed
from core.runs import row_watch, run_control
from core.runs.journal import read_entries
from core.runs.row_watch import RowWatch, Watcher
from core.runs.run_folder import RunFolder
from core.runs.workspace import Workspace
from core.store.runs import Run
from tests.fakes.scripted import Faults, Script, serving, write_reply
from tests.fakes.watching import listen
from tests.runs.cases import fast, wish, workspace_with

OPTIONS = {"tools": "gene_class,base_rates,train_lookup", "judge": "logprob"}
SCRIPT = Script(faults=Faults.each(0.02, "error", "half", "reset", "empty", "wrong_format"))


def argue(workspace: Workspace, url: str, watch: Callable[[str], object] = lambda _: None) -> Run:
    """A debate about every unlabelled row, which `watch` is told of before its worker begins."""
    method = method_named("debate")
    spec = wish(workspace, method, model="scripted", options=OPTIONS)

    def begin(workspace: Workspace, run: str) -> None:
        watch(run)
        run_control.work_on(workspace, run)

    settings = fast(url, timeout_s=20.0, retries=9, cached=False, rows_in_flight=3)
    return run_control.start(workspace, spec, "argued", settings, begin=begin)


def stored(workspace: Workspace, run: Run) -> dict[str, object]:
    """The finished rows without what a clock says."""

    def timeless(call: Call) -> Call:
        return replace(call, latency_ms=0.0)

    entries = [entry for entry, _ in read_entries(workspace.run_folder(run.id).rows)]
    rows = {entry.prediction.pair_id: entry for entry in entries if isinstance(entry, RowResult)}
    assert len(rows) == len(entries) == run.total
    return {
        key: replace(
            row,
            events=tuple(e._replace(latency_ms=None) for e in row.events),
            calls=tuple(map(timeless, row.calls)),
        )
        for key, row in rows.items()
    }


@pytest.fixture(scope="module")
def unwatched(tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    workspace = workspace_with(tmp_path_factory.mktemp("unwatched"), 6)
    with serving(SCRIPT) as url:
        run = argue(workspace, url)
    assert not workspace.run_folder(run.id).watch.exists()
    return stored(workspace, run)


@pytest.mark.soak
@pytest.mark.parametrize("who", ["stays", "leaves", "nobody renews"])
def test_the_run_of_a_watched_row_is_the_same(
    tmp_path: Path, unwatched: dict[str, object], who: str, monkeypatch: Any
) -> None:
    if who == "nobody renews":
        monkeypatch.setattr(row_watch, "FRESH_S", 0.2)
    workspace = workspace_with(tmp_path, 6)
    heard = []
    ends = []

    def watch(run):
        watcher = ask.watch(workspace, run)
        if who == "leaves":
            watcher.read()
            watcher.close()
        elif who == "nobody renews":
            watcher.renew = lambda: None  # type: ignore[method-assign]
        if who != "leaves":
            ends.append(listen(watcher, heard.append, every_s=0.005))

    with serving(SCRIPT) as url:
        run = argue(workspace, url, watch)
    for end in ends:
        end()
    assert stored(workspace, run) == unwatched
    left = workspace.run_folder(run.id).watch
    assert not left.exists() or not list(
        left.glob("*.jsonl")
    )  # a marker that was renewed in the last moment
    if who == "stays":
        _check_events(workspace, run, heard)


def _check_events(workspace: Workspace, run: Run, heard: list[Any]) -> None:
    kinds = [event["kind"] for event in heard]
    assert (kinds[0], kinds[-1], kinds.count("row"), kinds.count("ended")) == ("row", "ended", 1, 1)
    entries = [entry for entry, _ in read_entries(workspace.run_folder(run.id).rows)]
    [row] = [
        entry
        for entry in entries
        if isinstance(entry, RowResult) and entry.prediction.pair_id == heard[0]["pair_id"]
    ]
    assert heard[-1]["p_de"] == row.prediction.p_de
    assert {event["item"]["tool"] for event in heard if event["kind"] == "tool"} == {
        item.tool for item in row.evidence
    }
    answered = {event["call"]: event["content"] for event in heard if event["kind"] == "answered"}
    said = {}
    for event in heard:
        if event["kind"] == "words":
            key = event["call"], event["attempt"]
            said[key] = said.get(key, "") + event["content"]
    for call, content in answered.items():
        assert (
            said[max(key for key in said if key[0] == call)] == content
        )  # word by word, what was journalled


@pytest.mark.soak
def test_who_comes_late_is_told_what_has_happened(tmp_path: Path) -> None:
    workspace = workspace_with(tmp_path, 1)
    heard = []
    runs = []
    ends = []

    def come(
        prompt,
    ):  # when the first brief is asked for, half a second before it is answered
        if not ends:
            ends.append(listen(ask.watch(workspace, runs[0]), heard.append))
        return write_reply(prompt)

    with serving(Script(delay_s=0.5, answer=come)) as url:
        argue(workspace, url, runs.append)
    ends[0]()
    kinds = [event["kind"] for event in heard]
    assert (kinds[0], kinds[-1], kinds.count("tool")) == ("row", "ended", 5)
    asked = [event for event in heard if event["kind"] == "asked"]
    assert [event["streams"] for event in asked[:4]] == [
        False
    ] * 4  # the briefs: nobody watched when they were asked for
    assert all(event["streams"] for event in asked[4:])


def test_a_marker_in_the_way_and_a_full_disk_harm_nobody(
    tmp_path: Path, unwatched: dict[str, object]
) -> None:
    workspace = workspace_with(tmp_path, 6)

    def spoil(run):
        folder = workspace.run_folder(run).watch
        folder.mkdir()
        (folder / "any.jsonl").mkdir()  # cannot be opened
        Watcher(workspace.run_folder(run)).renew()

    with serving(SCRIPT) as url:
        run = argue(workspace, url, spoil)
    assert stored(workspace, run) == unwatched


def test_a_watcher_reads_on_when_its_file_is_begun_anew(tmp_path: Path) -> None:
    workspace = workspace_with(tmp_path, 1)
    folder = workspace.run_folder("0" * 10)
    folder.watch.mkdir(parents=True)
    watcher = Watcher(folder)
    assert watcher.read() == []
    events = folder.watch / "any.jsonl"
    events.write_text('{"kind": "row", "n": 1}\n{"kind": "to', "utf-8")
    assert [event["n"] for event in watcher.read()] == [1]
    with events.open("a") as more:
        more.write('ol", "n": 2}\n')
    events.rename(folder.watch / "old")
    events.write_text('{"kind": "row", "n": 3}\n', "utf-8")
    assert [event["n"] for event in watcher.read()] == [2]  # what was written to the old one first
    assert [event["n"] for event in watcher.read()] == [3]
    with events.open("a") as more:
        more.write('{"kind": "ended", "n": 4}\n{"kind": "row", "n": 5}\n')
    assert [event["n"] for event in watcher.read()] == [4, 5]
    assert watcher.ended
    assert watcher.read() == []


def test_an_event_that_a_full_disk_cuts_short_is_lost_alone(tmp_path: Path) -> None:
    class FullOnce(FileIO):
        def write(self, data: Any, /) -> int:
            written = super().write(data[:12] if b"cut" in data else data)
            return int(written or 0)

    workspace = workspace_with(tmp_path, 1)
    folder = workspace.run_folder("0" * 10)
    folder.watch.mkdir(parents=True)
    path = folder.watch / "any.jsonl"
    watcher = Watcher(folder)
    stream = row_watch._Stream(
        RowFeed(Pair("a", "a", "a", None, "test")), path, FullOnce(path, "w"), str
    )
    for kind in ("row", "cut", "tool", "cut", "cut", "ended"):
        stream.write({"kind": kind})
    assert [event["kind"] for event in watcher.read()] == ["row", "tool", "ended"]


@pytest.mark.soak
def test_a_line_that_is_no_event_is_passed_over(tmp_path: Path) -> None:
    workspace = workspace_with(tmp_path, 1)
    folder = workspace.run_folder("0" * 10)
    folder.watch.mkdir(parents=True)
    (folder.watch / "any.jsonl").write_bytes(
        b'{"kind": "row"}\n{"kind": "to{"kind": "asked"}\n\n\xff\n7\n{"kind": "ended"}\n'
    )
    assert [event["kind"] for event in Watcher(folder).read()] == ["row", "ended"]


def test_nobody_watches_in_a_workspace_that_is_open_for_reading(tmp_path: Path) -> None:
    workspace = workspace_with(tmp_path, 1)
    shut = Workspace(replace(workspace.settings, read_only=True))
    with pytest.raises(ReadOnly):
        ask.watch(shut, "r")
    assert not shut.run_folder("r").path.exists()


def test_a_file_of_events_has_a_limit_and_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(row_watch, "MAX_BYTES", 10_000)
    monkeypatch.setattr(row_watch, "_MOST_READ", 2_000)
    folder = workspace_with(tmp_path, 1).run_folder("0" * 10)
    folder.watch.mkdir(parents=True)
    path = folder.watch / "any.jsonl"
    stream = row_watch._Stream(
        RowFeed(Pair("a", "a", "a", None, "test")), path, FileIO(path, "w"), str
    )
    for event in ({"kind": "words", "content": "x" * 1_000},) * 50 + ({"kind": "ended"},):
        stream.write(event)
    assert path.stat().st_size < 11_000
    heard = []
    listen(Watcher(folder), heard.append)()
    assert [event["kind"] for event in heard] == ["words"] * 9 + ["ended"]


@pytest.mark.parametrize("age_s", [86_400.0, -86_400.0], ids=["of yesterday", "of tomorrow"])
def test_a_marker_of_another_day_is_nobodys(tmp_path: Path, age_s: float) -> None:
    """As after the clock was set by a day while somebody watched, and left."""
    folder = RunFolder(tmp_path)
    marker = folder.watch / row_watch.MARKER
    folder.watch.mkdir()
    marker.touch()
    RowWatch(folder, str).look()
    assert marker.exists()
    os.utime(marker, (time.time() - age_s,) * 2)
    RowWatch(folder, str).look()
    assert not folder.watch.exists()
