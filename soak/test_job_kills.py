"""Every kind of background work, killed, stopped and left without disk while it runs, beside one that was left alone.

tests/runs/jobs/test_work.py does the same to one small job, tests/runs/test_killed.py to a run; soak/test_kills.py kills a run
fifty times. Commands that are no jobs (report build, backup, import) are killed and given again.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tarfile
import threading
import time
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from core.base.errors import DeskError, StoreBusy
from core.base.result import to_json
from core.features.arguments import readings, rubric_tables
from core.features.arguments.findings import CLASH
from core.features.arguments.readings import ReadingSettings
from core.features.arguments.rubric import Rubric
from core.features.arguments.schema_reading import reading_of_run
from core.features.cells import actions as cells
from core.features.cells.actions import LabelRequest
from core.features.cells.screen import LabelSettings
from core.features.experiments import engine
from core.features.experiments.kinds.shown import NamesSettings, ToolsSettings
from core.features.finetune import actions as finetunes
from core.features.finetune import job_folder as finetune_process
from core.features.finetune.job_folder import FinetuneRequest
from core.features.targets import actions as target_ranking
from core.features.targets.evaluate import TrainingRequest
from core.runs import launch
from core.runs.jobs import control, overview
from core.runs.jobs import work as job_start
from core.runs.jobs.control import Job, kinds
from core.runs.jobs.folder import JobFolder
from core.runs.jobs.state import STALE_AFTER_S, last_heartbeat
from core.runs.request import RunRequest
from core.runs.workspace import Workspace
from core.store import datasets, pairs, runs
from core.store.connection import Store
from soak.conftest import Record
from tests import commands, mounts, worlds
from tests.fakes.scripted import Script, serving
from tests.features.cells.cases import write_case

KILLS = 4
SEED = 7
DELAY_S = 0.1  # of each answer
WAIT_S = 300.0
LOCAL = "127.0.0.1"
DISK_BYTES = 400 << 20
RUBRIC = Rubric("names-a-mechanism", "Does the brief name a mechanism?")


@dataclass(frozen=True)
class Kind:
    """One kind of background work, by its name. result: equal tables are equal work. called: the name
    of what was started, where there are others of its kind."""

    name: str
    start: Callable[[Workspace, str], object]
    result: Callable[[Workspace], Any]
    called: str = ""

    def job(self, workspace: Workspace) -> Job:
        """What was started, as pages and commands see it now."""
        return next(
            job
            for job in control.list_jobs(workspace, [self.name])
            if self.called in ("", job.name)
        )

    def folder(self, workspace: Workspace) -> JobFolder:
        return self.job(workspace).folder

    def state(self, workspace: Workspace) -> tuple[str, str]:
        """The state and its cause."""
        job = self.job(workspace)
        return job.state, job.cause

    def is_live(self, workspace: Workspace) -> bool:
        return self.job(workspace).is_live

    def resume(self, workspace: Workspace) -> None:
        control.resume(workspace, self.job(workspace))


def _tools(workspace: Workspace, url: str) -> None:
    settings = ToolsSettings(run="argued", repeats=2, endpoint=url)
    engine.start_apart(workspace, engine.plan(workspace, "tools", settings))


def _names(workspace: Workspace, url: str) -> None:
    settings = NamesSettings(run="argued", arms=("coded", "alone"), endpoint=url, concurrency=2)
    engine.start_apart(workspace, engine.plan(workspace, "names", settings))


def _experiment_result(workspace: Workspace) -> Any:
    return [to_json(engine.result_of(workspace, saved)) for saved in engine.list_saved(workspace)]


def _screen(workspace: Workspace) -> Path:
    return workspace.settings.workspace / "screen.h5ad"


def _labels(workspace: Workspace, _url: str) -> None:
    cells.start_labels(
        workspace, str(_screen(workspace)), LabelRequest("screen", LabelSettings()), LOCAL
    )


def _labels_result(workspace: Workspace) -> Any:
    with workspace.store.read() as db:
        return pairs.frame(db, datasets.find(db, "screen").id).to_dict("list")


def _targets(workspace: Workspace, _url: str) -> None:
    models = {"pca_knn": {}, "random_forest": {}}
    request = TrainingRequest("small", models=models)
    target_ranking.start_apart(workspace, request)


def _targets_result(workspace: Workspace) -> Any:
    return [
        each.table.to_dict("list") for each in target_ranking.find(workspace, "small").evaluations()
    ]


def _finetune(workspace: Workspace, _url: str) -> None:
    finetunes.start(workspace, FinetuneRequest(base="nobody/small", options={"parts": 2}))


def _finetune_result(workspace: Workspace) -> Any:
    folder = finetunes.find(workspace)
    return (Path(folder.spec().out) / "model.safetensors").read_text()


def _run_request(url: str) -> RunRequest:
    return RunRequest(
        "prompt_only",
        None,
        {},
        "split=train",
        "asked alone",
        "scripted",
        endpoint=url,
        concurrency=2,
    )


def _run(workspace: Workspace, url: str) -> None:
    launch.start(workspace, _run_request(url), detach=True)


def _rows_of(workspace: Workspace, name: str) -> Any:
    overview.settle_ended(workspace)
    with workspace.store.read() as db:
        run = runs.find(db, name).id
        found = db.execute(
            "SELECT pair_id, p_de, prediction_up, prediction_down, error FROM prediction WHERE run = ?",
            [run],
        )
        return sorted(map(str, found.fetchall()))


def _reading(workspace: Workspace, url: str) -> None:
    settings = ReadingSettings(name="read", concurrency=2, endpoint=url)
    readings.start_reading(workspace, RUBRIC, "argued", settings, detach=True)


def _reading_result(workspace: Workspace) -> Any:
    overview.settle_ended(workspace)
    with workspace.store.read() as db:
        found = rubric_tables.readings(db, runs.find(db, "read").id)
    return sorted(
        map(
            str,
            found.drop(columns=[name for name in found if name.endswith("_at")]).to_dict("records"),
        )
    )


def _clash(workspace: Workspace, url: str) -> None:
    settings = ReadingSettings(name="clashes", concurrency=2, endpoint=url)
    readings.start_reading(workspace, CLASH.schema.rubric, "argued", settings, detach=True)


def _clash_result(workspace: Workspace) -> Any:
    overview.settle_ended(workspace)
    with workspace.store.read() as db:
        reading = runs.find(db, "clashes").id
    return sorted(map(str, reading_of_run(workspace, CLASH, "argued", reading).findings))


KINDS = [
    Kind("run", _run, lambda w: _rows_of(w, "asked alone"), "asked alone"),
    Kind("reading", _reading, _reading_result, "read"),
    Kind("reading", _clash, _clash_result, "clashes"),
    Kind("experiment", _tools, _experiment_result, "evidence of argued"),
    Kind("experiment", _names, _experiment_result, "names of argued"),
    Kind("cells", _labels, _labels_result),
    Kind("targets", _targets, _targets_result),
    Kind("finetune", _finetune, _finetune_result),
]


def test_every_kind_is_here() -> None:
    assert {kind.name for kind in KINDS} == set(kinds())


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with serving(Script(delay_s=DELAY_S)) as address:
        yield address


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, url: str) -> Path:
    """A screen with a debate that was argued, and cells."""

    def fill(workspace: Workspace) -> None:
        worlds.furnish(workspace)
        options = {"tools": "gene_class,base_rates"}
        launch.start(
            workspace,
            RunRequest(
                "debate", None, options, "split=train;sample=6", "argued", "scripted", endpoint=url
            ),
        )
        write_case(_screen(workspace))

    return worlds.template(tmp_path_factory.mktemp("made"), fill)


@pytest.fixture(autouse=True)
def _small_trainer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fine-tunes train without torch."""

    def start(folder: JobFolder, command: Any, environment: Any, **more: Any) -> int:
        return _start(
            folder,
            [
                part.replace("core.features.finetune.train", "soak.small_trainer")
                for part in command
            ],
            environment,
            **more,
        )

    _start = job_start.start
    monkeypatch.setattr(finetune_process, "PACKAGES", ("json",))
    monkeypatch.setattr(finetune_process, "OWN_PYTHON", Path("no interpreter"))
    monkeypatch.setattr(job_start, "start", start)


