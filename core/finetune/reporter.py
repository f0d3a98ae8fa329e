"""What the process of a fine-tune says while it works, how far it is, and whether it is to stop."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Mapping, Sequence
from types import FrameType
from typing import Any, Self

from core.finetune.job_folder import FinetuneFolder
from core.finetune.status import Stage
from core.jobs import work as jobs


class Reporter(jobs.Reporter):
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
        """Whether a person asked for the end: by the control file or by a signal."""
        return self._signalled.is_set() or self._finetune.worker.command() == "cancel"

    def enter(self, stage: Stage) -> None:
        """Records what is done now."""
        self.say(stage)
        self.update(state=stage, left_s=None)

    def write_losses(self, log: Sequence[Mapping[str, Any]]) -> None:
        """Records the losses in a trainer's log: of steps, and of the validation rows."""
        self._finetune.write_losses([loss for entry in log if (loss := read_loss(entry)) is not None])

    def say(self, text: str) -> None:
        """Prints a line, which goes to the log."""
        print(f"{time.strftime('%Y-%m-%d %H:%M:%S')} {text}", flush=True)

    def _take_signal(self, _number: int, _frame: FrameType | None) -> None:
        self._signalled.set()


def read_loss(entry: Mapping[str, Any]) -> dict[str, Any] | None:
    """Returns step, epoch and loss or validation_loss of an entry of a trainer's log; None for one without a loss."""
    names = {"loss": "loss", "eval_loss": "validation_loss"}
    found = {ours: float(entry[theirs]) for theirs, ours in names.items() if theirs in entry}
    return {"step": int(entry["step"]), "epoch": float(entry["epoch"]), **found} if found else None
