"""The folder of a run: its specification, its finished rows, and its control file. All else can be made from it again.

spec.json   the run's id and its specification; written first, never changed
how.json    its execution settings; may change from one resume to the next
rows.jsonl  the journal: one finished or failed row per line, in the order in which they were finished; only ever appended to
control     run, pause or cancel
spending.jsonl    the answers and tokens that the run has paid for, one line per answer; of runs that ask a model
evaluation.json   how labels were kept away, and the scores of other cuts; of runs that are made from labels
heartbeat   its worker, and how many rows are finished; rewritten while the worker lives
done.json   how the worker ended; written last, under a temporary name, and removed when another begins
log.txt     the worker's log
reserve     space that a worker keeps, so that it can record its ending on a full disk
"""

from __future__ import annotations

import json
import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from io import FileIO
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

from core.engine.row_codec import Entry, RetryMark, calls_tokens, decode_entry, encode_entry, pair_id_of
from core.engine.spec import VERSION, ExecutionSettings, RunSpec
from core.errors import InputError, NotFound, StateError
from core.file_io import replace_file, sync_folder
from core.types import Failed, RowResult

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


@dataclass(slots=True)
class Progress:
    """The contents of a journal, counted.

    finished: ids of the rows that need not be asked for. failed: those of them that failed → the request keys of their calls,
    () if a call got no answer. rejected_keys: such keys of rows that are to be asked for again, whose cached answers would
    make them fail again. cost: tokens of each row's last line; spent: tokens of all lines, answers from the cache left out.
    repeated: how many rows were finished again without a retry. bytes: of whole lines.
    """

    finished: set[str] = field(default_factory=set)
    failed: dict[str, tuple[str, ...]] = field(default_factory=dict)
    rejected_keys: set[str] = field(default_factory=set)
    kinds: Counter[str] = field(default_factory=Counter)
    cost: Counter[str] = field(default_factory=Counter)
    spent: int = 0
    repeated: int = 0
    bytes: int = 0

    def add(self, entry: Entry) -> None:
        """Counts an entry; a row's last entry wins."""
        if isinstance(entry, RetryMark):
            for pair_id in entry.pair_ids:
                self.rejected_keys.update(self.failed.pop(pair_id, ()))
                self.finished.discard(pair_id)
            return
        pair_id = pair_id_of(entry)
        self.repeated += pair_id in self.finished
        self.failed.pop(pair_id, None)
        self.finished.add(pair_id)
        self.spent += calls_tokens(entry.calls, spent=True)
        self.cost[pair_id] = cost_of(entry)
        if isinstance(entry, Failed):
            self.failed[pair_id] = () if any(call.error for call in entry.calls) else tuple(call.key for call in entry.calls)

    @property
    def done(self) -> int:
        """How many rows have a prediction."""
        return len(self.finished) - len(self.failed)


def cost_of(row: RowResult | Failed) -> int:
    """Returns the tokens of a row, answers from the cache among them: as its method counts, else those of its calls."""
    if isinstance(row, RowResult) and row.prediction.tokens is not None:
        return row.prediction.tokens
    return calls_tokens(row.calls, spent=False)


def read_lines(file: Path, start: int = 0) -> Iterator[tuple[bytes, int]]:
    """Yields (line, position of its end in bytes) of the lines from a byte on; a torn last line is left out."""
    if not file.exists():
        return
    with file.open("rb") as journal:
        journal.seek(start)
        for line in journal:
            if not line.endswith(b"\n"):
                return
            start += len(line)
            yield line, start


def read_entries(file: Path, start: int = 0) -> Iterator[tuple[Entry, int]]:
    """Yields (entry, position of its line's end in bytes) from a byte on. Raises InputError for any other line."""
    for line, end in read_lines(file, start):
        try:
            yield decode_entry(line), end
        except InputError as error:
            raise InputError(f"{file}, byte {end - len(line):,}: {error}") from error


def read_progress(file: Path) -> Progress:
    """Returns the contents of a journal, counted in one pass that keeps no row."""
    progress = Progress()
    for entry, end in read_entries(file):
        progress.add(entry)
        progress.bytes = end
    return progress


class Journal:
    """A journal that is open for appending. Opening it cuts a torn last line off."""

    def __init__(self, folder: RunFolder, scrub: Callable[[str], str] = str) -> None:
        self.progress = read_progress(folder.rows)
        self._scrub = scrub
        self._file: FileIO = folder.rows.open("ab", buffering=0)
        self._file.truncate(self.progress.bytes)
        os.fsync(self._file.fileno())
        sync_folder(folder.path)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _kind: type[BaseException] | None, _e: BaseException | None, _t: TracebackType | None) -> None:
        self._file.close()

    def append(self, entries: Iterable[Entry]) -> None:
        """Appends entries and waits until they are on disk: then, and not before, their rows are finished.

        A result that JSON cannot hold is written as its row's failure. Raises OSError, with none of the entries written.
        """
        written = [self._line(entry) for entry in entries]
        content = memoryview(b"".join(line for _, line in written))
        try:
            while content:
                content = content[self._file.write(content) :]
            os.fsync(self._file.fileno())
        except OSError:
            self._file.truncate(self.progress.bytes)
            raise
        for entry, line in written:
            self.progress.bytes += len(line)
            self.progress.add(entry)

    def _line(self, entry: Entry) -> tuple[Entry, bytes]:
        """Returns what is written of an entry, and its line; a failure keeps its calls if JSON can hold them."""
        try:
            return entry, encode_entry(entry, self._scrub)
        except InputError as error:
            if isinstance(entry, RetryMark):
                raise
            failed = Failed(pair_id_of(entry), type(error).__name__, str(error).encode("utf-8", "replace").decode(), entry.calls)
        if isinstance(entry, Failed):
            failed = replace(failed, calls=())
            return failed, encode_entry(failed, self._scrub)
        return self._line(failed)


def write_json(file: Path, values: Mapping[str, Any], *, durable: bool = True) -> None:
    """Writes a JSON file under a temporary name and renames it, so that it is there whole or not at all.

    durable: waits until it is on disk.
    """
    replace_file(file, json.dumps(dict(values), indent=1, allow_nan=False).encode(), durable=durable)


def read_json(file: Path) -> dict[str, Any] | None:
    """Returns the JSON object in a file; None without the file. Raises InputError for another content."""
    try:
        values = json.loads(file.read_bytes())
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


def mark_for_retry(folder: RunFolder, pair_ids: Sequence[str], scrub: Callable[[str], str] = str) -> None:
    """Marks failed rows as not finished. The caller holds the run's lock."""
    with Journal(folder, scrub) as journal:
        journal.append([RetryMark(tuple(pair_ids))])
