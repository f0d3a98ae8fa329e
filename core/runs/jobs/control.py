"""List, find, stop and resume background jobs of every kind; start those that are defined by one
declaration."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from operator import attrgetter
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from filelock import FileLock, Timeout

from core.base import feature
from core.base.errors import InputError, NotFound, StateError
from core.base.hashes import KEY_DIGITS, sha256_of
from core.base.texts import list_known
from core.features import hooks
from core.runs.jobs import overview
from core.runs.jobs.folder import JobFolder, last_line, log_tail
from core.runs.jobs.state import describe_silence, last_heartbeat, status_of
from core.runs.jobs.state import stop as stop_process
from core.runs.jobs.work import FIRST_HEARTBEAT_S, Reporter, work_on
from core.runs.workspace import Workspace
from core.store import runs

UNFINISHED: Final = "unfinished"  # what no process of this version was on
_ENDS: Final = "the end of the current step, then it stops"
_RESUMABLE = ("stopped", "failed", "interrupted", "crashed", "cancelled", UNFINISHED)
WORDS: Final[Mapping[str, str]] = {
    "waiting": "waiting to start",
    "running": "running",
    "pausing": "pausing: rows in flight finish first",
    "paused": "paused",
    "budget": "token budget spent; can be resumed with a larger one",
    "done": "done",
    UNFINISHED: "not finished; can be resumed",
    **{state: f"{state}; can be resumed" for state in _RESUMABLE[:-1]},
}


@dataclass(frozen=True, slots=True)
class Job:
    """One job. kind, key: its identity. name: its title for people. state: in one word, a key of
    WORDS.

    cause: why it ended early, "" if it did not. share: of the work done, in [0, 1]; None if
    unknown. progress: in words. waits_for: what a live job waits for. begun_at: in seconds since
    1970, None if unknown. pid: of its live process. page, view: the page that shows it, and its
    query parameters there.
    """

    kind: str
    key: str
    name: str
    folder: JobFolder
    state: str
    is_live: bool = False
    can_stop: bool = False
    can_resume: bool = False
    cause: str = ""
    share: float | None = None
    progress: str = ""
    waits_for: str = ""
    begun_at: float | None = None
    pid: int | None = None
    page: str = ""
    view: Mapping[str, str] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """The job's name with its kind, as commands take it."""
        return f"{self.kind}/{self.name}"

    @property
    def ended_early(self) -> bool:
        """Whether its process ended with work to do."""
        return not self.is_live and self.state not in ("done", UNFINISHED)

    @property
    def words(self) -> str:
        """The state in plain words."""
        return WORDS[self.state] if self.can_resume or not self.ended_early else self.state

    @property
    def last_line(self) -> str:
        """The last line of its log; "" if it is empty."""
        return last_line(self.folder.log)

    def log_tail(self, lines: int) -> list[str]:
        """Return the last lines of its log."""
        return log_tail(self.folder, lines)