def world_in(place: Path, made: Path) -> Workspace:
    return worlds.copied(made, worlds.workspace_in(place))


def until(true: Callable[[], bool], what: str, within_s: float = WAIT_S) -> float:
    """Wait; return for how long."""
    since = time.monotonic()
    while not true():
        assert time.monotonic() - since < within_s, what
        time.sleep(0.05)
    return time.monotonic() - since


def alone(kind: Kind, place: Path, made: Path, url: str) -> tuple[str, float]:
    """The result of one that was left alone, and how long it took."""
    workspace = world_in(place, made)
    kind.start(workspace, url)
    took_s = until(lambda: not kind.is_live(workspace), f"{kind.name} to end")
    assert kind.state(workspace)[0] == "done", kind.state(workspace)
    return result_of(kind, workspace), took_s


def result_of(kind: Kind, workspace: Workspace) -> str:
    """What came out, as text: NaN equals NaN there."""
    return json.dumps(kind.result(workspace), sort_keys=True, default=str)


def resume_twice_at_once(kind: Kind, workspace: Workspace) -> None:
    """As two clicks do; one process is on it afterwards, or it is over already."""
    errors = []

    def click() -> None:
        try:
            kind.resume(workspace)
        except DeskError as error:
            errors.append(error)

    clicks = [threading.Thread(target=click) for _ in range(2)]
    for each in clicks:
        each.start()
    for each in clicks:
        each.join()
    assert len(errors) < len(clicks), errors


