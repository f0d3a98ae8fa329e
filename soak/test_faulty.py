"""The methods themselves, in worker processes, against a server that fails in every way it can: each kind of fault for each
method, and the memory of a worker that is sent 50 MB an answer.

tests/llm/test_faulty_answers.py has each fault for a client, tests/runs/test_worker.py failures that retry mends.
"""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import json
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import pytest

from core.base import log
from core.base.types import LIVE_STATES, Failed
from core.features.arguments.findings import CLASH
from core.features.arguments.methods.judge_rubric import reading_options
from core.features.arguments.rubric import Rubric
from core.features.asking import actions as ask
from core.methods.base import method_named
from core.runs import launch as launching
from core.runs import run_control
from core.runs.jobs.folder import log_tail
from core.runs.jobs.state import HEARTBEAT_EVERY_S
from core.runs.journal import read_entries, read_progress
from core.runs.request import RunRequest
from core.runs.run_state import Status
from core.runs.workspace import Workspace
from core.store import traces
from core.store.runs import Run
from soak.conftest import Record
from tests import hostile_server
from tests.fakes.scripted import Faults, Script, request_counts, serving
from tests.fakes.watching import listen
from tests.runs.cases import end_worker, fast, keyed, status, stored_rows, wish, workspace_with

ROWS = 300
SHARE = 0.05  # of each fault of a group
RETRIES = 25  # of the failed rows at most
KEY = "sk-open-sesame-9"
SILENCE_S = 60.0  # without a finished row: a worker that hangs
LONGEST_S = 150.0  # a hostile run: two attempts at each call, all of which take as long as they may
FEW, TIME_LIMIT_S = 16, 5.0  # rows against a hostile server, and seconds for an answer
MOST_MB = 500  # of a worker's memory
CAUSES = {"Unanswered", "Refused", "Malformed", "Truncated", "NoLogprobs"}
NUMBERS = ["p_de", "p_up_given_de", "prediction_up", "prediction_down", "flags", "answers"]
READS = ("judge_rubric", "read_findings")
METHODS = {
    "prompt_only": {"answers": "logprobs"},
    "debate": {"judge": "logprob"},
    "react": {},
    "coordinator": {},
    "summer": {"seeds": "1"},
    "local_model": {},
    "judge_rubric": {"answers": "logprobs"},
    "read_findings": {},
}
RUBRIC = Rubric("argues", "Does the text argue for one side?", unit="verdict")
AGENTS = ("react", "coordinator")
GROUPS = {
    "refused for now": ("error", "unavailable", "busy", "busy_silent", "busy_absurd", "redirect"),
    "no answer": ("dropped", "reset", "hang", "drip"),
    "not HTTP, or too much": ("wrong_length", "bad_chunks", "bomb", "huge"),
    "not an answer": ("half", "null", "html", "deep", "big_integer", "bad_utf8", "no_choices"),
    "something odd": ("empty", "absurd_usage", "other_model"),
    "something missing": ("not_finite", "no_logprobs", "wrong_format"),
}
ASKED_AGAIN = "something missing"  # the group after which another question is asked, whose answer is another one
# The agents make up to ten calls a row, so they meet two groups at once.
CELLS = [
    *((name, (group,)) for name in METHODS if name not in AGENTS for group in GROUPS),
    *(
        (name, tuple(groups))
        for name in AGENTS
        for groups in zip(list(GROUPS)[::2], list(GROUPS)[1::2], strict=True)
    ),
]


class Finished(NamedTuple):
    """A run that has ended, and the most memory that its worker took, in MB."""

    run: Run
    peak_mb: float


class Reference(NamedTuple):
    """The numbers of a run against a server without faults, by row, and the sorted keys of what each row asked."""

    numbers: pd.DataFrame
    asked: pd.Series


