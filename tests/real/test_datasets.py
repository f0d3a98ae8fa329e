"""The published files, as numbers.md and submissions.md describe them."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from core.base.types import Flag, Label
from core.features.importing.fetch import SOURCES
from core.features.importing.pairs import PairTable
from core.features.importing.reader import read_path
from core.features.importing.submissions import SubmissionTable

pytestmark = pytest.mark.real

DEBATES = (
    "track_b_sharp",
    "track_b_knn_fusion",
    "track_b_scgpt_fusion",
    "track_b_scgpt_fusion_wdir07",
)
Pairs = Callable[[str], PairTable]
Submission = Callable[[str], SubmissionTable]


@pytest.fixture(scope="module")
def pairs(shared_data: Path) -> Pairs:
    def load(path: str) -> PairTable:
        table = read_path(shared_data / path)
        assert isinstance(table, PairTable)
        assert table.rejected == ()
        return table

    return load


@pytest.fixture(scope="module")
def submission(shared_data: Path) -> Submission:
    def load(path: str) -> SubmissionTable:
        table = read_path(shared_data / path)
        assert isinstance(table, SubmissionTable)
        assert table.rejected == ()
        return table

    return load


@pytest.mark.soak
def test_train(pairs: Pairs) -> None:
    table = pairs("challenge/train.csv")
    assert (table.kind, table.cell_line, len(table.pairs)) == ("challenge_train", None, 7705)
    assert len({pair.pert for pair in table.pairs}) == 386
    assert len({pair.gene for pair in table.pairs}) == 1570
    assert Counter(pair.label for pair in table.pairs) == {
        Label.UP: 2359,
        Label.DOWN: 1086,
        Label.NONE: 4260,
    }
    assert len({pair.pert for pair in table.pairs} & {pair.gene for pair in table.pairs}) == 31
    assert table.lines == tuple(range(2, 7707))


def test_test(pairs: Pairs) -> None:
    table = pairs("challenge/test.csv")
    assert (table.kind, len(table.pairs)) == ("challenge_test", 1813)
    assert len({pair.pert for pair in table.pairs}) == 96
    assert len({pair.gene for pair in table.pairs}) == 636
    assert {pair.label for pair in table.pairs} == {None}


@pytest.mark.soak
@pytest.mark.parametrize(
    ("suffix", "track"), [("", "C"), ("_track_a", "A"), ("_track_b", "B"), ("_track_c", "C")]
)
def test_samples_are_no_runs(submission: Submission, suffix: str, track: str) -> None:
    table = submission(f"challenge/sample_submission{suffix}.csv")
    assert (table.kind, table.track, table.method, len(table.rows)) == (
        "sample_submission",
        track,
        "unknown",
        1813,
    )


def test_pinned_hashes_are_those_of_the_files_at_hand(shared_data: Path) -> None:
    for file in SOURCES["challenge"]:
        content = (shared_data / "challenge" / file.file).read_bytes()
        assert hashlib.sha256(content).hexdigest() == file.sha256


@pytest.mark.soak
def test_the_base_debate(submission: Submission) -> None:
    table = submission("perturbagent/track_b_sharp.zip")
    assert (table.kind, table.track, table.method) == ("submission", "B", "debate")
    predictions = [row.prediction for row in table.rows]
    flags = Counter(flag for prediction in predictions for flag in prediction.flags)
    assert flags == {Flag.DE_FALLBACK: 38, Flag.DIR_FALLBACK: 21}
    assert {prediction.p_source for prediction in predictions} == {"trace"}
    assert len({round(prediction.p_de, 9) for prediction in predictions}) == 55
    # the file's own sums have 84: rounding broke their ties
    assert (
        len({prediction.prediction_up + prediction.prediction_down for prediction in predictions})
        == 84
    )
    assert {prediction.tool_calls for prediction in predictions} == {7}
    assert all(prediction.tokens for prediction in predictions)


@pytest.mark.soak
@pytest.mark.parametrize("name", DEBATES)
def test_debates_hold_four_briefs_and_two_verdicts(submission: Submission, name: str) -> None:
    table = submission(f"perturbagent/{name}.zip")
    order = [
        ("de", "EFFECT"),
        ("de", "NULL"),
        ("de", "JUDGE"),
        ("dir", "UP"),
        ("dir", "DOWN"),
        ("dir", "JUDGE"),
    ]
    assert len(table.rows) == 1813
    assert all([(event.stage, event.role) for event in row.events] == order for row in table.rows)


@pytest.mark.soak
@pytest.mark.parametrize("name", DEBATES[1:])
def test_a_fusion_counts_by_its_own_numbers(submission: Submission, name: str) -> None:
    rows = submission(f"perturbagent/{name}.zip").rows
    assert {row.prediction.p_source for row in rows} == {"file"}
    assert all(Flag.TRACE_DIFFERS in row.prediction.flags for row in rows)


@pytest.mark.soak
def test_the_react_run(submission: Submission) -> None:
    table = submission("perturbagent/track_b_react.zip")
    assert (table.track, table.method, len(table.rows)) == ("B", "react", 1813)
    assert sum(row.prediction.tokens is None for row in table.rows) == 466
    assert sum(row.prediction.p_up_given_de is None for row in table.rows) == 1671
    for row in table.rows:
        assert [event.kind for event in row.events] == ["thought", "tool_call", "observation"] * (
            len(row.events) // 3
        )
        assert [event.meta["step"] for event in row.events[::3]] == list(
            range(len(row.events) // 3)
        )


def test_the_local_model(submission: Submission) -> None:
    table = submission("perturbagent/track_c_qwen3_4b.zip")
    assert (table.track, table.method, len(table.rows)) == ("C", "local_model", 1813)
    assert sum(Flag.UNIFORM in row.prediction.flags for row in table.rows) == 17
    assert all(len(row.events) == 1 for row in table.rows)


@pytest.mark.soak
def test_the_labelled_pool(submission: Submission, pairs: Pairs) -> None:
    table = submission("perturbagent/track_a_logprobs_train2499.zip")
    assert (table.track, table.method, len(table.rows)) == ("A", "prompt_only", 2499)
    stages = ["seed 42", "seed 43", "seed 44"]
    assert all([event.stage for event in row.events] == stages for row in table.rows)
    labels = {pair.pair_id: pair.label for pair in pairs("challenge/train.csv").pairs}
    found = Counter(labels[row.prediction.pair_id] for row in table.rows)
    assert found == {Label.UP: 765, Label.DOWN: 352, Label.NONE: 1382}
    for row in table.rows:  # the file's numbers are the mean over the seeds
        up = sum(event.meta["prediction_up"] for event in row.events) / 3
        assert up == pytest.approx(row.prediction.prediction_up, abs=1e-9)
