"""Train in epochs, with early stopping on the validation MRR, and with checkpoints to continue a killed training."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from core.errors import InputError
from core.file_io import replace_file
from core.texts import parse_json

CHECKPOINT: Final = "training.safetensors"
COLUMNS: Final = ("epoch", "train_loss", "validation_mrr")

Arrays = dict[str, NDArray[Any]]


class Learner(Protocol):
    """The model in training."""

    def train_epoch(self, rng: np.random.Generator) -> float:
        """Train for an epoch and return the mean loss."""
        ...

    def validate(self) -> float:
        """Return the MRR of the validation cells."""
        ...

    def state(self) -> Arrays:
        """Return copies of all that the next epoch depends on, except the generator: weights, with
        names that start with "weight.", and other state, such as the optimizer's."""
        ...

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Restore the result of `state`, or only the weights if nothing else is given."""
        ...


@dataclass(frozen=True, slots=True)
class TrainingPlan:
    """Limits of a training. patience: training stops after this many epochs without a better
    validation MRR. folder: of the checkpoint, for one training alone; None to save none.
    """

    epochs: int
    patience: int
    folder: Path | None = None


@dataclass(slots=True)
class _Progress:
    """The progress of a training. best: the weights of the epoch with the best validation MRR."""

    history: list[list[float]] = field(default_factory=list)
    best: Arrays = field(default_factory=dict)
    best_epoch: int = 0


def train_epochs(
    learner: Learner,
    plan: TrainingPlan,
    rng: np.random.Generator,
    report: Callable[[float, str], object] = lambda _share, _what: None,
) -> pd.DataFrame:
    """Train to the end of the plan, set the learner to its best weights, and return the history: COLUMNS.

    On a CPU, a training continued from a checkpoint ends exactly like one that was never stopped; a
    GPU uses its own generator for dropout. Raise InputError for a damaged checkpoint, and OSError.
    """
    progress = _resume(learner, plan, rng)
    for epoch in range(len(progress.history) + 1, plan.epochs + 1):
        if epoch - 1 - progress.best_epoch >= plan.patience:
            break
        loss, mrr = learner.train_epoch(rng), learner.validate()
        if not progress.best or mrr > progress.history[progress.best_epoch - 1][2]:
            state = learner.state()
            progress.best = {name: state[name] for name in state if name.startswith("weight.")}
            progress.best_epoch = epoch
        progress.history.append([float(epoch), loss, mrr])
        if plan.folder is not None:
            _write(plan.folder / CHECKPOINT, learner, rng, progress)
        report(epoch / plan.epochs, f"epoch {epoch}: loss {loss:.3f}, validation MRR {mrr:.3f}")
    learner.restore(progress.best)
    return pd.DataFrame(progress.history, columns=list(COLUMNS))


def _write(path: Path, learner: Learner, rng: np.random.Generator, progress: _Progress) -> None:
    facts = {"best_epoch": progress.best_epoch, "generator": rng.bit_generator.state}
    arrays = {f"now.{name}": array for name, array in learner.state().items()}
    arrays |= {f"best.{name}": array for name, array in progress.best.items()}
    arrays["history"] = np.array(progress.history, dtype=np.float64)
    path.parent.mkdir(parents=True, exist_ok=True)
    contiguous = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    replace_file(path, save(contiguous, {"facts": json.dumps(facts)}), durable=True)


def _resume(learner: Learner, plan: TrainingPlan, rng: np.random.Generator) -> _Progress:
    """Return the progress in a checkpoint, and restore learner and generator from it; without one
    return a fresh start.
    """
    if plan.folder is None or not (plan.folder / CHECKPOINT).is_file():
        return _Progress()
    path = plan.folder / CHECKPOINT
    try:
        with safe_open(path, framework="np") as file:
            facts = parse_json(file.metadata()["facts"])
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (safe_open returns no mapping)
    except (SafetensorError, ValueError, TypeError, LookupError) as error:
        raise InputError(f"{path}: a damaged checkpoint ({error}); remove it to train from the start") from error
    learner.restore(_part(arrays, "now."))
    rng.bit_generator.state = facts["generator"]
    return _Progress(arrays["history"].tolist(), _part(arrays, "best."), facts["best_epoch"])


def _part(arrays: Arrays, prefix: str) -> Arrays:
    return {name.removeprefix(prefix): arrays[name] for name in arrays if name.startswith(prefix)}