def launch(
    workspace: Workspace,
    name: str,
    url: str,
    *,
    timeout_s: float = 2.0,
    rows: int = ROWS,
    **options: Any,
) -> Run:
    """A run by a worker process of its own, as people start one."""
    settings = fast(
        url,
        rows_in_flight=16,
        concurrency=16,
        retries=1,
        timeout_s=timeout_s,
        unanswered_limit=ROWS + 1,
    )
    if name in READS:
        parent = _parent(workspace, name)
        clash = {"schema": CLASH.schema.text, "run": parent, **options}
        asked_of = reading_options(RUBRIC, parent, **options) if name == "judge_rubric" else clash
        request = RunRequest(name, options=asked_of, model="scripted")
        spec = launching.resolve(workspace, request)
    else:
        spec = wish(
            workspace,
            method_named(name),
            f"split=test; sample={rows},seed=0",
            model="scripted",
            options=options,
        )
    return run_control.start(keyed(workspace, url, KEY), spec, name, settings)


def _parent(workspace: Workspace, reader: str) -> str:
    """The debate that is read, made against a server without faults; a clash takes advocates."""
    with serving() as url:
        return finish(
            workspace,
            launch(workspace, "debate", url, timeout_s=60.0, rounds=int(reader != "judge_rubric")),
        ).run.id


def _with_key(workspace: Workspace, run: Run) -> Workspace:
    return keyed(workspace, run_control.settings_of(workspace, run.id).servers, KEY)


def finish(workspace: Workspace, run: Run) -> Finished:
    """Waits until the run is done. A worker that finishes no row for a minute hangs.

    A run whose last rows all met faults is stopped, since a server that is gone looks the same: it is resumed.
    """
    peak_mb = wait_until_ended(workspace, run)
    while (now := status(workspace, run)).state == "stopped" and now.cause.startswith(
        "nobody answered"
    ):
        run_control.resume(_with_key(workspace, run), run.id)
        peak_mb = max(peak_mb, wait_until_ended(workspace, run))
    assert now.state == "done", now
    return Finished(run_control.settle(workspace, run.id), peak_mb)


def wait_until_ended(workspace: Workspace, run: Run) -> float:
    """Waits until no worker is on the run; returns the most memory that it took, in MB."""
    peak_mb, rows, since = 0.0, 0, time.monotonic()
    while (now := status(workspace, run)).state in LIVE_STATES:
        peak_mb = max(peak_mb, peak_of(now.pid))
        if (finished := now.counts.done + now.counts.failed) != rows:
            rows, since = finished, time.monotonic()
        assert time.monotonic() - since < SILENCE_S, (
            f"{rows} rows; {log_tail(workspace.run_folder(run.id))}"
        )
        time.sleep(0.05)
    return peak_mb


def peak_of(pid: int | None) -> float:
    """The most memory that a process took so far, in MB; 0 if it has ended."""
    try:
        found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    except OSError:
        return 0.0
    return int(found[1]) / 1024 if found else 0.0


def by_row(workspace: Workspace, run: Run) -> pd.DataFrame:
    """The rows of a run; answers: what each text of a reading was answered with, in order, with its findings."""
    with workspace.store.read() as db:
        events = traces.frame(db, run.id)
    metas = map(json.loads, events["meta"])
    found = [meta.get("point", meta.get("answer")) for meta in metas]
    answers = (
        events.assign(answer=found)
        .groupby("pair_id")["answer"]
        .agg(lambda each: " ".join(map(str, each)))
    )
    stored = stored_rows(workspace, run.id).set_index("pair_id")
    return stored.assign(answers=answers.reindex(stored.index))


def asked(workspace: Workspace, run: Run) -> pd.Series:
    """The requests of each row that were answered: by pair id, the sorted keys."""
    query = """SELECT r.pair_id, string_agg(c.key, ' ' ORDER BY c.key) AS keys FROM row_call r JOIN call c ON c.id = r.call
               WHERE r.run = ? AND r.error = '' GROUP BY ALL"""
    with workspace.store.read() as db:
        return db.execute(query, [run.id]).df().set_index("pair_id")["keys"]


@functools.cache
def reference(name: str, folder: Path) -> Reference:
    """The same run against a server without faults, made once a method."""
    workspace = workspace_with(folder / name, ROWS)
    with serving() as url:
        run = finish(workspace, launch(workspace, name, url, timeout_s=60.0, **METHODS[name])).run
    assert (run.done, run.failed) == (ROWS, 0)
    return Reference(by_row(workspace, run)[NUMBERS], asked(workspace, run))


def failed_kinds(workspace: Workspace, run: Run) -> Counter[str]:
    entries = read_entries(workspace.run_folder(run.id).rows)
    return Counter(entry.kind for entry, _ in entries if isinstance(entry, Failed))


