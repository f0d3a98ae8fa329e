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

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Final

from annotated_types import Ge, Le

from core.base.config import REPOSITORY, Settings
from core.base.environment import (
    HUB_VARIABLES,
    bare_environment,
    describe,
    environment_of,
    keys_needed,
)
from core.base.errors import InputError, MissingPackage, NotFound, StateError
from core.base.fields.record import keep_identity
from core.base.fields.setting import Count, Whole, setting
from core.base.file_io import part_of, remove_folder, replace_file, sync_folder
from core.base.hashes import KEY_DIGITS, sha256_of, sha256_of_file
from core.base.records import to_json
from core.methods.prompts import CellContext
from core.runs.jobs import work as jobs
from core.runs.jobs.folder import JobFolder, read_json, write_json
from core.runs.jobs.state import JobStatus, status_of
from core.runs.run_folder import read_spec
from core.runs.spec import DatasetName

WHOLE = "whole"  # written into a checkpoint when everything else is there


class FinetuneFolder(JobFolder):
    """The folder that holds a fine-tune's files. Its key is the fine-tune's identity."""

    __slots__ = ()

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
        return status_of(self)


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
    return jobs.start(folder, command, environment, what="fine-tune")


MANIFEST: Final = "manifest.json"
FORMAT, FORMAT_VERSION = "perturbdesk-finetune", 1


CONFIG = "tokenizer_config.json"
_FIELD = "extra_special_tokens"


def refuse_occupied(out: Path) -> None:
    """Raise StateError if anything but an empty folder is in the way at `out`."""
    if (out.is_dir() and not any(out.iterdir())) or not (out.exists() or out.is_symlink()):
        return
    what = "holds other files" if out.is_dir() else "is a file"
    raise StateError(f"{out}: {what}, expected no such folder or an empty one")


def write_merged(adapted: Any, tokenizer: Any, spec: FinetuneSpec, made: Mapping[str, Any]) -> Path:
    """Merge the adapter into its model and write both with the tokenizer; return the folder.

    Everything is written beside the folder and then renamed, so that the folder exists only when it
    is complete. Raise StateError if another file or folder exists there by then.
    """
    out = Path(spec.out)
    refuse_occupied(out)
    with part_of(out, is_folder=True) as unfinished:
        adapted.merge_and_unload().save_pretrained(unfinished)
        tokenizer.save_pretrained(unfinished)
        make_readable(unfinished)
        write_manifest(unfinished, spec, made)
        refuse_occupied(out)
        unfinished.rename(out)
    sync_folder(out.parent)
    return out


def make_readable(folder: Path) -> None:
    """Rewrite a tokenizer's settings in which extra special tokens are a list, which older releases
    refuse."""
    values = read_json(folder / CONFIG)
    if values is not None and isinstance(values.get(_FIELD), list):
        values[_FIELD] = name_tokens(values[_FIELD])
        replace_file(folder / CONFIG, json.dumps(values, indent=2, ensure_ascii=False).encode())


def name_tokens(tokens: Sequence[str | Mapping[str, Any]]) -> dict[str, Any]:
    """Return name → token, in the same order: "<|im_start|>" becomes im_start; repeated names get a
    number."""
    named: dict[str, Any] = {}
    for token in tokens:
        text = str(token["content"]) if isinstance(token, Mapping) else token
        name = stem = re.sub(r"\W+", "_", text).strip("_") or "token"
        number = 2
        while name in named:
            name, number = f"{stem}_{number}", number + 1
        named[name] = token
    return named


def write_manifest(folder: Path, spec: FinetuneSpec, made: Mapping[str, Any]) -> None:
    """Write the manifest of a folder whose other files are complete. made: the facts known to the
    training process."""
    values = {
        "format": FORMAT,
        "version": FORMAT_VERSION,
        "key": spec.key,
        "base": spec.base,
        "dataset": {"id": spec.dataset, "name": spec.dataset_name, "sha256": spec.data_sha256},
        "rows": {"train": spec.train, "validation": spec.validation, "left_out": spec.left_out},
        "settings": dict(spec.settings),
        "code": describe(),
        "made_at": datetime.now(UTC).isoformat(timespec="seconds"),
        **made,
        "files": hashes_of(folder),
    }
    write_json(folder / MANIFEST, values)


def read_manifest(folder: Path) -> dict[str, Any]:
    """Return the manifest of a merged model. Raise NotFound without one, InputError for another
    file or missing parts."""
    values = read_json(folder / MANIFEST)
    if values is None:
        raise NotFound(f"{folder}: has no {MANIFEST}, so it is not a complete fine-tune")
    if values.get("format") != FORMAT or values.get("version") != FORMAT_VERSION:
        raise InputError(
            f"{folder / MANIFEST}: is not a manifest of a fine-tune of version {FORMAT_VERSION}"
        )
    missing = [name for name in values["files"] if not (folder / name).is_file()]
    if missing:
        raise InputError(f"{folder}: lacks {missing[0]}, which its {MANIFEST} names")
    return values