def processes_on(folder: JobFolder) -> int:
    """How many processes have a job's lock open."""
    import psutil

    own = os.getpid()
    found = 0
    for process in psutil.process_iter():
        try:
            found += process.pid != own and any(
                str(folder.lock) == file.path for file in process.open_files()
            )
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue
    return found


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_killed_again_and_again_it_is_the_one_that_was_not(
    kind: Kind, tmp_path: Path, made: Path, url: str, record: Record
) -> None:
    expected, took_s = alone(kind, tmp_path / "alone", made, url)
    workspace, rng = world_in(tmp_path / "killed", made), random.Random(SEED)
    kind.start(workspace, url)
    late_s, kills = [0.0], 0
    while kills < KILLS and kind.is_live(workspace):
        time.sleep(took_s * rng.random() / 2)
        folder = kind.folder(workspace)
        pid = int((last_heartbeat(folder) or {})["pid"])
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            break
        kills += 1
        late_s.append(until(lambda: not kind.is_live(workspace), "the crash to be seen"))
        state, cause = kind.state(workspace)
        if state == "done":
            break
        assert (state, bool(cause)) == ("crashed", True)
        assert_told(kind, workspace)
        resume_twice_at_once(kind, workspace)
        assert processes_on(folder) <= 1
    until(lambda: not kind.is_live(workspace), f"{kind.name} to end")
    assert kind.state(workspace)[0] == "done", kind.state(workspace)
    assert result_of(kind, workspace) == expected
    record(
        kind=kind.name,
        alone_s=f"{took_s:.1f}",
        kills=kills,
        longest_until_seen_s=f"{max(late_s):.1f}",
    )
    assert max(late_s) < STALE_AFTER_S


def assert_told(kind: Kind, workspace: Workspace) -> None:
    """After 20 s at most no command shows as running what nothing works on; its log and its error can be read."""
    place, key = workspace.settings.workspace, kind.job(workspace).key

    def is_true() -> bool:
        told = [run["status"] for run in commands.core_json(place, "runs")["runs"]]
        told += [job["state"] for job in commands.core_json(place, "jobs list --all")["jobs"]]
        return not set(told) & {"running", "waiting"}

    until(is_true, "the truth", STALE_AFTER_S + 5)
    log = commands.core_json(place, "jobs", "log", f"{kind.name}/{key}")
    assert (log["state"], bool(log["cause"])) == ("crashed", True)


