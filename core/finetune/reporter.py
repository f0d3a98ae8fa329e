"""What the process of a fine-tune says while it works, how far it is, and whether it is to stop."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Mapping, Sequence
from types import FrameType, TracebackType
from typing import Any, Self

from core.engine.run_state import HEARTBEAT_EVERY_S, beat
from core.finetune.job_folder import FinetuneFolder
from core.finetune.status import Stage


class Reporter:
    """Writes heartbeats from a thread, since loading and merging a model take minutes in which nothing else can.

    SIGTERM and Ctrl-C ask it to stop.
    """

    def __init__(self, folder: FinetuneFolder) -> None:
        self._folder = folder
        self._values: dict[str, Any] = {"state": "loading", "begun_at": time.time()}
        self._ended, self._signalled = threading.Event(), threading.Event()
        self._writing = threading.Lock()
        self._thread = threading.Thread(target=self._beat_until_the_end, daemon=True)

    def __enter__(self) -> Self:
        self._beat()
        self._thread.start()
        for one in (signal.SIGTERM, signal.SIGINT):
            signal.signal(one, self._take_signal)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._ended.set()
        self._thread.join()

    @property
    def is_to_stop(self) -> bool:
        """Whether a person asked for the end: by the control file or by a signal."""
        return self._signalled.is_set() or self._folder.worker.command() == "cancel"

    def enter(self, stage: Stage) -> None:
        """Records what is done now."""
        self.say(stage)
        self.update(state=stage, left_s=None)

    def update(self, **values: object) -> None:
        """Records how far the work is."""
        self._values = {**self._values, **values}
        self._beat()

    def write_losses(self, log: Sequence[Mapping[str, Any]]) -> None:
        """Records the losses in a trainer's log: of steps, and of the validation rows."""
        self._folder.write_losses([loss for entry in log if (loss := read_loss(entry)) is not None])

    def say(self, text: str) -> None:
        """Prints a line, which goes to the log."""
        print(f"{time.strftime('%Y-%m-%d %H:%M:%S')} {text}", flush=True)

    def _take_signal(self, _number: int, _frame: FrameType | None) -> None:
        self._signalled.set()

    def _beat(self) -> None:
        with self._writing:
            beat(self._folder.worker, self._values)

    def _beat_until_the_end(self) -> None:
        while not self._ended.wait(HEARTBEAT_EVERY_S):
            self._beat()


def read_loss(entry: Mapping[str, Any]) -> dict[str, Any] | None:
    """Returns step, epoch and loss or validation_loss of an entry of a trainer's log; None for one without a loss."""
    names = {"loss": "loss", "eval_loss": "validation_loss"}
    found = {ours: float(entry[theirs]) for theirs, ours in names.items() if theirs in entry}
    return {"step": int(entry["step"]), "epoch": float(entry["epoch"]), **found} if found else None
