"""What the process of a fine-tune writes while it works."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from core.finetune import train
from core.finetune.job_folder import FinetuneFolder
from core.finetune.status import Reporter, read_loss, status_of
from core.jobs.folder import Command
from core.jobs.work import INTERRUPTED, STOPPED
from tests.finetune.cases import folder_in


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[FinetuneFolder]:
    """A folder; what a reporter does with signals is undone."""
    before = {one: signal.getsignal(one) for one in (signal.SIGTERM, signal.SIGINT)}
    yield folder_in(tmp_path)
    for one, handler in before.items():
        signal.signal(one, handler)


def test_progress_is_there_from_the_first_moment(folder: FinetuneFolder, capsys: pytest.CaptureFixture[str]) -> None:
    with Reporter(folder) as reporter:
        assert (status_of(folder).state, status_of(folder).pid) == ("loading", os.getpid())
        reporter.enter("training")
        reporter.update(step=2, steps=8, rows=32, all_rows=128, left_s=3.0)
        reporter.update(loss=0.5)
        found = status_of(folder)
        assert (found.state, found.step, found.steps, found.loss, found.left_s) == ("training", 2, 8, 0.5, 3.0)
        reporter.enter("merging")
        assert (status_of(folder).state, status_of(folder).left_s) == ("merging", None)
    assert [line.split()[-1] for line in capsys.readouterr().out.splitlines()] == ["training", "merging"]


def test_a_person_or_a_signal_ends_it(folder: FinetuneFolder) -> None:
    with Reporter(folder) as reporter:
        assert not reporter.is_to_stop
        folder.worker.set_command("cancel")
        assert reporter.is_to_stop
        folder.worker.set_command("run")
        assert not reporter.is_to_stop
        os.kill(os.getpid(), signal.SIGTERM)
        assert reporter.is_to_stop


@pytest.mark.parametrize(("command", "ending"), [("cancel", ("stopped", STOPPED)), ("run", ("interrupted", INTERRUPTED))])
def test_a_person_stops_it_and_a_signal_interrupts_it(
    folder: FinetuneFolder, command: Command, ending: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Training ends early either way, after a step."""

    def end_early(**_: object) -> None:
        folder.worker.set_command(command)
        os.kill(os.getpid(), signal.SIGTERM)

    state = SimpleNamespace(log_history=[], global_step=1, max_steps=8)
    monkeypatch.setattr(train, "_prepare", lambda *_: (None, SimpleNamespace(train=end_early, state=state), None))
    assert train.main(str(folder.path)) == 0
    assert (status_of(folder).state, status_of(folder).cause) == ending


def test_losses_are_those_of_the_trainers_log(folder: FinetuneFolder) -> None:
    log = [
        {"step": 1, "epoch": 0.5, "loss": 2.0, "grad_norm": 1.0},
        {"step": 2, "epoch": 1.0, "eval_loss": 1.5},
        {"step": 2, "epoch": 1.0, "train_runtime": 9.0},
    ]
    Reporter(folder).write_losses(log)
    assert folder.losses() == [{"step": 1, "epoch": 0.5, "loss": 2.0}, {"step": 2, "epoch": 1.0, "validation_loss": 1.5}]
    assert read_loss(log[2]) is None