def stop_outside_the_store(pid: int, workspace: Workspace) -> None:
    """Stop a process at a moment at which it holds nothing of the store: who needs the store would wait until it goes on."""
    at_once = Store(
        workspace.settings.store_file, workspace.settings.cache / "scratch", timeout_s=1.0
    )
    while True:
        os.kill(pid, signal.SIGSTOP)
        try:
            with at_once.write():
                return
        except StoreBusy:
            os.kill(pid, signal.SIGCONT)
        time.sleep(DELAY_S)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_stopped_for_longer_than_a_heartbeat_it_goes_on(
    kind: Kind, tmp_path: Path, made: Path, url: str, record: Record
) -> None:
    workspace = world_in(tmp_path / "stopped", made)
    kind.start(workspace, url)
    folder = kind.folder(workspace)
    pid = int((last_heartbeat(folder) or {})["pid"])
    stop_outside_the_store(pid, workspace)
    try:
        past = time.time() - 3600  # what a laptop finds after its sleep
        os.utime(folder.heartbeat, (past, past))
        was_live = kind.is_live(workspace)
        overview.settle_ended(workspace)
    finally:
        os.kill(pid, signal.SIGCONT)
    until(lambda: not kind.is_live(workspace), f"{kind.name} to end")
    record(kind=kind.name, live_while_stopped=was_live)
    assert kind.state(workspace)[0] == "done"
    assert was_live


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_without_disk_it_says_so_and_goes_on_when_there_is_some(
    kind: Kind, tmp_path: Path, made: Path, url: str, record: Record
) -> None:
    expected, _ = alone(kind, tmp_path / "alone", made, url)
    with mounts.small_disk(tmp_path / "disk", DISK_BYTES) as disk:
        workspace = world_in(disk / "workspace", made)
        kind.start(workspace, url)
        mounts.fill(disk)
        until(lambda: not kind.is_live(workspace), f"{kind.name} to end")
        state, cause = kind.state(workspace)
        (disk / "filler").unlink()
        if state != "done":
            assert "no space left" in cause or "database or disk is full" in cause, (state, cause)
            kind.resume(workspace)
            until(lambda: not kind.is_live(workspace), f"{kind.name} to end")
        assert kind.state(workspace)[0] == "done", kind.state(workspace)
        assert result_of(kind, workspace) == expected
        record(kind=kind.name, state_on_a_full_disk=state, cause=cause[:90])


COMMANDS = {
    "report": ("report", "build", "all", "--out", "OUT/report.html"),
    "backup": ("backup", "--out", "OUT/backup.tar"),
    "import": ("import", "OUT/../more.csv"),
    "bundle": ("export", "argued", "--format", "bundle", "--out", "OUT/run.zip"),
    "site": ("report", "site", "argued", "--out", "OUT/site"),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_that_was_killed_leaves_all_or_nothing(
    name: str, tmp_path: Path, made: Path, record: Record
) -> None:
    workspace, rng = world_in(tmp_path / "here", made), random.Random(SEED)
    out = tmp_path / "out"
    out.mkdir()
    rows = "".join(f"N{i}_M{i},N{i},M{i}\n" for i in range(60_000))
    (tmp_path / "more.csv").write_text(f"id,pert,gene\n{rows}")
    arguments = [part.replace("OUT", str(out)) for part in COMMANDS[name]]
    assert commands.core(workspace, "report new all --runs argued").status == 0
    command = [
        sys.executable,
        "-m",
        "core",
        "--workspace",
        str(workspace.settings.workspace),
        *arguments,
    ]
    since = time.monotonic()
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    ) as undisturbed:
        _, said = undisturbed.communicate(timeout=WAIT_S)
    took_s = time.monotonic() - since
    assert undisturbed.returncode == 0, said
    if name == "import":
        commands.core(workspace, "undo", "more.csv")
    shutil.rmtree(out)
    out.mkdir()
    for _ in range(KILLS):
        with subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        ) as killed:
            time.sleep(took_s * (0.4 + 0.6 * rng.random()))
            killed.kill()
        for file in out.iterdir():
            assert file.name.startswith(".") or is_whole(file), file
        assert commands.core(workspace, "doctor").status == 0
        shutil.rmtree(out)
        out.mkdir()
    done = commands.core(workspace, *arguments)
    assert done.status == 0, done.err
    record(command=name, seconds=f"{took_s:.1f}", kills=KILLS)


def is_whole(file: Path) -> bool:
    """Whether a file has its end: the kill came when it was written."""
    if file.suffix == ".tar":
        return tarfile.is_tarfile(file)
    if file.suffix == ".zip":
        with zipfile.ZipFile(file) as archive:
            return archive.testzip() is None
    if file.is_dir():
        return (file / "index.html").exists()
    return file.read_text("utf-8").rstrip().endswith("</html>")
