"""The process of a fine-tune, without a model."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from core.finetune import train
from core.finetune.job_folder import FinetuneFolder
from core.finetune.train import read_losses
from core.jobs.folder import Command
from core.jobs.work import INTERRUPTED, STOPPED
from tests.finetune.cases import folder_in


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[FinetuneFolder]:
    """A folder; what the process does with signals is undone."""
    before = {one: signal.getsignal(one) for one in (signal.SIGTERM, signal.SIGINT)}
    yield folder_in(tmp_path)
    for one, handler in before.items():
        signal.signal(one, handler)


@pytest.mark.parametrize(("command", "ending"), [("cancel", ("stopped", STOPPED)), ("run", ("interrupted", INTERRUPTED))])
def test_a_person_stops_it_and_a_signal_interrupts_it(
    folder: FinetuneFolder, command: Command, ending: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Training ends early either way, after a step."""

    def end_early(**_: object) -> None:
        status = folder.status()
        assert (status.state, status.pid, status.said["what"]) == ("running", os.getpid(), "training")
        folder.worker.set_command(command)
        os.kill(os.getpid(), signal.SIGTERM)

    log = [{"step": 1, "epoch": 0.5, "loss": 2.0}]
    state = SimpleNamespace(log_history=log, global_step=1, max_steps=8)
    trainer = SimpleNamespace(train=end_early, state=state, add_callback=lambda _: None)
    monkeypatch.setattr(train, "_prepare", lambda _: (None, trainer, None))
    monkeypatch.setattr(train, "_callback", lambda *_: None)
    assert train.main(str(folder.path)) == 0
    assert (folder.status().state, folder.status().cause) == ending
    assert folder.losses() == log


def test_losses_are_those_of_the_trainers_log() -> None:
    log = [
        {"step": 1, "epoch": 0.5, "loss": 2.0, "grad_norm": 1.0},
        {"step": 2, "epoch": 1.0, "eval_loss": 1.5},
        {"step": 2, "epoch": 1.0, "train_runtime": 9.0},
    ]
    assert read_losses(log) == [{"step": 1, "epoch": 0.5, "loss": 2.0}, {"step": 2, "epoch": 1.0, "validation_loss": 1.5}]