class JobKind:
    """A kind of job. What is here suits a command that `jobs.start` began; a kind replaces what
    differs.

    name: one word, the folder below data/jobs. title: for people. page, tab: of the app.
    verbs: what `jobs` can do to one, beside listing it. place: the folder in data/ that holds them;
    "" if no folder tells whether there are any.
    """

    verbs: tuple[str, ...] = ("log", "stop", "resume")
    name: str
    title: str
    page: str = ""
    tab: str = ""
    place: str = ""

    def list_jobs(self, workspace: Workspace) -> Iterable[Job]:
        """Yield every job of this kind."""
        for folder in overview.list_folders(workspace, self.name):
            yield self.job_in(folder)

    def find(self, workspace: Workspace, key: str) -> Job | None:
        """Return the job of a key; None if there is none."""
        return next((job for job in self.list_jobs(workspace) if job.key == key), None)

    def stop(self, workspace: Workspace, job: Job) -> None:
        """Ask the process of a job to end."""
        with workspace.change(f"stop {self.title}", job.name) as (_, detail):
            detail |= {"job": job.key}
            stop_process(job.folder)

    def resume(self, workspace: Workspace, job: Job) -> None:
        """Start a process that continues a job, unless one is on it."""
        with workspace.change(f"resume {self.title}", job.name) as (_, detail):
            detail |= {"job": job.key}
        overview.resume(workspace, job.folder)

    def work(
        self, _workspace: Workspace, _wanted: Mapping[str, Any], _reporter: Reporter, /
    ) -> None:
        """Do the work in a separate process, without repeating finished parts.

        The second argument is that of `job_control.start`; the third receives the progress.
        """
        raise StateError(
            f"{self.title}: has its own command, expected a kind that `jobs work` supports"
        )

    def job_in(self, folder: JobFolder, name: str = "", **more: Any) -> Job:
        """Return the job of a folder. more: fields of the record that differ."""
        said, about, status = (
            last_heartbeat(folder) or {},
            overview.find_about(folder),
            status_of(folder),
        )
        is_on_it = status.state == "running"
        is_ending = is_on_it and folder.command() == "cancel"
        shown: dict[str, Any] = {
            "kind": self.name,
            "key": folder.key,
            "name": name or str(about.get("name") or said.get("name") or folder.key),
            "folder": folder,
            "state": status.state,
            "is_live": status.is_live,
            "can_stop": is_on_it and not is_ending,
            "can_resume": not status.is_live and status.state != "done",
            "cause": status.cause,
            "share": 1.0 if status.state == "done" else said.get("share"),
            "progress": str(said.get("what", "")) if status.is_live else "",
            "waits_for": _ENDS if is_ending else describe_silence(folder, said) if is_on_it else "",
            "begun_at": said.get("begun_at") or about.get("started_at"),
            "pid": status.pid,
            "page": self.page,
            "view": {"tab": self.tab} if self.tab else {},
        }
        return Job(**{**shown, **more})


@cache
def kinds() -> Mapping[str, JobKind]:
    """Return the kinds that features bring, by name, sorted."""
    return MappingProxyType(
        {kind.name: kind for kind in sorted(hooks("jobs"), key=attrgetter("name"))}
    )


Resume = Callable[[Workspace, Job], object]  # starts a process that continues a job


def list_jobs(workspace: Workspace, names: Iterable[str] = ()) -> list[Job]:
    """Return the jobs of the named kinds, by default of all kinds: live jobs first, then the latest
    started."""
    jobs: list[Job] = []
    for kind in map(kinds().__getitem__, names or kinds()):
        if not kind.place or any((workspace.settings.data / kind.place).glob("[!.]*")):
            jobs += kind.list_jobs(workspace)
    return sorted(
        jobs,
        key=lambda job: (not job.is_live, -(job.begun_at or 0.0), job.title),
    )


def find(workspace: Workspace, kind: str, key: str) -> Job | None:
    """Return the present state of the job of a kind and key; None if there is none."""
    return kinds()[kind].find(workspace, key)


def find_named(workspace: Workspace, name: str) -> Job:
    """Return the job of a name or id, or of KIND/NAME or KIND/ID.

    Raise NotFound, with similar names, if there is none, and InputError if several jobs have the
    name.
    """
    known = list_jobs(workspace)
    found = [job for job in known if name in (job.title, f"{job.kind}/{job.key}")]
    found = found or [job for job in known if name in (job.name, job.key)]
    if not found:
        with workspace.store.read() as db:
            made = [run for run in runs.list_all(db) if name in (run.id, run.name)]
        if made:
            raise StateError(
                f"run {name}: {made[0].origin}, not made by a worker of this workspace"
            )
        raise NotFound(
            f"job {name!r}: not in this workspace, {list_known(name, [job.title for job in known])}"
        )
    if len(found) > 1:
        ids = ", ".join(f"{job.kind}/{job.key}" for job in found)
        raise InputError(f"job {name!r}: {len(found)} jobs have this name, expected one of {ids}")
    return found[0]


def kind_of(job: Job) -> JobKind:
    """Return the kind of a job."""
    return kinds()[job.kind]


