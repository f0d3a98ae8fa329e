"""Epochs and early stop, with a learner whose numbers are known."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from core.features.targets.models.transformer import _Learner

MRRS = (0.1, 0.3, 0.2, 0.3, 0.25, 0.9)


class Scripted(_Learner):
    """Its weight is the number of its epochs; it is validated by MRRS in order."""

    def __init__(self, **options: int) -> None:
        self.options = {"epochs": 6, "patience": 3, **options}
        self.weight = 0
        self.network: Any = SimpleNamespace(
            weights=lambda: self.weight, module=SimpleNamespace(load_state_dict=self.set_weight)
        )

    def set_weight(self, weight: int) -> None:
        self.weight = weight

    def train_epoch(self, _rng: np.random.Generator) -> float:
        self.weight += 1
        return 1 / self.weight

    def validate(self) -> float:
        return MRRS[self.weight - 1]

    def history(self) -> list[list[float]]:
        return self.train(np.random.default_rng(0), lambda *_: None).to_numpy().tolist()


def test_it_stops_after_three_epochs_without_a_better_mrr_and_keeps_the_best_weights() -> None:
    learner = Scripted()
    history = learner.history()
    # 0.3 in epoch 2 is the best until 0.9, which is never reached: an equal 0.3 is not better
    assert [row[0] for row in history] == [1, 2, 3, 4, 5]
    assert [row[2] for row in history] == list(MRRS[:5])
    assert learner.weight == 2
    assert len(Scripted(patience=5).history()) == 6
    assert len(Scripted(epochs=2).history()) == 2