def assert_true(workspace: Workspace, run: Run, right: Reference, *, asked_again: bool) -> int:
    """Every row is a result or a failure with its cause, once in the journal and once in the store; a result is that of the
    server without faults, if it was asked the same. No log has a traceback. Returns how many rows could be compared."""
    progress = read_progress(workspace.run_folder(run.id).rows)
    stored = by_row(workspace, run)
    assert run.done + run.failed == len(progress.finished) == len(stored) == ROWS
    assert progress.repeated == 0
    assert set(stored.index) == progress.finished
    assert set(stored.index[stored["error"].notna()]) == set(progress.failed)
    assert set(failed_kinds(workspace, run)) <= CAUSES
    done = stored[stored["error"].isna()][NUMBERS]
    same = done.index[asked(workspace, run).reindex(done.index) == right.asked.reindex(done.index)]
    if not asked_again:
        assert len(same) == len(done)
    pd.testing.assert_frame_equal(done.loc[same], right.numbers.loc[same])
    logs = "\n".join(log_tail(workspace.run_folder(run.id), lines=100_000)) + log.log_file(
        workspace.settings
    ).read_text("utf-8")
    for trouble in ("Traceback", "Unclosed", "never retrieved"):
        assert trouble not in logs
    assert KEY not in logs
    assert KEY.encode() not in workspace.run_folder(run.id).rows.read_bytes()
    return len(same)


