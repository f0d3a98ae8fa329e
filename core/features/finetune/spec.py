"""What a fine-tune is made from: its specification, whose key is its identity. The process that
trains reads it too."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from core.base.fields.record import keep_identity
from core.base.hashes import KEY_DIGITS, sha256_of
from core.features.finetune.settings import FinetuneSettings

VERSION: Final = 1  # of the file that holds a specification


@dataclass(frozen=True, slots=True)
class FinetuneSpec:
    """Everything that a fine-tune is made from; plain data.

    base: a model's name, or a folder by its whole path. dataset: an id; dataset_name: at the start.
    data_sha256: of prompts and answers. train, validation, left_out: numbers of rows. settings:
    those of core.features.finetune.settings, every one. out: the folder of the merged model.
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
