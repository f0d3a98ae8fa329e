"""The definition of a kind of background job, and one job for pages and commands. A kind is a file
in this folder with a `KIND`.

The command `jobs`, the panel on pages and Overview then know it. One whose `work` is written here
as well is done by the command `jobs work` in a separate process (`core.runs.jobs.control.start`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from types import MappingProxyType
from typing import Any, Final

from core.base.errors import StateError
from core.features import hooks
from core.runs.jobs import overview
from core.runs.jobs.folder import JobFolder, last_line, log_tail
from core.runs.jobs.state import describe_silence, last_heartbeat, status_of
from core.runs.jobs.state import stop as stop_process
from core.runs.jobs.work import Reporter
from core.runs.workspace import Workspace

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

    name: one word, the folder below data/jobs. title: for people. page, tab: where pages show it.
    verbs: what `jobs` can do to one, beside listing it.
    """

    verbs: tuple[str, ...] = ("log", "stop", "resume")
    name: str
    title: str
    page: str
    tab: str = ""

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
        {kind.name: kind for kind in sorted(hooks("jobs"), key=lambda kind: kind.name)}
    )


def every_job(workspace: Workspace, names: Iterable[str] = ()) -> Iterator[Job]:
    """Yield the jobs of the kinds of these names, by default of all."""
    for name in names or kinds():
        yield from kinds()[name].list_jobs(workspace)
