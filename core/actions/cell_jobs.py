"""Labels of a file of cells, made in a process of its own: what was started, how far it is, how it ended."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from core.actions.page_imports import check_typed_path
from core.actions.process_apart import start_command
from core.actions.workspace import Workspace
from core.cells.screen import Description, LabelSettings, describe_cells
from core.engine.run_state import process_start
from core.engine.spec import KEY_DIGITS, sha256_of
from core.errors import StateError
from core.file_io import replace_file
from core.store import datasets
from core.texts import check_name, parse_json

_FOLDER = "cells"  # in the workspace's cache
_LOG_BYTES = 4_000
State = Literal["running", "done", "failed"]


@dataclass(frozen=True, slots=True)
class LabelJob:
    """One file that is or was labelled. last_line: of what its process said; dataset: the name of what it makes."""

    key: str
    dataset: str
    file: str
    started_at: float
    state: State
    last_line: str


def describe_typed(workspace: Workspace, text: str, settings: LabelSettings, server_address: str | None) -> Description:
    """Returns what a file holds whose path a visitor typed. Raises as `check_typed_path` and `describe_cells`."""
    return describe_cells(check_typed_path(workspace, text, server_address), settings)


def start_labels(
    workspace: Workspace, text: str, name: str, settings: LabelSettings, server_address: str | None, context: str = ""
) -> None:
    """Starts `cells labels` on a file whose path a visitor typed, in a process that outlives this one.

    Raises as `describe_typed`, InputError for a name that cannot be one, and StateError if a dataset has that name or is being
    made under it.
    """
    workspace.refuse_if_read_only("cells labels", name)
    check_name("dataset", name)
    path = check_typed_path(workspace, text, server_address)
    describe_cells(path, settings)
    if any(job.dataset == name and job.state == "running" for job in list_jobs(workspace)):
        raise StateError(f"cells labels: dataset {name!r} is being made")
    with workspace.store.read() as db:
        if any(dataset.name == name for dataset in datasets.list_all(db)):
            raise StateError(f"cells labels: dataset {name!r} exists; choose another name")
    folder = workspace.settings.cache / _FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    key = sha256_of(f"{name} {time.time()}")[:KEY_DIGITS]
    arguments = (
        "cells",
        "labels",
        str(path),
        "--name",
        name,
        *_arguments(settings),
        *(("--context", context) if context else ()),
    )
    pid = start_command(workspace, arguments, folder / f"{key}.log")
    job = {"dataset": name, "file": path.name, "pid": pid, "born": process_start(pid), "started_at": time.time()}
    replace_file(folder / f"{key}.json", json.dumps(job).encode())


def _arguments(settings: LabelSettings) -> Iterator[str]:
    """Yields the options of `cells labels` for settings."""
    groups, thresholds, sampling = settings.groups, settings.thresholds, settings.sampling
    for option in ("perturbation", "control", "batch", "guide"):
        if (value := getattr(settings, option)) is not None:
            yield from (f"--{option}", value)
    numbers = {
        "--min-cells": groups.min_cells,
        "--fdr": thresholds.fdr,
        "--log2-fc": thresholds.log2_fc,
        "--none-fdr": thresholds.none_fdr,
        "--none-log2-fc": thresholds.none_log2_fc,
        "--most-remaining": settings.most_remaining,
        "--most-effects": sampling.most_effects,
        "--least-effects": sampling.least_effects,
        "--seed": sampling.seed,
    }
    for option, number in numbers.items():
        yield from (option, repr(number))
    for option, shares in (("--pert-shares", sampling.pert_shares), ("--gene-shares", sampling.gene_shares)):
        yield from (option, *map(repr, shares))
    switches = {
        "--leave-out-small": groups.leave_out_small,
        "--keep-unknown": groups.keep_unknown,
        "--all-pairs": sampling.all_pairs,
        "--in-memory": settings.in_memory,
    }
    yield from (option for option, is_on in switches.items() if is_on)


def list_jobs(workspace: Workspace) -> list[LabelJob]:
    """Returns what was started from a page, the latest first; what cannot be read is left out."""
    with workspace.store.read() as db:
        made = {dataset.name for dataset in datasets.list_all(db)}
    found = [_read_job(file, made) for file in (workspace.settings.cache / _FOLDER).glob("*.json")]
    return sorted((job for job in found if job is not None), key=lambda job: -job.started_at)


def _read_job(file: Path, made: set[str]) -> LabelJob | None:
    try:
        job = parse_json(file.read_bytes())
        name, pid = str(job["dataset"]), int(job["pid"])
        lives = job["born"] is not None and process_start(pid) == job["born"]
        lines = _tail(file.with_suffix(".log"))
        state: State = "running" if lives else "done" if name in made and not _failed(lines) else "failed"
        return LabelJob(file.stem, name, str(job["file"]), float(job["started_at"]), state, lines[-1] if lines else "")
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _tail(log: Path) -> list[str]:
    with log.open("rb") as opened:
        opened.seek(max(0, opened.seek(0, 2) - _LOG_BYTES))
        return [line for line in opened.read().decode("utf-8", "replace").splitlines() if line.strip()]


def _failed(lines: list[str]) -> bool:
    return bool(lines) and lines[-1].startswith("error: ")
