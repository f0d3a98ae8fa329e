"""Every kind of job is on core/jobs: it is listed, told as crashed, resumed once, stopped, and has a page.

tests/runs/jobs/test_work.py kills, stops and starves one small job; soak/test_job_kills.py does so to each kind.
"""

from __future__ import annotations

import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import get_args

import pytest
from filelock import FileLock

from core.base.config import REPOSITORY
from core.base.errors import InputError, NotFound, StateError
from core.features.experiments import engine
from core.features.finetune import actions as finetunes
from core.features.targets import actions as target_ranking
from core.runs import actions as run_actions
from core.runs import run_control
from core.runs.jobs import control, overview
from core.runs.jobs import control as base
from core.runs.jobs.control import WORDS, Job, kinds
from core.runs.jobs.folder import JobFolder
from core.runs.jobs.state import NO_REASON, beat, record_ending
from core.runs.jobs.state import State as JobState
from core.runs.run_state import State as RunState
from core.runs.workspace import Workspace
from core.store import runs
from tests import commands, worlds
from tests.runs.jobs.crashed import MAKERS, SAID
from tests.runs.jobs.started import counted
from tests.runs.killed import killed_run

CAUSE = f"{NO_REASON}; the last line of its log: {SAID}"
each_kind = pytest.mark.parametrize("kind", sorted(MAKERS))


