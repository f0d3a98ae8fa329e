"""Training by epoch: a line a model, a star at the epoch that was kept."""

from __future__ import annotations

import pandas as pd
import pytest

from core.plots import ranking_training

TABLE = pd.DataFrame(
    {"model": "transformer", "epoch": [1.0, 2.0, 3.0], "train_loss": [0.9, 0.7, 0.6], "validation_mrr": [0.2, 0.4, 0.3]}
)


@pytest.mark.parametrize(("measure", "best"), [("train_loss", 0.7), ("validation_mrr", 0.4)])
def test_the_kept_epoch_has_a_star(measure: str, best: float) -> None:
    line, star = ranking_training.figure(TABLE, measure).data
    assert list(line.y) == TABLE[measure].tolist()
    assert (star.x[0], star.y[0]) == (2.0, best)


def test_epochs_without_a_measure_are_left_out() -> None:
    [line] = ranking_training.figure(TABLE.assign(validation_mrr=float("nan")), "train_loss").data
    assert list(line.x) == [1, 2, 3]
