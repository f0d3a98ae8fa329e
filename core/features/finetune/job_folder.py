"""The folder of a fine-tune: what it is made from, how far it is, and its checkpoints.

spec.json         its key and its specification; never changed
train.jsonl       prompts and answers to train on, one a line; validation.jsonl: those that validate
checkpoints/      what a killed fine-tune goes on from, removed when it is done
heartbeat         its process, and how far it is; rewritten while the process lives
losses.json       the losses so far
adapter/          the trained adapter by itself
done.json         how the work ended; written last, and removed when another process begins
control           run or cancel
log.txt           the log of its process

The merged model lies where the specification says, by default in this folder under the name of its
base.

Checkpoints of a fine-tune: which one is whole. One that was being written when its process was
killed is not.

Starts the process that trains, by an interpreter that has the packages for it, in a session of its
own.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.base.config import REPOSITORY, Settings
from core.base.environment import HUB_VARIABLES, bare_environment, environment_of, keys_needed
from core.base.errors import MissingPackage
from core.base.file_io import remove_folder, replace_file
from core.base.records import to_json
from core.features.finetune.spec import VERSION, FinetuneSpec
from core.runs.jobs import work as jobs
from core.runs.jobs.folder import JobFolder, read_json, write_json
from core.runs.jobs.state import JobStatus, status_of
from core.runs.run_folder import read_spec

WHOLE = "whole"  # written into a checkpoint when everything else is there


@dataclass(frozen=True, slots=True)
class FinetuneFolder:
    """The folder that holds a fine-tune's files."""

    path: Path

    @property
    def key(self) -> str:
        """The fine-tune's identity."""
        return self.path.name

    @property
    def worker(self) -> JobFolder:
        """The files that a fine-tune's process shares with those who watch it."""
        return JobFolder(self.path)

    @property
    def train(self) -> Path:
        return self.path / "train.jsonl"

    @property
    def validation(self) -> Path:
        return self.path / "validation.jsonl"

    @property
    def checkpoints(self) -> Path:
        return self.path / "checkpoints"

    @property
    def adapter(self) -> Path:
        return self.path / "adapter"

    @property
    def exists(self) -> bool:
        """Whether this is the folder of a fine-tune: its specification is there."""
        return (self.path / "spec.json").is_file()

    def create(self, spec: FinetuneSpec, train: bytes, validation: bytes) -> None:
        """Create the folder, the specification last."""
        self.path.mkdir(parents=True, exist_ok=True)
        replace_file(self.train, train, durable=True)
        replace_file(self.validation, validation, durable=True)
        write_json(
            self.path / "spec.json", {"version": VERSION, "key": spec.key, "spec": to_json(spec)}
        )

    def remove(self) -> None:
        """Delete the folder if it is a fine-tune's."""
        if self.exists:
            remove_folder(self.path)

    def spec(self) -> FinetuneSpec:
        """Return the specification. Raise NotFound without one, InputError if it was changed or
        cannot be read."""
        return read_spec(self.path / "spec.json", FinetuneSpec, "fine-tune")

    def losses(self) -> list[dict[str, Any]]:
        """Return the losses so far, in order: step, epoch, and loss or validation_loss."""
        return list((read_json(self.path / "losses.json") or {}).get("losses", ()))

    def write_losses(self, losses: list[dict[str, Any]]) -> None:
        """Write the losses so far."""
        write_json(self.path / "losses.json", {"losses": losses}, durable=False)

    def status(self) -> JobStatus:
        """Return its state. said: step, the optimizer steps made."""
        return status_of(self.worker)


def list_folders(path: Path) -> list[FinetuneFolder]:
    """Return the fine-tunes in a folder, the latest started first."""
    found = [FinetuneFolder(entry) for entry in path.glob("[!.]*")]
    return sorted(
        (each for each in found if each.exists),
        key=lambda each: (os.stat(each.path / "spec.json").st_mtime, each.key),
        reverse=True,
    )


def mark_whole(checkpoint: Path) -> None:
    """Record that everything of a checkpoint is written."""
    replace_file(checkpoint / WHOLE, b"", durable=True)


def last_whole(checkpoints: Path) -> Path | None:
    """Return the complete checkpoint with the most steps; None without one. Remove incomplete
    ones."""
    found: dict[int, Path] = {}
    for entry in checkpoints.glob("checkpoint-*"):
        step = entry.name.removeprefix("checkpoint-")
        if (entry / WHOLE).is_file() and step.isdecimal():
            found[int(step)] = entry
        else:
            shutil.rmtree(entry)
    return found[max(found)] if found else None


OWN_PYTHON = REPOSITORY / ".venv-train" / "bin" / "python"
PACKAGES = ("torch", "transformers", "trl", "peft", "datasets", "filelock", "psutil")
_TO_INSTALL = "make .venv-train/ok installs what requirements-train.txt pins"
_LIST_MISSING = (
    "import importlib.util as u, sys; print(*(name for name in sys.argv[1:] if u.find_spec(name) is"
    " None))"
)


def default_python() -> Path:
    """Return the interpreter of .venv-train if there is one, else this one."""
    return OWN_PYTHON if OWN_PYTHON.exists() else Path(sys.executable)


def refuse_missing_packages(python: Path) -> None:
    """Raise MissingPackage if an interpreter lacks what a fine-tune needs; import none of it."""
    try:
        found = subprocess.run(
            (str(python), "-c", _LIST_MISSING, *PACKAGES),
            capture_output=True,
            text=True,
            check=False,
            env=bare_environment(),
        )
    except OSError as error:
        raise MissingPackage(f"{python}: cannot be run ({error}); {_TO_INSTALL}") from error
    missing = found.stdout.split() if found.returncode == 0 else [*PACKAGES]
    if missing:
        raise MissingPackage(
            f"fine-tuning needs {', '.join(missing)}, which {python} does not have; {_TO_INSTALL}"
        )


def start_training(folder: FinetuneFolder, settings: Settings, python: Path) -> int:
    """Start a fine-tune's process and wait for its first heartbeat; return its process id.

    It continues from the last complete checkpoint. Raise StateError if it ends before its first
    heartbeat.
    """
    command = (str(python), "-m", "core.features.finetune.train", str(folder.path))
    environment = environment_of(keys_needed(settings, "", sources=False), HUB_VARIABLES)
    return jobs.start(folder.worker, command, environment, what="fine-tune")