@pytest.fixture(scope="module")
def crashed(tmp_path_factory: pytest.TempPathFactory, small_template: Path) -> Workspace:
    """A workspace with a crashed job of every kind; tests leave it as it is."""
    workspace = worlds.copied(
        small_template,
        worlds.workspace_in(tmp_path_factory.mktemp("w")),
    )
    for make in MAKERS.values():
        make(workspace)
    return workspace


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What would have been started."""
    found = []
    for module, name in (
        (overview, "resume"),
        (engine, "resume"),
        (finetunes, "resume"),
        (target_ranking, "resume"),
        (run_control, "resume"),
    ):
        monkeypatch.setattr(module, name, lambda *_, of=module.__name__: found.append(of))
    return found


def of_kind(workspace: Workspace, kind: str) -> Job:
    [job] = control.list_jobs(workspace, [kind])
    return job


def test_a_new_kind_has_a_maker_here_and_every_state_words() -> None:
    assert set(kinds()) == set(MAKERS)
    assert {*get_args(RunState), *get_args(JobState)} | {base.UNFINISHED} == set(WORDS)
    assert WORDS["interrupted"] == "interrupted; can be resumed"


@each_kind
def test_one_that_died_is_listed_with_its_cause_and_resumed_once(
    kind: str, crashed: Workspace, started: list[str]
) -> None:
    job = of_kind(crashed, kind)
    assert isinstance(job.folder, JobFolder)
    assert (job.kind, job.state, job.is_live, job.can_stop, job.can_resume) == (
        kind,
        "crashed",
        False,
        False,
        True,
    )
    assert job.cause == CAUSE
    assert job.last_line == SAID
    # training has no page
    assert kind == "finetune" or (REPOSITORY / "pages" / f"{job.page}.py").is_file()
    with pytest.raises(StateError, match="expected a running job"):
        control.stop(crashed, job)
    control.resume(crashed, job)
    assert len(started) == 1


DAMAGED = (
    ("heartbeat", "{}"),
    ("heartbeat", '{"pid": "x", "host": 3, "born": []}'),
    ("done.json", ""),
    ("done.json", "{}"),
    ("done.json", '{"state": "gone", "cause": null, "counts": {"done": "all"}, "total": "2"}'),
    ("job.json", '{"wanted": {"x": 1}}'),
    ("job.json", '{"kind": [], "arguments": 3, "started_at": "now"}'),
)


@each_kind
@pytest.mark.few(4)
@pytest.mark.parametrize(("file", "content"), DAMAGED)
def test_one_with_a_damaged_file_hides_no_other_and_is_resumed(
    kind: str, file: str, content: str, crashed: Workspace, started: list[str]
) -> None:
    damaged = of_kind(crashed, kind).folder.path / file
    before = damaged.read_bytes() if damaged.exists() else None
    damaged.write_text(content)
    try:
        assert {job.state for job in control.list_jobs(crashed)} == {"crashed"}
        overview.find_unsettled(crashed)
        assert {status.state for status in run_control.states(crashed).values()} == {"crashed"}
        job = of_kind(crashed, kind)
        if (kind, file) == ("cells", "job.json"):
            with pytest.raises(StateError, match="repeat the command that started it"):
                control.resume(crashed, job)
        else:
            control.resume(crashed, job)
            assert len(started) == 1
    finally:
        damaged.unlink() if before is None else damaged.write_bytes(before)


@pytest.mark.parametrize("kind", sorted({*MAKERS} - {"run", "reading"}))
def test_one_that_died_is_settled_wherever_its_kind_keeps_it(
    kind: str, small_workspace: Workspace
) -> None:
    folder = MAKERS[kind](small_workspace)
    assert [found.path for found in overview.find_unsettled(small_workspace)] == [folder.path]
    assert [found.path for found in overview.settle_crashed(small_workspace)] == [folder.path]
    assert overview.find_unsettled(small_workspace) == []


def test_a_folder_of_the_user_s_that_looks_like_a_job_is_left_alone(
    small_workspace: Workspace,
) -> None:
    screens = small_workspace.settings.data / "screens"
    (screens / "first" / "control").mkdir(parents=True)
    (screens / "second").mkdir()
    (screens / "second" / "control").write_bytes(b"cells\n\xff\n")
    before = sorted(screens.rglob("*"))
    assert overview.settle_crashed(small_workspace) == []
    assert sorted(screens.rglob("*")) == before


@pytest.mark.soak
def test_a_command_that_starts_a_process_ends_quietly(small_workspace: Workspace) -> None:
    command = [sys.executable, "-m", "core", "--workspace", str(small_workspace.settings.workspace)]
    command += ["run", "evidence_rules", "--dataset", "bmdm", "--detach"]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.soak
def test_runs_are_settled_in_the_store_by_every_command_but_their_worker(tmp_path: Path) -> None:
    workspace, run = killed_run(tmp_path)

    def stored():
        with workspace.store.read() as db:
            return runs.find(db, run.id).status

    assert overview.find_unsettled(workspace) == []
    assert commands.core(tmp_path, "worker", "nobody").status == 1
    assert stored() == "running"
    assert commands.core(tmp_path, "note list nobody").status == 1
    assert stored() == "crashed"


@each_kind
def test_one_that_is_live_is_not_resumed(
    kind: str, crashed: Workspace, started: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    job = of_kind(crashed, kind)
    live = Job(kind, job.key, job.name, job.folder, "running", is_live=True, can_stop=True, pid=7)
    monkeypatch.setattr(type(kinds()[kind]), "find", lambda *_: live)
    with pytest.raises(
        StateError, match="process 7 is working on it, expected one that ended early"
    ):
        control.resume(crashed, job)
    assert started == []


def test_of_several_who_resume_one_at_once_one_starts_a_process(
    small_workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    MAKERS["targets"](small_workspace)
    job, wait = of_kind(small_workspace, "targets"), threading.Barrier(4)

    def resume(_):
        wait.wait()
        try:
            return control.resume(small_workspace, job).state
        except StateError as error:
            return str(error)

    with counted(monkeypatch, "targets") as processes, ThreadPoolExecutor(4) as pool:
        said = sorted(pool.map(resume, range(4)))
        [process] = processes
    # Who looks while the process starts, without waiting for the one who started it, sees no process on it yet.
    doing = (f"process {process.pid} is working on it", "is waiting")
    *refused, resumed = said
    assert resumed == "running"
    assert len(refused) == 3
    assert set(refused) <= {
        f"job {job.title}: {why}, expected one that ended early and can be resumed" for why in doing
    }


class Counting(base.JobKind):
    name, title, page = "counting", "count", "data"


def test_a_declared_job_that_works_is_left_alone_and_refuses_other_data(
    small_workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(control, "kinds", lambda: {Counting.name: Counting()})
    with counted(monkeypatch, Counting.name) as processes:
        for _ in range(2):
            control.start(small_workspace, Counting.name, "labels", {"of": 1})
        with pytest.raises(
            StateError, match=r"counting/labels: is running with other data; stop it, or wait"
        ):
            control.start(small_workspace, Counting.name, "labels", {"of": 2})
        assert len(processes) == 1


def test_who_waits_in_vain_for_another_to_resume_is_told(
    small_workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = MAKERS["targets"](small_workspace)
    monkeypatch.setattr(control, "FIRST_HEARTBEAT_S", 0.1)
    with (
        FileLock(folder.resume_lock),
        pytest.raises(StateError, match="somebody else is resuming it"),
    ):
        control.resume(small_workspace, of_kind(small_workspace, "targets"))


@pytest.mark.soak
def test_a_run_that_waits_for_its_worker_can_be_stopped(small_workspace: Workspace) -> None:
    folder = MAKERS["run"](small_workspace)
    folder.heartbeat.unlink()
    folder.set_command("run")
    job = of_kind(small_workspace, "run")
    assert (job.state, job.can_stop, job.can_resume) == ("waiting", True, False)
    job = control.stop(small_workspace, job)
    assert (job.state, job.can_stop, job.can_resume) == ("cancelled", False, True)


def test_a_done_one_is_left_alone_and_a_damaged_one_is_listed(small_workspace: Workspace) -> None:
    folder = MAKERS["cells"](small_workspace)
    record_ending(folder, "done")
    job = of_kind(small_workspace, "cells")
    assert (job.state, job.share, job.words) == ("done", 1.0, "done")
    with pytest.raises(StateError, match=r"cells/screen: is done, expected"):
        control.resume(small_workspace, job)
    folder.done.write_text("[")
    job = of_kind(small_workspace, "cells")
    assert job.state == "crashed"
    assert "its files cannot be read" in job.cause


@pytest.mark.soak
def test_the_commands_show_every_kind(crashed: Workspace, started: list[str]) -> None:
    place = crashed.settings.workspace
    name = f"experiment/{of_kind(crashed, 'experiment').key}"
    listed = commands.core_json(place, "jobs", "list")["jobs"]
    assert {job["kind"]: job["state"] for job in listed} == dict.fromkeys(kinds(), "crashed")
    for job in listed:
        log = commands.core_json(place, "jobs", "log", job["job"], "--lines", "3")
        assert (log["lines"], log["cause"], log["id"]) == ([SAID], job["cause"], job["id"])
    done = commands.core(place, "jobs", "stop", name)
    assert (done.status, "is crashed, expected a running job" in done.err) == (1, True)
    for verb in ("pause", "cancel", "retry"):
        refused = commands.core(place, "jobs", verb, name)
        assert (
            refused.status,
            "cannot be done to a experiment; expected log, stop, resume" in refused.err,
        ) == (1, True)
    moved = commands.core(place, "jobs", "resume", name, "--token-budget", "9")
    assert (moved.status, "--token-budget" in moved.err) == (2, True)
    assert (
        commands.core_json(place, "jobs", "resume", name)["id"]
        == of_kind(crashed, "experiment").key
    )
    assert started == ["core.features.experiments.engine"]


def test_names_are_found_with_and_without_their_kind(crashed: Workspace) -> None:
    job = of_kind(crashed, "cells")
    for name in ("screen", "cells/screen", job.key, f"cells/{job.key}"):
        assert control.find_named(crashed, name).key == job.key
    with pytest.raises(
        NotFound, match=r"job 'scree': not in this workspace, did you mean cells/screen\?"
    ):
        control.find_named(crashed, "scree")


def test_a_name_of_several_is_asked_for_with_its_kind(
    crashed: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = of_kind(crashed, "cells")
    other = Job("targets", "k", "screen", one.folder, "done")
    monkeypatch.setattr(control, "list_jobs", lambda *_: [one, other])
    with pytest.raises(
        InputError, match=rf"2 jobs have this name, expected one of cells/{one.key}, targets/k"
    ):
        control.find_named(crashed, "screen")
    assert control.find_named(crashed, "targets/screen") == other


def test_one_that_was_asked_to_end_says_so_and_is_asked_once(small_workspace: Workspace) -> None:
    folder = MAKERS["targets"](small_workspace)
    beat(folder, {"share": 0.4, "what": "fitting"})
    job = of_kind(small_workspace, "targets")
    assert (job.state, job.share, job.progress, job.can_stop, job.can_resume) == (
        "running",
        0.4,
        "fitting",
        True,
        False,
    )
    job = control.stop(small_workspace, job)
    assert folder.command() == "cancel"
    assert (job.is_live, job.can_stop, job.waits_for) == (
        True,
        False,
        "the end of the current step, then it stops",
    )
    with pytest.raises(
        StateError, match="is running, expected a running job that is not already stopping"
    ):
        control.stop(small_workspace, job)


def test_an_experiment_that_cannot_be_read_hides_no_other(
    crashed: Workspace, caplog: pytest.LogCaptureFixture
) -> None:
    before = {job.title for job in control.list_jobs(crashed)}
    for values in ({"x": 1}, {"runs": "[", "name": "broken"}, {"runs": 3, "name": []}):
        run_actions.save_preset(crashed, engine.PAGE, "broken", values)
        try:
            assert {job.title for job in control.list_jobs(crashed)} == before
            assert "experiment 'broken' cannot be read" in caplog.text
        finally:
            run_actions.delete_preset(crashed, engine.PAGE, "broken")
        caplog.clear()


@pytest.mark.parametrize("kind", ["run", "reading"])
def test_one_run_is_found_without_a_look_at_the_others(
    kind: str, crashed: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = of_kind(crashed, kind)
    monkeypatch.setattr(type(kinds()[kind]), "list_jobs", None)
    found = kinds()[kind].find(crashed, job.key)
    assert (found.title, found.state) == (job.title, job.state)
    other = {"run": "reading", "reading": "run"}[kind]
    assert kinds()[other].find(crashed, job.key) is None
    assert kinds()[kind].find(crashed, job.name) is None
