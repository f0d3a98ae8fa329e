"""Train in epochs, with early stopping on the validation MRR, and with checkpoints to continue a
killed training."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from pickle import UnpicklingError
from typing import Any, Final, Protocol

import numpy as np
import pandas as pd

from core.base.errors import InputError, require_package
from core.base.file_io import replace_file
from core.features.targets.models.base import REQUIREMENTS

CHECKPOINT: Final = "training.pt"
COLUMNS: Final = ("epoch", "train_loss", "validation_mrr")


class Learner(Protocol):
    """The model in training."""

    def train_epoch(self, rng: np.random.Generator) -> float:
        """Train for an epoch and return the mean loss."""
        ...

    def validate(self) -> float:
        """Return the MRR of the validation cells."""
        ...

    def state(self) -> Mapping[str, Any]:
        """Return all that the next epoch depends on, except the generator: under "weights" a copy
        of the weights, and other state, such as the optimizer's. Tensors and plain data."""
        ...

    def restore(self, state: Mapping[str, Any]) -> None:
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
    """Train to the end of the plan, set the learner to its best weights, and return the history:
    COLUMNS.

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
            best = state["weights"]
        history.append([float(epoch), loss, mrr])
        if plan.folder is not None:
            content = BytesIO()
            generator = rng.bit_generator.state
            _torch().save(
                {"now": state, "best": best, "history": history, "generator": generator}, content
            )
            plan.folder.mkdir(parents=True, exist_ok=True)
            replace_file(plan.folder / CHECKPOINT, content.getvalue(), durable=True)
        report(epoch / plan.epochs, f"epoch {epoch}: loss {loss:.3f}, validation MRR {mrr:.3f}")
    learner.restore({"weights": best})
    return pd.DataFrame(history, columns=list(COLUMNS))


def _torch() -> Any:
    return require_package("torch", "a checkpoint", REQUIREMENTS)


def _resume(
    learner: Learner, plan: TrainingPlan, rng: np.random.Generator
) -> tuple[list[list[float]], Any]:
    """Return the history and the best weights in a checkpoint, and restore learner and generator
    from it; without one return a fresh start.
    """
    if plan.folder is None or not (plan.folder / CHECKPOINT).is_file():
        return [], None
    path = plan.folder / CHECKPOINT
    try:
        content = _torch().load(path, map_location="cpu", weights_only=True)
        learner.restore(content["now"])
        rng.bit_generator.state = content["generator"]
        return content["history"], content["best"]
    except (UnpicklingError, RuntimeError, EOFError, ValueError, TypeError, LookupError) as error:
        raise InputError(
            f"{path}: a damaged checkpoint ({error}); remove it to train from the start"
        ) from error
