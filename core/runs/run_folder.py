"""The folder of a run: its specification, its finished rows, and its control file. All else can be
made from it again.

spec.json   the run's id and its specification; written first, never changed
how.json    its execution settings; may change from one resume to the next
rows.jsonl  the journal: one finished or failed row per line, in the order in which they were
            finished; only ever appended to
spending.jsonl    what the run has paid for, a line per request and per answer; of runs that ask a
                  model
evaluation.json   how labels were kept away, and the scores of other cuts; of runs that are made
                  from labels
watch/      who watches a row, and what they are shown; there only while somebody watches
Beside these lie the files of any job: control, heartbeat, done.json, log.txt, worker.lock, reserve
(`core.runs.jobs.folder`).

Starts a worker in a process of its own, which outlives the one that started it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Protocol, TypeVar

from core.base.config import Settings
from core.base.environment import environment_of
from core.base.errors import InputError, NotFound, StateError
from core.base.file_io import remove_folder
from core.base.file_limits import SMALL_MEMORY
from core.base.records import from_json
from core.base.types import JsonObject
from core.runs.jobs.folder import FileOf, JobFolder, read_json, write_json
from core.runs.jobs.work import FIRST_HEARTBEAT_S, command_line
from core.runs.jobs.work import start as start_process
from core.runs.spec import VERSION, ExecutionSettings, RunSpec

RUNS: Final = "runs"  # the folder of all runs, in the workspace's data


class HasKey(Protocol):
    """A specification."""

    @property
    def key(self) -> str: ...


S = TypeVar("S", bound=HasKey)


def read_spec(file: Path, kind: type[S], what: str) -> S:
    """Return the specification in a file. Raise NotFound without one, InputError if it was changed
    or cannot be read."""
    values = read_json(file)
    if values is None:
        raise NotFound(f"{file.parent}: no {what} was begun here, expected {file.name}")
    spec = from_json(kind, values["spec"], f"{file}: specification of a {what}")
    if spec.key != values["key"]:
        raise InputError(f"{file}: was changed: its key is {spec.key}, expected {values['key']}")
    return spec


@dataclass(frozen=True, slots=True)
class RunFolder(JobFolder):
    """The folder with a run's files: the files of a job, and more."""

    @property
    def run(self) -> str:
        """The run's id."""
        return self.path.name

    rows = FileOf("rows.jsonl")
    spending = FileOf("spending.jsonl")
    watch = FileOf("watch")
    _settings = FileOf("how.json")

    @property
    def first_signs(self) -> tuple[Path, ...]:
        return (self.heartbeat, self.rows)

    @property
    def exists(self) -> bool:
        """Whether this is the folder of a run, with a specification."""
        return (self.path / "spec.json").is_file()

    def create(self, spec: RunSpec, settings: ExecutionSettings) -> None:
        """Create the folder; one of the same specification, which the store has lost, is taken over
        with its rows.

        Raise StateError if the folder is another run's.
        """
        if self.exists and self.spec() != spec:
            raise StateError(f"{self.path}: holds a run of another specification; move it away")
        self.done.unlink(missing_ok=True)
        self.path.mkdir(parents=True, exist_ok=True)
        self.set_execution_settings(settings)
        self.set_command("run")
        write_json(
            self.path / "spec.json",
            {"version": VERSION, "run": self.run, "key": spec.key, "spec": spec.as_json()},
        )

    def remove(self) -> None:
        """Delete the folder if it is a run's."""
        if self.exists:
            remove_folder(self.path)

    def spec(self) -> RunSpec:
        """Return the run's specification. Raise NotFound without one, InputError if it was changed
        or cannot be read."""
        return read_spec(self.path / "spec.json", RunSpec, "run")

    @property
    def settings_written_at(self) -> float:
        """When the execution settings were last written, in seconds since 1970; 0 if the folder has
        none."""
        return self._settings.stat().st_mtime if self._settings.exists() else 0.0

    def execution_settings(self) -> ExecutionSettings:
        """Return the execution settings of the run, or the defaults if the folder has none."""
        return from_json(
            ExecutionSettings,
            read_json(self._settings) or {},
            f"{self._settings}: settings of a run",
        )

    def set_execution_settings(self, settings: ExecutionSettings) -> None:
        """Write how the run is carried out from the next worker on."""
        write_json(self._settings, settings.as_json())

    def evaluation(self) -> JsonObject | None:
        """Return the run's evaluation (see `core.base.types.RunRecord`); None if none was
        written."""
        return read_json(self.path / "evaluation.json")

    def write_evaluation(self, evaluation: Mapping[str, Any] | None) -> None:
        """Write the run's evaluation, if there is one."""
        if evaluation is not None:
            write_json(self.path / "evaluation.json", evaluation)


def folder_of_run(settings: Settings, run: str) -> RunFolder:
    """Return the folder of the run with this id, which its worker writes to."""
    return RunFolder(settings.data / RUNS / run)


# A worker writes small batches, for hours: it need not keep them in memory.
WORKER_STORE_MB = 128


def command_of(settings: Settings, run: str) -> tuple[str, ...]:
    """Return the command line of a run's worker, without any secret."""
    return command_line(settings, "worker", run)


def start_worker(
    folder: RunFolder,
    settings: Settings,
    command: Sequence[str] = (),
    within_s: float = FIRST_HEARTBEAT_S,
    keep: Sequence[str] = (),
) -> int:
    """Start a run's worker in a session of its own, as `core.runs.jobs.work` does; return its
    process id.

    settings: with the keys that it needs, which go into its environment only. command: by default
    that of `command_of`. keep: further secrets of the environment that it needs.
    """
    command = command or command_of(settings, folder.run)
    environment = (
        environment_of(replace(settings, store_memory_mb=WORKER_STORE_MB), keep) | SMALL_MEMORY
    )
    return start_process(folder, command, environment, within_s, "run")
