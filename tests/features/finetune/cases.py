"""A fine-tune's folder, without a model."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from core.base.fields.record import read_options
from core.base.hashes import sha256_of
from core.features.finetune import job_folder
from core.features.finetune.job_folder import (
    FinetuneFolder,
    FinetuneRequest,
    FinetuneSettings,
    FinetuneSpec,
    write_manifest,
)
from core.features.importing.actions import import_upload
from core.runs.jobs.state import record_ending
from core.runs.workspace import Workspace
from tests.cases import as_csv
from tests.worlds import workspace_in

EXAMPLE = {"id": "Pa_Ga", "prompt": "What does losing Pa do to Ga?", "answer": "<answer>A</answer>"}
REQUEST = FinetuneRequest(base="nobody/no-such-model-1B", options={"parts": 2})
LINES = f"{json.dumps(EXAMPLE)}\n".encode()


def spec(out: Path | str = "/nowhere", **changes: Any) -> FinetuneSpec:
    values = {
        "base": "owner/Model-4B",
        "dataset": "d",
        "dataset_name": "bmdm",
        "data_sha256": sha256_of(LINES.decode()),
        "train": 1,
        "validation": 1,
        "left_out": 2,
        "settings": read_options(FinetuneSettings, {}),
        "out": str(out),
        "most_parameters_b": 10.0,
    }
    return FinetuneSpec(**values | changes)


def folder_in(place: Path, **changes: Any) -> FinetuneFolder:
    """A fine-tune that was planned, and on which no process has been."""
    made = spec(place / "model", **changes)
    folder = FinetuneFolder(place / made.key)
    folder.create(made, LINES, LINES)
    return folder


def write_model(folder: Path) -> None:
    """What a merged model's folder holds, in names alone."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("config.json", "model.safetensors"):
        (folder / name).write_text(name)


def labelled_workspace(place: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    """A workspace with 36 labelled rows. A fine-tune's process gets this interpreter, which may lack torch, and no network."""
    monkeypatch.setattr(job_folder, "OWN_PYTHON", place / "no interpreter")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    workspace = workspace_in(place / "here")
    rows = [
        (f"P{i}_G{j}", f"P{i}", f"G{j}", ("up", "down", "none")[(i + j) % 3])
        for i in range(6)
        for j in range(6)
    ]
    assert (
        import_upload(workspace, as_csv(["id", "pert", "gene", "label"], rows), "train.csv").kind
        != "failed"
    )
    return workspace


def until_ended(folder: FinetuneFolder) -> str:
    """The state that a fine-tune's process leaves it in."""
    deadline = time.monotonic() + 120
    while folder.status().is_live:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return folder.status().state


def finish(folder: FinetuneFolder, out: Path) -> None:
    """Leaves a fine-tune as its process does when it is done."""
    write_model(out)
    write_manifest(out, folder.spec(), {"steps": 9, "loss": 0.5, "validation_loss": 0.6})
    record_ending(folder, "done", steps=9, loss=0.5, validation_loss=0.6)
