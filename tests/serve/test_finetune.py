"""Track C as a person goes through it: a fine-tune, killed and resumed; its model behind a real vLLM; a run; a package."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file

from core.base.config import REPOSITORY
from core.features.finetune import actions as finetunes
from core.features.finetune import job_folder
from core.features.finetune.job_folder import (
    FinetuneFolder,
    FinetuneRequest,
    last_whole,
    read_manifest,
)
from core.features.predicting.serve import OWN_PYTHON
from core.features.submissions import actions as submissions
from core.features.submissions.rules import is_valid
from core.llm.endpoint import Endpoint
from core.runs import launch, run_control
from core.runs.jobs import control
from core.runs.jobs.folder import log_tail
from core.runs.request import RunRequest
from core.runs.spec import ExecutionSettings
from core.runs.workspace import Workspace
from core.store import predictions
from tests.serve.exercises import rows_and_view, tiny_model, workspace_of
from tests.serve.served import serving, wait_until

PAIRS, VIEW = rows_and_view()
ROWS = 160
SETTINGS = {"epochs": 4, "accumulate": 1, "parts": 3, "learning_rate": 0.005, "checkpoint_every": 4}
NAME = "tiny-0.5M-finetuned"
FOUND = 10  # test rows
STOPPED_AT, FURTHER, WAIT_S = 9, 12, 600.0  # steps; seconds
EXTRA = ("--served-model-name", NAME, "--dtype", "float32")


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    """A model this small is hardly slower with it, and waits for no thread that others hold up."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OMP_NUM_THREADS", "1")
        yield


@pytest.fixture(scope="module")
def base() -> Path:
    assert job_folder.OWN_PYTHON.exists(), (
        "what trains is not installed in .venv-train; run make test-serve"
    )
    return tiny_model(OWN_PYTHON)


