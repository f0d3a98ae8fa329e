"""What a fine-tune is made from: its specification, whose key is its identity. The process that
trains reads it too."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final

from annotated_types import Ge, Le

from core.base.errors import InputError
from core.base.fields.record import keep_identity
from core.base.fields.setting import Count, Whole, setting
from core.base.hashes import KEY_DIGITS, sha256_of
from core.methods.prompts import CellContext

VERSION: Final = 1  # of the file that holds a specification


@dataclass(frozen=True, slots=True)
class FinetuneSpec:
    """Everything that a fine-tune is made from; plain data.

    base: a model's name, or a folder by its whole path. dataset: an id; dataset_name: at the start.
    data_sha256: of prompts and answers. train, validation, left_out: numbers of rows. settings:
    those of core.features.finetune.spec, every one. out: the folder of the merged model.
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
