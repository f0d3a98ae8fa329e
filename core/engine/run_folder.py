"""The folder of a run: its specification, its finished rows, and its control file. All else can be made from it again.

spec.json   the run's id and its specification; written first, never changed
how.json    its execution settings; may change from one resume to the next
rows.jsonl  the journal: one finished or failed row per line, in the order in which they were finished; only ever appended to
control     run, pause or cancel
spending.jsonl    what the run has paid for, a line per request and per answer; of runs that ask a model
evaluation.json   how labels were kept away, and the scores of other cuts; of runs that are made from labels
heartbeat   its worker, and how many rows are finished; rewritten while the worker lives
done.json   how the worker ended; written last, under a temporary name, and removed when another begins
log.txt     the worker's log
watch/      who watches a row, and what they are shown; there only while somebody watches
reserve     space that a worker keeps, so that it can record its ending on a full disk
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from core.engine.spec import VERSION, ExecutionSettings, RunSpec
from core.errors import InputError, NotFound, StateError
from core.file_io import replace_file
from core.texts import parse_json

Command = Literal["run", "pause", "cancel"]
RESERVE_BYTES = 1 << 16
_COMMANDS: tuple[Command, ...] = ("run", "pause", "cancel")


@dataclass(frozen=True, slots=True)
class RunFolder:
    """The folder that holds a run's files."""

    path: Path

    @property
    def run(self) -> str:
        """The run's id."""
        return self.path.name

    @property
    def rows(self) -> Path:
        return self.path / "rows.jsonl"

    @property
    def spending(self) -> Path:
        return self.path / "spending.jsonl"

    @property
    def log(self) -> Path:
        return self.path / "log.txt"

    @property
    def heartbeat(self) -> Path:
        return self.path / "heartbeat"

    @property
    def done(self) -> Path:
        return self.path / "done.json"

    @property
    def reserve(self) -> Path:
        return self.path / "reserve"

    @property
    def control(self) -> Path:
        return self.path / "control"

    @property
    def lock(self) -> Path:
        return self.path / "worker.lock"

    @property
    def watch(self) -> Path:
        return self.path / "watch"

    @property
    def exists(self) -> bool:
        """Whether this is the folder of a run: its specification is there."""
        return (self.path / "spec.json").is_file()

    def create(self, spec: RunSpec, settings: ExecutionSettings) -> None:
        """Creates the folder; one of the same specification, which the store has lost, is taken over with its rows.

        Raises StateError if the folder is another run's.
        """
        if self.exists and self.spec() != spec:
            raise StateError(f"{self.path}: holds a run of another specification; move it away")
        self.done.unlink(missing_ok=True)
        self.path.mkdir(parents=True, exist_ok=True)
        self.set_execution_settings(settings)
        self.set_command("run")
        write_json(self.path / "spec.json", {"version": VERSION, "run": self.run, "key": spec.key, "spec": spec.as_json()})

    def remove(self) -> None:
        """Deletes the folder if it is a run's."""
        if self.exists:
            shutil.rmtree(self.path)

    def spec(self) -> RunSpec:
        """Returns the run's specification. Raises NotFound without one, InputError if it was changed or cannot be read."""
        values = read_json(self.path / "spec.json")
        if values is None:
            raise NotFound(f"{self.path}: no run was begun here, expected spec.json")
        spec = RunSpec.from_json(values["spec"])
        if spec.key != values["key"]:
            raise InputError(f"{self.path / 'spec.json'}: was changed: its key is {spec.key}, expected {values['key']}")
        return spec

    def execution_settings(self) -> ExecutionSettings:
        """Returns how the run is carried out; the defaults if the folder does not say."""
        return ExecutionSettings.from_json(read_json(self.path / "how.json") or {})

    def set_execution_settings(self, settings: ExecutionSettings) -> None:
        """Writes how the run is carried out from the next worker on."""
        write_json(self.path / "how.json", settings.as_json())

    def keep_reserve(self) -> None:
        """Takes up some space on the disk, for `release_reserve` to give back."""
        self.reserve.write_bytes(os.urandom(RESERVE_BYTES))  # random bytes: a file system may compress others

    def release_reserve(self) -> None:
        """Gives the reserve back."""
        self.reserve.unlink(missing_ok=True)

    def evaluation(self) -> dict[str, Any] | None:
        """Returns the run's evaluation (see `core.types.RunRecord`); None if none was written."""
        return read_json(self.path / "evaluation.json")

    def write_evaluation(self, evaluation: Mapping[str, Any] | None) -> None:
        """Writes the run's evaluation, if there is one."""
        if evaluation is not None:
            write_json(self.path / "evaluation.json", evaluation)

    def command(self) -> Command:
        """Returns what the worker is to do; "run" if the control file is missing or says anything else."""
        try:
            text = self.control.read_text("utf-8").strip()
        except FileNotFoundError:
            return "run"
        return next((command for command in _COMMANDS if command == text), "run")

    def set_command(self, command: Command) -> None:
        """Writes what the worker is to do, which it reads within a fraction of a second."""
        replace_file(self.control, f"{command}\n".encode(), durable=True)


def write_json(file: Path, values: Mapping[str, Any], *, durable: bool = True) -> None:
    """Writes a JSON file under a temporary name and renames it, so that it is there whole or not at all.

    durable: waits until it is on disk.
    """
    replace_file(file, json.dumps(dict(values), indent=1, allow_nan=False).encode(), durable=durable)


def read_json(file: Path) -> dict[str, Any] | None:
    """Returns the JSON object in a file; None without the file. Raises InputError for another content."""
    try:
        values = parse_json(file.read_bytes())
    except FileNotFoundError:
        return None
    except ValueError as error:
        raise InputError(f"{file}: cannot be read ({error}), expected JSON") from error
    if not isinstance(values, dict):
        raise InputError(f"{file}: holds {type(values).__name__}, expected a JSON object")
    return values


def log_tail(folder: RunFolder, lines: int = 50) -> list[str]:
    """Returns the last lines of the worker's log."""
    try:
        with folder.log.open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - lines * 400))
            return file.read().decode("utf-8", "replace").splitlines()[-lines:]
    except FileNotFoundError:
        return []
