"""Rows without a prediction: a reading's alone, whatever another method gives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from core.base.errors import InputError
from core.base.types import Flag, Pair, Prediction, RowResult, TraceEvent, row_of_reading
from core.methods.base import Context
from core.runs import run_control
from core.runs.journal import decode_entry, encode_entry
from tests.runs.cases import fast, run_here, stored_rows, wish, workspace_with
from tests.runs.methods import Base, constant, here

READING = RowResult(
    row_of_reading("Pa_Ga", (Flag.UNREAD,), 9),
    (
        TraceEvent(
            "de",
            "EFFECT",
            "reading",
            "<answer>A</answer>",
            9,
            1.5,
            {"of_seq": 0, "answer": "yes", "p": 0.75},
        ),
    ),
)
PREDICTION = Prediction("Pa_Ga", 0.2, 0.2, 0.4, 0.5, "trace")


def test_a_row_of_a_reading_is_journalled_as_it_is() -> None:
    assert decode_entry(encode_entry(READING)) == READING


@pytest.mark.parametrize("name", ["prediction_up", "prediction_down", "p_de"])
@pytest.mark.parametrize("source", ["trace", "file"])
def test_a_prediction_without_a_number_is_refused(name: str, source: str) -> None:
    lacking = replace(PREDICTION, p_source=source, **{name: None})  # type: ignore[arg-type]
    with pytest.raises(InputError, match=f"{name} is None, expected 0 to 1"):
        encode_entry(RowResult(lacking))


@pytest.mark.parametrize("name", ["prediction_up", "prediction_down", "p_de", "p_up_given_de"])
def test_a_row_of_a_reading_with_a_number_is_refused(name: str) -> None:
    with pytest.raises(InputError, match=f"{name} is 0.5, expected none in a row of a reading"):
        encode_entry(RowResult(replace(READING.prediction, **{name: 0.5})))  # type: ignore[arg-type]


@dataclass
class Silent(Base):
    """Gives rows without a prediction."""

    name: str = "silent"

    async def predict_row(self, pair: Pair, context: Context) -> RowResult:  # noqa: ARG002
        return RowResult(row_of_reading(pair.pair_id, (), 0))


@dataclass
class SilentAtOnce(Base):
    """Gives one row without a prediction, of all that it gives at once."""

    name: str = "silent_at_once"

    def predict_batch(self, pairs: Sequence[Pair], context: Context) -> list[RowResult]:  # noqa: ARG002
        return [RowResult(row_of_reading(pairs[0].pair_id, (), 0)), *map(constant, pairs[1:])]


def test_a_method_that_predicts_owes_a_prediction(tmp_path: Path) -> None:
    workspace = workspace_with(tmp_path, 3)
    run = run_here(workspace, Silent())
    assert (run.status, run.done, run.failed) == ("done", 0, 3)
    assert set(stored_rows(workspace, run.id)["error"]) == {
        "InputError: silent gave no prediction, expected one: only judge_rubric, read_findings give none"
    }
    at_once = SilentAtOnce()
    run = run_control.start(workspace, wish(workspace, at_once), "s", fast(), begin=here(at_once))
    assert (run.status, run.done) == ("stopped", 0)
    assert (
        run.cause == "method silent_at_once: gave rows without a prediction, expected one for each"
    )