def workspace_in(folder: Path) -> Workspace:
    """A workspace whose training rows go down, but for every tenth: what a model can learn in a minute."""
    labels = [("up", "none")[i % 20 // 10] if i % 10 == 0 else "down" for i in range(ROWS)]
    return workspace_of(folder, VIEW.rows[:ROWS], labels, PAIRS[:FOUND])


def step_of(folder: FinetuneFolder) -> int:
    return int(folder.status().said.get("step", 0))


def command(workspace: Workspace, *words: str) -> Any:
    """What the command prints as JSON."""
    arguments = (
        sys.executable,
        "-m",
        "core",
        "--workspace",
        str(workspace.settings.workspace),
        "finetune",
        *words,
        "--json",
    )
    done = subprocess.run(
        arguments, cwd=REPOSITORY, capture_output=True, text=True, check=False, timeout=WAIT_S
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


Trained = tuple[Workspace, dict[str, Any]]  # with what the command printed


@pytest.fixture(scope="module")
def trained(base: Path, tmp_path_factory: pytest.TempPathFactory) -> Trained:
    """A workspace with a fine-tune that nothing interrupted, and what the command printed."""
    workspace = workspace_in(tmp_path_factory.mktemp("trained"))
    out = workspace.settings.workspace / "models" / NAME
    options = [word for name, value in SETTINGS.items() for word in ("--set", f"{name}={value}")]
    return workspace, command(workspace, "--base", str(base), "--out", str(out), *options)


def test_the_command_trains_and_merges(trained: Trained, base: Path) -> None:
    workspace, printed = trained
    out = workspace.settings.workspace / "models" / NAME
    assert set(printed) == {"path", "steps", "loss", "manifest"}
    assert (printed["path"], printed["manifest"]) == (str(out), str(out / "manifest.json"))
    manifest = read_manifest(out)
    [folder] = finetunes.list_all(workspace)
    spec = folder.spec()
    assert (manifest["base"], manifest["key"], manifest["dataset"]["sha256"]) == (
        str(base),
        folder.key,
        spec.data_sha256,
    )
    losses = [each["loss"] for each in folder.losses() if "loss" in each]
    assert len(losses) == printed["steps"] == 4 * -(-spec.train // 4)
    assert printed["loss"] == losses[-1]
    assert np.mean(losses[-10:]) < 0.7 * np.mean(losses[:3])
    assert sum("validation_loss" in each for each in folder.losses()) == 4
    assert not folder.checkpoints.exists()
    again = finetunes.start(
        workspace, FinetuneRequest(None, str(base), SETTINGS)
    )  # is done: nothing is started
    assert again == folder
    assert finetunes.result_of(again) == printed


@pytest.mark.soak  # `make soak PART=serve`, after `make test-serve`
def test_stopped_killed_and_resumed_it_ends_where_an_uninterrupted_one_does(
    trained: Trained, base: Path, tmp_path: Path
) -> None:
    uninterrupted = finetunes.list_all(trained[0])[0]
    workspace = workspace_in(tmp_path)
    folder = finetunes.start(workspace, FinetuneRequest(None, str(base), SETTINGS))
    assert folder.key == uninterrupted.key
    wait_until(lambda: step_of(folder) >= STOPPED_AT or not folder.status().is_live, WAIT_S)
    control.stop(workspace, control.find_named(workspace, f"finetune/{folder.key}"))
    wait_until(lambda: not folder.status().is_live, WAIT_S)
    assert folder.status().state == "stopped"
    stopped_at = step_of(folder)
    assert last_whole(folder.checkpoints) == folder.checkpoints / f"checkpoint-{stopped_at}"
    finetunes.resume(workspace, folder.key)
    wait_until(
        lambda: step_of(folder) >= stopped_at + FURTHER or not folder.status().is_live, WAIT_S
    )
    pid = folder.status().pid
    assert pid is not None, log_tail(folder, 20)
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: folder.status().state == "crashed", WAIT_S)
    assert stopped_at < step_of(folder) < trained[1]["steps"]
    half = folder.checkpoints / "checkpoint-9999"  # as if it had been killed in the middle of one
    half.mkdir()
    (half / "trainer_state.json").write_text("{")
    printed = command(workspace, "--resume")
    assert "from checkpoint-" in "\n".join(log_tail(folder, 1000))
    assert printed["steps"] == trained[1]["steps"]
    assert printed["loss"] == pytest.approx(trained[1]["loss"], rel=1e-4)
    ours, theirs = (
        load_file(each.adapter / "adapter_model.safetensors") for each in (folder, uninterrupted)
    )
    assert ours.keys() == theirs.keys()
    assert max(float(np.abs(ours[name] - theirs[name]).max()) for name in ours) < 1e-5
    curve, expected = (
        [(each["step"], each.get("loss", each.get("validation_loss"))) for each in one.losses()]
        for one in (folder, uninterrupted)
    )
    assert curve == [(step, pytest.approx(loss, rel=1e-3, abs=1e-5)) for step, loss in expected]


@pytest.fixture(scope="module")
def server(trained: Trained, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoint]:
    with serving(
        Path(trained[1]["path"]), tmp_path_factory.mktemp("server") / "log.txt", *EXTRA
    ) as endpoint:
        yield endpoint


def test_its_model_is_served_asked_and_packaged(
    trained: Trained, server: Endpoint, tmp_path: Path
) -> None:
    workspace = trained[0]
    for options in ({"max_tokens": 32}, {"max_tokens": 32, "samples": 3, "choose": "best"}):
        request = RunRequest("local_model", None, options, "split=test", model=NAME)
        settings = ExecutionSettings(server.base_url)
        name = f"mine {len(options)}"
        run = run_control.start(
            workspace, launch.resolve(workspace, request), name, settings, begin=run_control.work_on
        )
        run = run_control.settle(workspace, run.id)
        assert (run.status, run.done, run.failed, run.fallbacks) == ("done", FOUND, 0, 0), log_tail(
            workspace.run_folder(run.id)
        )
        with workspace.store.read() as db:
            frame = predictions.frame(db, run.id)
        assert (
            frame["prediction_down"].mean() > 0.6
        )  # what it was taught; its base gives each letter a third
        assert frame["prediction_down"].nunique() > 1  # probabilities, not letters
        out = tmp_path / f"{name}.zip"
        made = submissions.package(workspace, run.id, submissions.PackageOptions("C"), out)
        assert made.path == out, made.problems
        found = submissions.check_file(workspace, out, "C", run=run.id)
        assert is_valid(found)
        assert "model_size" not in {
            problem.rule for problem in found
        }  # its name says how small it is
