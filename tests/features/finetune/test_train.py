"""The process of a fine-tune, without a model."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from core.base.errors import InputError
from core.features.finetune import train
from core.features.finetune.job_folder import FinetuneFolder, last_whole
from core.features.finetune.train import IGNORED, encode, end_of_thinking, read_losses
from core.runs.jobs.folder import Command
from core.runs.jobs.work import INTERRUPTED, STOPPED, Reporter
from tests.features.finetune.cases import EXAMPLE, folder_in


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[FinetuneFolder]:
    """A folder; what the process does with signals is undone."""
    before = {one: signal.getsignal(one) for one in (signal.SIGTERM, signal.SIGINT)}
    yield folder_in(tmp_path)
    for one, handler in before.items():
        signal.signal(one, handler)


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("command", "ending"), [("cancel", ("stopped", STOPPED)), ("run", ("interrupted", INTERRUPTED))]
)
def test_a_person_stops_it_and_a_signal_interrupts_it(
    folder: FinetuneFolder,
    command: Command,
    ending: tuple[str, str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Training ends early either way, after a step; who stops it only writes the control file."""
    told = []

    def end_early(**_):
        status = folder.status()
        assert (status.state, status.pid, status.said["what"]) == (
            "running",
            os.getpid(),
            "training",
        )
        folder.set_command(command)
        if command == "run":
            os.kill(os.getpid(), signal.SIGTERM)
        assert told[0].wait(20)

    log = [{"step": 1, "epoch": 0.5, "loss": 2.0}]
    state = SimpleNamespace(log_history=log, global_step=1, max_steps=8)
    trainer = SimpleNamespace(train=end_early, state=state, add_callback=told.append)
    monkeypatch.setattr(train, "_prepare", lambda _: (None, trainer, None))
    monkeypatch.setattr(train, "_callback", lambda _folder, _reporter, stopping: stopping)
    assert train.main(str(folder.path)) == 0
    assert (folder.status().state, folder.status().cause) == ending
    assert folder.losses() == log


def test_each_step_is_told_and_one_that_is_to_stop_saves_first(
    folder: FinetuneFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "transformers", SimpleNamespace(TrainerCallback=object))
    log, stopping = [{"step": 5, "epoch": 0.5, "loss": 2.0}], threading.Event()
    state, control = SimpleNamespace(global_step=4, max_steps=8, log_history=log), SimpleNamespace()
    with Reporter(folder) as reporter:
        callback = train._callback(folder, reporter, stopping)
        callback.on_train_begin(None, state, control, model=None)
        state.global_step = 5
        callback.on_step_end(None, state, control, model=None)
        said = folder.status().said
        assert (said["step"], said["share"]) == (5, 5 / 8)
        assert said["what"].startswith("step 5 of 8 · loss 2.000 · ")
        assert not vars(control)
        stopping.set()
        state.global_step = 6
        callback.on_step_end(None, state, control, model=None)
        assert (control.should_save, control.should_training_stop) == (True, True)
        callback.on_log(None, state, control, logs=log[0])
        assert folder.losses() == log
        checkpoint = folder.checkpoints / "checkpoint-6"
        checkpoint.mkdir(parents=True)
        callback.on_save(SimpleNamespace(output_dir=str(folder.checkpoints)), state, control)
        assert last_whole(folder.checkpoints) == checkpoint


def test_losses_are_those_of_the_trainers_log() -> None:
    log = [
        {"step": 1, "epoch": 0.5, "loss": 2.0, "grad_norm": 1.0},
        {"step": 2, "epoch": 1.0, "eval_loss": 1.5},
        {"step": 2, "epoch": 1.0, "train_runtime": 9.0},
    ]
    assert read_losses(log) == [
        {"step": 1, "epoch": 0.5, "loss": 2.0},
        {"step": 2, "epoch": 1.0, "validation_loss": 1.5},
    ]


class Characters:
    """As much of a tokenizer as is used; thinking: its template opens a thought."""

    chat_template: str | None = "a template"
    eos_token = "$"

    def __init__(self, thinking: bool = False) -> None:
        self.end = "<think>\n" if thinking else ""

    def apply_chat_template(self, messages: Sequence[dict[str, str]], **how: bool) -> str:
        assert how == {"add_generation_prompt": True, "tokenize": False}
        [message] = messages
        return f"[{message['role']}] {message['content']} [assistant]{self.end}"

    def __call__(self, text: str, **how: bool) -> dict[str, Any]:
        assert how == {"add_special_tokens": False}
        return {"input_ids": [ord(character) for character in text]}


def text_of(tokens: Sequence[int]) -> str:
    return "".join(map(chr, tokens))


@pytest.mark.parametrize("thinking", [False, True])
def test_only_the_answer_counts_and_it_begins_where_the_server_lets_the_model_begin(
    thinking: bool,
) -> None:
    [found] = encode([EXAMPLE], Characters(thinking), 200)
    asked = [
        token
        for token, label in zip(found["input_ids"], found["labels"], strict=True)
        if label == IGNORED
    ]
    answered = [label for label in found["labels"] if label != IGNORED]
    prompt = f"[user] {EXAMPLE['prompt']} [assistant]" + ("<think>\n" if thinking else "")
    assert text_of(asked) == prompt
    assert text_of(answered) == ("\n</think>\n\n" if thinking else "") + "<answer>A</answer>$"
    assert text_of(found["input_ids"]) == text_of(asked) + text_of(answered)


def test_a_thought_is_closed_only_where_one_is_open() -> None:
    assert end_of_thinking("… <think>\n") == "\n</think>\n\n"
    assert end_of_thinking("… <think>\n\n</think>\n\n") == ""


def test_an_answer_is_never_cut_off() -> None:
    long = EXAMPLE | {"id": "Pb_Gb", "prompt": "x" * 300}
    with pytest.raises(
        InputError, match=r"1 of 2 rows have more than 200 tokens, Pb_Gb 3\d\d; raise length"
    ):
        encode([EXAMPLE, long], Characters(), 200)


def test_a_model_that_does_not_chat_is_refused() -> None:
    plain = Characters()
    plain.chat_template = None
    with pytest.raises(InputError, match="no chat template"):
        encode([EXAMPLE], plain, 200)
