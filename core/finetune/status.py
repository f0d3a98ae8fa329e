"""How far a fine-tune is, as its folder shows it.

waiting      its process was started less than 20 s ago, and has not begun
loading      the model is fetched or loaded
training     steps are made
merging      the adapter is merged into the model, which is written
done         the merged model is complete
stopped      a person ended it: resumable
interrupted  its process received SIGTERM or Ctrl-C: resumable
failed       its process gave up, for the cause given: resumable
crashed      no process lives, and none recorded how it ended: resumable

What the process of a fine-tune says while it works, how far it is, and whether it is to stop.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import FrameType
from typing import Any, Literal, Self

from core.errors import StateError
from core.finetune.job_folder import FinetuneFolder
from core.jobs import state as jobs
from core.jobs import work
from core.types import LIVE_STATES

Stage = Literal["loading", "training", "merging"]
State = Literal["waiting", "loading", "training", "merging", "done", "stopped", "failed", "interrupted", "crashed"]


@dataclass(frozen=True, slots=True)
class FinetuneStatus:
    """A fine-tune's state. cause: why it ended early, "" if it did not.

    step: optimiser steps made; rows: training rows seen, of all epochs; steps, all_rows: how many there will be, None before they
    are known. loss: of the last step; validation_loss: the last one; None before the first. left_s: seconds to train at the
    present rate, None if none is known. pid: of its live process. path: the merged model's folder, "" until it is complete.
    """

    state: State
    cause: str = ""
    step: int = 0
    steps: int | None = None
    rows: int = 0
    all_rows: int | None = None
    loss: float | None = None
    validation_loss: float | None = None
    left_s: float | None = None
    pid: int | None = None
    path: str = ""

    @property
    def is_live(self) -> bool:
        """Whether a process is on it."""
        return self.state in LIVE_STATES


def status_of(folder: FinetuneFolder) -> FinetuneStatus:
    """Return the state of a fine-tune."""
    found = jobs.status_of(folder.worker)
    said = found.said
    known = {name: said[name] for name in ("step", "steps", "rows", "all_rows", "loss", "validation_loss") if name in said}
    if found.state == "running":
        return FinetuneStatus(said["state"], **known, left_s=said.get("left_s"), pid=found.pid)
    path = (folder.ending() or {}).get("path", "")
    return FinetuneStatus(found.state, found.cause, **known, path=path)


def refuse_live(folder: FinetuneFolder) -> None:
    """Raise StateError if a process is on a fine-tune."""
    if folder.exists and status_of(folder).is_live:
        raise StateError(f"fine-tune {folder.key}: a process is on it, expected one that is not running; stop it first")


class Reporter(work.Reporter):
    """Writes heartbeats, and hears that the work is to stop: SIGTERM, Ctrl-C or a person ask it to."""

    def __init__(self, folder: FinetuneFolder) -> None:
        self._signalled = threading.Event()
        super().__init__(folder.worker, self._signalled.set, state="loading")
        self._finetune = folder

    def __enter__(self) -> Self:
        super().__enter__()
        for one in (signal.SIGTERM, signal.SIGINT):
            signal.signal(one, self._take_signal)
        return self

    @property
    def is_to_stop(self) -> bool:
        """Whether the end was asked for: by a person in the control file, or by a signal."""
        return self._signalled.is_set() or self._finetune.worker.command() == "cancel"

    def enter(self, stage: Stage) -> None:
        """Record what is done now."""
        self.say(stage)
        self.update(state=stage, left_s=None)

    def write_losses(self, log: Sequence[Mapping[str, Any]]) -> None:
        """Record the losses in a trainer's log: of steps, and of the validation rows."""
        self._finetune.write_losses([loss for entry in log if (loss := read_loss(entry)) is not None])

    def say(self, text: str) -> None:
        """Print a line, which goes to the log."""
        print(f"{time.strftime('%Y-%m-%d %H:%M:%S')} {text}", flush=True)

    def _take_signal(self, _number: int, _frame: FrameType | None) -> None:
        self._signalled.set()


def read_loss(entry: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return step, epoch and loss or validation_loss of an entry of a trainer's log; None for one without a loss."""
    names = {"loss": "loss", "eval_loss": "validation_loss"}
    found = {ours: float(entry[theirs]) for theirs, ours in names.items() if theirs in entry}
    return {"step": int(entry["step"]), "epoch": float(entry["epoch"]), **found} if found else None