def hashes_of(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of every file in a folder by its path, without the manifest itself."""
    files = sorted(
        file for file in folder.rglob("*") if file.is_file() and file != folder / MANIFEST
    )
    return {str(file.relative_to(folder)): sha256_of_file(file) for file in files}


VERSION: Final = 1  # of the file that holds a specification


@dataclass(frozen=True, slots=True)
class FinetuneSpec:
    """Everything that a fine-tune is made from; plain data.

    base: a model's name, or a folder by its whole path. dataset: an id; dataset_name: at the start.
    data_sha256: of prompts and answers. train, validation, left_out: numbers of rows. settings:
    those of core.features.finetune.job_folder, every one. out: the folder of the merged model.
    most_parameters_b: billions, which the model must have fewer of.
    """

    base: str
    dataset: str
    dataset_name: str
    data_sha256: str
    train: int
    validation: int
    left_out: int
    settings: Mapping[str, Any]
    out: str
    most_parameters_b: float

    @property
    def key(self) -> str:
        """The identity of a fine-tune, 10 hexadecimal digits: where it is written to is not a part
        of it."""
        made_from = {
            "base": self.base,
            "data": self.data_sha256,
            "settings": keep_identity(FinetuneSettings, self.settings),
        }
        return sha256_of(json.dumps(made_from, sort_keys=True, allow_nan=False))[:KEY_DIGITS]

    @property
    def name(self) -> str:
        """What people read: the model and the dataset."""
        return f"{short_name(self.base)} on {self.dataset_name}"


def describe_rows(spec: FinetuneSpec) -> str:
    """Return the numbers of rows in words."""
    left_out = f"{spec.left_out:,} left out because they share a gene or perturbation with both"
    return f"{spec.train:,} training rows, {spec.validation:,} validation rows, {left_out}"


def short_name(base: str) -> str:
    """Return a model's name without its owner or folder."""
    return Path(base).name or base


BASE: Final = "Qwen/Qwen3-4B-Thinking-2507"


@dataclass(frozen=True)
class FinetuneSettings:
    """How an adapter is trained."""

    rank: Annotated[int, Ge(1), Le(1024), setting("Rank of the adapter's matrices.")] = 16
    alpha: Annotated[Count, setting("What the adapter is scaled by, times its rank.")] = 32
    dropout: Annotated[
        float,
        Ge(0),
        Le(0.9),
        setting("Share of the adapter's inputs that is left out in a training step."),
    ] = 0.05
    epochs: Annotated[
        float, Ge(0.001), Le(1000), setting("How often each training row is seen.")
    ] = 3.0
    learning_rate: Annotated[
        float, Ge(1e-9), Le(1), setting("The highest; it falls along a cosine.")
    ] = 2e-4
    warmup: Annotated[
        float, Ge(0), Le(0.9), setting("Share of the steps in which the learning rate rises.")
    ] = 0.1
    batch: Annotated[int, Ge(1), Le(1024), setting("Rows that go through the model at once.")] = 4
    accumulate: Annotated[int, Ge(1), Le(1024), setting("Batches that make one step.")] = 4
    length: Annotated[int, Ge(8), setting("The longest prompt with its answer, in tokens.")] = 1024
    parts: Annotated[
        int,
        Ge(2),
        Le(50),
        setting(
            "Perturbations and genes are cut into so many parts. Rows in the first of both"
            " validate, those in neither train."
        ),
    ] = 5
    seed: Annotated[
        Whole, setting("The random seed of the cut, the order of the rows and the adapter.")
    ] = 0
    context: CellContext = "kit"
    checkpoint_every: Annotated[
        Count,
        setting(
            "Steps between two checkpoints, from which a killed fine-tune goes on.",
            changes_result=False,
        ),
    ] = 50


def read_base(base: str) -> str:
    """Return a model's name as it is, a folder by its whole path. Raise InputError for a folder
    that is not there."""
    path = Path(base).expanduser()
    if base.strip() and path.is_dir():
        if not (path / "config.json").is_file():
            raise InputError(f"{path}: has no config.json, expected the folder of a model")
        return str(path.resolve())
    if not base.strip() or base.startswith(("/", ".", "~")) or base.count("/") > 1:
        raise InputError(
            f"base {base!r}: no such folder, expected a model's folder or a name such as {BASE}"
        )
    return base


@dataclass(frozen=True, slots=True)
class FinetuneRequest:
    """What a person asks for. dataset: a name or id, None for the default. out: None for a folder
    in the workspace."""

    dataset: DatasetName = None
    base: Annotated[
        str | None,
        setting(f"A model below 10B: a folder, or a name such as {BASE}, the default."),
    ] = None
    options: Annotated[
        Mapping[str, object],
        setting("A setting, such as rank=16.", option="--set", metavar="KEY=VALUE"),
    ] = field(default_factory=dict)
    out: Annotated[
        Path | None,
        setting(
            "The folder of the merged model; by default one in the workspace.",
            changes_result=False,
        ),
    ] = None
