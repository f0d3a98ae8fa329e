"""Epochs, early stop and checkpoints, with a learner whose numbers are known."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from core.base.errors import InputError
from core.features.targets.models.base import CHECKPOINT, train_epochs

MRRS = (0.1, 0.3, 0.2, 0.3, 0.25, 0.9)


class Scripted:
    """Its weight is the sum of the numbers drawn so far; it is validated by MRRS in order."""

    def __init__(self, stop_at: int | None = None) -> None:
        self.weight, self.epoch, self.stop_at = 0.0, 0, stop_at

    def train_epoch(self, rng: np.random.Generator) -> float:
        if self.epoch == self.stop_at:
            raise KeyboardInterrupt
        self.epoch += 1
        self.weight += float(rng.random())
        return 1 / self.epoch

    def validate(self) -> float:
        return MRRS[self.epoch - 1]

    def state(self) -> dict[str, Any]:
        return {"weights": self.weight, "epoch": self.epoch}

    def restore(self, state: dict[str, Any]) -> None:
        self.weight, self.epoch = state["weights"], state.get("epoch", self.epoch)


def train(learner: Scripted, folder: Path | None = None, **plan: Any) -> list[list[float]]:
    settings = {"epochs": 6, "patience": 3, "folder": folder, **plan}
    return train_epochs(learner, np.random.default_rng(0), **settings).to_numpy().tolist()


def test_it_stops_after_three_epochs_without_a_better_mrr_and_keeps_the_best_weights() -> None:
    learner = Scripted()
    history = train(learner)
    # 0.3 in epoch 2 is the best until 0.9, which is never reached: an equal 0.3 is not better
    assert [row[0] for row in history] == [1, 2, 3, 4, 5]
    assert [row[2] for row in history] == list(MRRS[:5])
    assert learner.weight == np.random.default_rng(0).random(2).sum()
    assert len(train(Scripted(), patience=5)) == 6
    assert len(train(Scripted(), epochs=2)) == 2


@pytest.mark.torch
def test_a_killed_training_goes_on_and_ends_the_same(tmp_path: Path) -> None:
    pytest.importorskip(
        "torch", reason="torch is not installed: pip install -r requirements-models.txt"
    )
    whole = Scripted()
    expected = train(whole)
    with pytest.raises(KeyboardInterrupt):
        train(Scripted(stop_at=3), tmp_path)
    resumed = Scripted()
    assert train(resumed, tmp_path) == expected
    assert resumed.weight == whole.weight


@pytest.mark.torch
def test_a_damaged_checkpoint_is_named(tmp_path: Path) -> None:
    pytest.importorskip(
        "torch", reason="torch is not installed: pip install -r requirements-models.txt"
    )
    (tmp_path / CHECKPOINT).write_bytes(b"torn")
    with pytest.raises(InputError, match="damaged checkpoint"):
        train(Scripted(), tmp_path)
