"""Train in epochs, with early stopping on the validation MRR, and with checkpoints to continue a killed training."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
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
NOW, BEST = "now.", "best."  # prefixes of the latest state and of the weights with the best validation MRR
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
    history, best = _resume(learner, plan, rng)
    for epoch in range(len(history) + 1, plan.epochs + 1):
        mrrs = [row[2] for row in history]
        if mrrs and len(mrrs) - 1 - mrrs.index(max(mrrs)) >= plan.patience:
            break
        loss, mrr = learner.train_epoch(rng), learner.validate()
        state = learner.state()
        if mrr > max(mrrs, default=-math.inf):
            best = {name: array for name, array in state.items() if name.startswith("weight.")}
        history.append([float(epoch), loss, mrr])
        if plan.folder is not None:
            arrays = {f"{NOW}{name}": array for name, array in state.items()}
            arrays |= {f"{BEST}{name}": array for name, array in best.items()}
            _write(plan.folder / CHECKPOINT, arrays | {"history": np.array(history)}, rng)
        report(epoch / plan.epochs, f"epoch {epoch}: loss {loss:.3f}, validation MRR {mrr:.3f}")
    learner.restore(best)
    return pd.DataFrame(history, columns=list(COLUMNS))


def _write(path: Path, arrays: Arrays, rng: np.random.Generator) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    contiguous = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    facts = json.dumps({"generator": rng.bit_generator.state})
    replace_file(path, save(contiguous, {"facts": facts}), durable=True)


def _resume(learner: Learner, plan: TrainingPlan, rng: np.random.Generator) -> tuple[list[list[float]], Arrays]:
    """Return the history and the best weights in a checkpoint, and restore learner and generator from
    it; without one return a fresh start.
    """
    if plan.folder is None or not (plan.folder / CHECKPOINT).is_file():
        return [], {}
    path = plan.folder / CHECKPOINT
    try:
        with safe_open(path, framework="np") as file:
            facts = parse_json(file.metadata()["facts"])
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (safe_open returns no mapping)
        state, best = (
            {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
            for prefix in (NOW, BEST)
        )
        learner.restore(state)
        rng.bit_generator.state = facts["generator"]
        return arrays["history"].tolist(), best
    except (SafetensorError, ValueError, TypeError, LookupError) as error:
        raise InputError(f"{path}: a damaged checkpoint ({error}); remove it to train from the start") from error