def retry_until_done(
    workspace: Workspace, run: Run, right: Reference, *, asked_again: bool = False
) -> tuple[Run, int, int]:
    """The run when `retry` has mended every row; how often it was retried, and how many rows were compared in the end."""
    rounds = 0
    while run.failed and rounds < RETRIES:
        run = finish(workspace, run_control.retry(_with_key(workspace, run), run.id)).run
        assert_true(workspace, run, right, asked_again=asked_again)
        rounds += 1
    assert (run.status, run.done, run.failed) == ("done", ROWS, 0)
    return run, rounds, assert_true(workspace, run, right, asked_again=asked_again)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the runs against servers without faults are."""
    return tmp_path_factory.mktemp("right")


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    """A workspace whose workers are ended if the test fails."""
    made = workspace_with(tmp_path / "faulty", ROWS)
    yield made
    for run, now in run_control.states(made).items():
        if now.state in LIVE_STATES:
            with made.store.read() as db:
                end_worker(made, run_control.runs.find(db, run))


def skip_without_agents(name: str) -> None:
    if name in AGENTS and importlib.util.find_spec("dspy") is None:
        pytest.skip("requirements-agents.txt is not installed")


def test_every_fault_is_in_a_group() -> None:
    assert sorted(name for group in GROUPS.values() for name in group) == sorted(Faults.names())


@pytest.mark.parametrize(
    ("name", "groups"), CELLS, ids=[f"{name}: {'; '.join(groups)}" for name, groups in CELLS]
)
def test_rows_are_right_or_failures_and_retry_completes_the_run(
    name: str, groups: tuple[str, ...], folder: Path, workspace: Workspace, record: Record
) -> None:
    skip_without_agents(name)
    right, asked_again = reference(name, folder), ASKED_AGAIN in groups
    faults = [fault for group in groups for fault in GROUPS[group]]
    with serving(
        Script(faults=Faults.each(SHARE, *faults), retry_after_s=0.01, api_key=KEY)
    ) as url:
        run, peak_mb = finish(workspace, launch(workspace, name, url, **METHODS[name]))
        assert_true(workspace, run, right, asked_again=asked_again)
        first = failed_kinds(workspace, run)
        run, rounds, compared = retry_until_done(workspace, run, right, asked_again=asked_again)
        counts = request_counts(url)
    served = {fault: counts.get(fault, 0) for fault in faults}
    record(
        failed_at_first=dict(first),
        retries=rounds,
        compared=compared,
        served=served,
        worker_mb=f"{peak_mb:.0f}",
    )
    assert peak_mb < MOST_MB
    assert all(served.values())
    assert compared > ROWS // 4


@pytest.mark.parametrize("fault", ["huge", "bomb"])
def test_a_worker_that_is_sent_50_mb_an_answer_stays_small(
    fault: str, workspace: Workspace, record: Record
) -> None:
    with serving(Script(faults=Faults.each(1.0, fault))) as url:
        begun = launch(
            workspace, "prompt_only", url, timeout_s=60.0, rows=100, **METHODS["prompt_only"]
        )
        run, peak_mb = finish(workspace, begun)
        served = request_counts(url)
    record(worker_mb=f"{peak_mb:.0f}", served=served)
    assert (run.done, run.failed) == (0, 100)
    assert failed_kinds(workspace, run) == {"Malformed": 100}
    assert served[fault] == 300  # none is asked for again
    assert 0 < peak_mb < MOST_MB


class Watched(NamedTuple):
    """A run against a hostile server, how long it took, and the longest time between two heartbeats, in seconds.

    late: how many of its rows failed for time alone.
    """

    finished: Status
    late: int
    cause: str
    seconds: float
    gap_s: float
    peak_mb: float


@pytest.fixture(scope="module")
def hostile() -> Iterator[str]:
    """The address of the hostile server, in a process of its own."""
    server = subprocess.Popen(
        [sys.executable, "-m", "tests.hostile_server"],
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parent.parent,
    )
    try:
        yield server.stdout.readline().strip()
    finally:
        server.kill()
        server.wait()


def run_against(workspace: Workspace, url: str, mode: str, *, streamed: bool) -> Watched:
    """Eight rows at a time, of which one is watched if a stream is wanted; a watched row asks for one."""
    settings = fast(
        f"{url}/{mode}/v1",
        rows_in_flight=8,
        concurrency=8,
        retries=1,
        timeout_s=TIME_LIMIT_S,
        unanswered_limit=99,
    )
    spec = wish(
        workspace,
        method_named("prompt_only"),
        f"split=test; sample={FEW},seed=0",
        model=hostile_server.MODEL,
    )
    began_at = time.monotonic()
    heard = []
    run = run_control.start(workspace, spec, f"{mode} {streamed}", settings, begin=lambda *_: None)
    end = listen(ask.watch(workspace, run.id), heard.append) if streamed else lambda: None
    run_control.start_worker(workspace, run.id)
    heartbeat = workspace.run_folder(run.id).heartbeat
    peak_mb, gap_s, beat = 0.0, 0.0, 0
    while (now := status(workspace, run)).state in LIVE_STATES:
        peak_mb = max(peak_mb, peak_of(now.pid))
        with contextlib.suppress(FileNotFoundError):
            at = heartbeat.stat().st_mtime_ns
            gap_s, beat = max(gap_s, (at - beat) / 1e9 if beat else 0.0), at
        assert time.monotonic() - began_at < LONGEST_S, log_tail(workspace.run_folder(run.id))
        time.sleep(0.02)
    end()
    return Watched(
        now,
        failed_kinds(workspace, run)["Unanswered"],
        now.cause,
        time.monotonic() - began_at,
        gap_s,
        peak_mb,
    )


@pytest.mark.parametrize("streamed", [True, False], ids=["streamed", "plain"])
@pytest.mark.parametrize("mode", hostile_server.MODES)
def test_a_hostile_server_neither_holds_a_worker_nor_fills_it(
    mode: str, streamed: bool, hostile: str, workspace: Workspace, record: Record
) -> None:
    """A heartbeat comes every second: so long a worker may be held beyond that, and no longer than one second more."""
    found = run_against(workspace, hostile, mode, streamed=streamed)
    counts = found.finished.counts
    record(
        state=found.finished.state,
        done=counts.done,
        failed=counts.failed,
        **found._asdict() | {"finished": ""},
    )
    assert found.finished.state in ("done", "stopped")
    assert found.peak_mb < 600
    assert found.gap_s < HEARTBEAT_EVERY_S + 1.0
    if mode in hostile_server.BODIES and mode not in hostile_server.RIGHT:
        assert counts.done == 0
    elif (
        mode in hostile_server.RIGHT or not streamed
    ):  # else those rows that nobody watched were asked plainly
        in_time = (
            FEW - found.late if mode in hostile_server.HEAVY else FEW
        )  # how many are, the machine decides
        assert (found.finished.state, counts.done) == ("done", in_time)