def stop(workspace: Workspace, job: Job) -> Job:
    """Ask the process of a job to end and return the job's new state. Raise StateError if it cannot
    be stopped."""
    workspace.refuse_if_read_only("stop", job.title)
    now = _look_again(workspace, job)
    if not now.can_stop:
        raise StateError(
            f"job {job.title}: is {now.state}, expected a running job that is not already stopping"
        )
    kinds()[job.kind].stop(workspace, now)
    return _look_again(workspace, job)


def resume(workspace: Workspace, job: Job, by: Resume | None = None) -> Job:
    """Start a process that continues a job, and return the job's new state.

    by: what starts it, by default its kind's `resume`; a page with settings to change passes its
    own. Raise StateError, and start nothing, if a process works on the job, if it is done, or if
    only its own command can continue it: of several who resume a job at once, one starts a process
    and the others get this error.
    """
    workspace.refuse_if_read_only("resume", job.title)
    _refuse_unresumable(_look_again(workspace, job))
    with _hold_resume_lock(job):
        now = _look_again(workspace, job)
        _refuse_unresumable(now)
        (by or kinds()[job.kind].resume)(workspace, now)
        return _look_again(workspace, job)


def _refuse_unresumable(job: Job) -> None:
    if job.ended_early and not job.can_resume:
        why = f" ({job.cause})" if job.cause else ""
        raise StateError(
            f"job {job.title}: is {job.state}{why}; repeat the command that started it, it cannot"
            " be resumed here"
        )
    if not job.can_resume:
        doing = f"process {job.pid} is working on it" if job.pid else f"is {job.state}"
        raise StateError(
            f"job {job.title}: {doing}, expected one that ended early and can be resumed"
        )


@contextmanager
def _hold_resume_lock(job: Job) -> Iterator[None]:
    """Wait until nobody else resumes a job; then its state shows what they started."""
    # a study that no process was ever on has no folder
    job.folder.path.mkdir(parents=True, exist_ok=True)
    lock = FileLock(job.folder.resume_lock, timeout=FIRST_HEARTBEAT_S)
    try:
        lock.acquire()
    except Timeout:
        raise StateError(
            f"job {job.title}: somebody else is resuming it; see {job.folder.log}"
        ) from None
    try:
        yield
    finally:
        lock.release()


def _look_again(workspace: Workspace, job: Job) -> Job:
    found = find(workspace, job.kind, job.key)
    if found is None:
        raise NotFound(f"job {job.title}: it was deleted from this workspace")
    return found


def start(workspace: Workspace, kind: str, name: str, wanted: Mapping[str, Any]) -> Job:
    """Start a job of a kind that declares its work, and return the job. A job that a process works
    on is left alone.

    name: identifies the job among those of its kind. wanted: plain data, passed to the work. Raise
    StateError if a process works on the job of this name with other data.
    """
    workspace.refuse_if_read_only(kind, name)
    key = key_of(name)
    folder = overview.folder_of(workspace, kind, key)
    with _hold_resume_lock(kinds()[kind].job_in(folder)):
        there = find(workspace, kind, key)
        if there is None or not there.is_live:
            overview.start(
                workspace, folder, kind, ("jobs", "work", kind, key), name=name, wanted=dict(wanted)
            )
        elif overview.read_about(folder)["wanted"] != dict(wanted):
            raise StateError(
                f"job {there.title}: is {there.state} with other data; stop it, or wait until it"
                " has ended"
            )
    return _look_again(workspace, kinds()[kind].job_in(folder))


def key_of(name: str) -> str:
    """Return the key of the job of a name, of a kind that declares its work."""
    return sha256_of(name)[:KEY_DIGITS]


def work(workspace: Workspace, kind: str, key: str) -> Path:
    """Do the work of a started job in this process and return its folder. Raise NotFound for an
    unknown kind or job."""
    workspace.refuse_if_read_only("work", f"{kind}/{key}")
    found = feature.find_named(kinds(), "kind of job", kind)
    folder = overview.folder_of(workspace, kind, key)
    about = overview.read_about(folder)
    with work_on(folder, found.title) as reporter:
        found.work(workspace, about["wanted"], reporter)
    return folder.path
