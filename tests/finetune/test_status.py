"""How far a fine-tune is, from its folder alone."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from core.errors import StateError
from core.finetune.job_folder import FinetuneFolder
from core.finetune.status import FinetuneStatus, refuse_live, status_of
from core.jobs.state import beat
from tests.finetune.cases import folder_in

FAR = {"step": 3, "steps": 10, "rows": 48, "all_rows": 160, "loss": 1.5, "left_s": 20.0}


@pytest.fixture
def folder(tmp_path: Path) -> FinetuneFolder:
    return folder_in(tmp_path)


def test_one_that_no_process_was_on_is_crashed_unless_one_was_just_started(folder: FinetuneFolder) -> None:
    assert status_of(folder).state == "crashed"
    folder.worker.set_command("run")
    assert status_of(folder).state == "waiting"
    with pytest.raises(StateError, match="stop it first"):
        refuse_live(folder)


def test_a_live_process_says_how_far_it_is(folder: FinetuneFolder) -> None:
    beat(folder.worker, {"state": "training", **FAR})
    found = status_of(folder)
    assert (found.state, found.step, found.steps, found.rows, found.all_rows) == ("training", 3, 10, 48, 160)
    assert (found.loss, found.validation_loss, found.left_s) == (1.5, None, 20.0)
    assert found.is_live
    with pytest.raises(StateError, match="a process is on it"):
        refuse_live(folder)


def test_a_process_that_is_gone_without_an_ending_has_crashed(folder: FinetuneFolder) -> None:
    beat(folder.worker, {"state": "training", **FAR})
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    values = json.loads(folder.worker.heartbeat.read_text())
    folder.worker.heartbeat.write_text(json.dumps(values | {"pid": gone.pid}))
    found = status_of(folder)
    assert (found.state, found.step, found.left_s, found.pid) == ("crashed", 3, None, None)
    assert found.cause
    refuse_live(folder)


def test_the_ending_counts_even_while_the_process_still_ends(folder: FinetuneFolder) -> None:
    beat(folder.worker, {"state": "merging", **FAR})
    folder.write_ending("done", path="/m", steps=10, loss=1.0)
    assert status_of(folder) == FinetuneStatus("done", "", 3, 10, 48, 160, 1.5, path="/m")
    folder.write_ending("failed", "no space is left")
    assert (status_of(folder).state, status_of(folder).cause) == ("failed", "no space is left")
    assert not status_of(folder).is_live
