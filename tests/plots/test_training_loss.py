"""The losses of a fine-tune by step."""

from __future__ import annotations

from core.plots import theme, training_loss

LOSSES = [
    {"step": 1, "epoch": 0.5, "loss": 2.0},
    {"step": 2, "epoch": 1.0, "loss": 1.0},
    {"step": 2, "epoch": 1.0, "validation_loss": 1.25},
]
TABLE = training_loss.table(LOSSES)


def test_a_line_for_each_kind_of_rows_named_where_it_ends() -> None:
    table = training_loss.table(LOSSES)
    assert table["rows"].tolist() == ["training", "training", "validation"]
    chart = training_loss.figure(table)
    training, validation = chart.data
    assert (list(training.x), list(training.y), training.line.color) == ([1, 2], [2.0, 1.0], theme.BASELINE)
    assert (list(validation.x), list(validation.y), validation.line.color) == ([2], [1.25], theme.CHOSEN)
    assert [note.text for note in chart.layout.annotations] == ["training 1.000", "validation 1.250"]
    assert chart.layout.yaxis.title.text == "loss, nats per answer token"


def test_before_the_first_validation_there_is_one_line_and_before_the_first_step_none() -> None:
    assert [line.name for line in training_loss.figure(training_loss.table(LOSSES[:1])).data] == ["training"]
    assert not training_loss.figure(training_loss.table([])).data
