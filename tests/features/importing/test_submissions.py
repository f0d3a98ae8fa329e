"""Submissions of every track become run rows; what is odd about a row is a flag or a rejection."""

from __future__ import annotations

import json
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.base.types import Flag, Prediction, TraceEvent
from core.features.importing.reader import read
from core.features.importing.submissions import SubmissionTable, reads_otherwise
from core.methods.brief_checks import check_rows, flags_with_collapse
from core.store import predictions
from tests.cases import as_csv

PLAIN = "id,prediction_up,prediction_down"
TRACK_A = (
    f"{PLAIN},prediction_up_seed42,prediction_down_seed42,reasoning_trace_seed42,"
    "prediction_up_seed7,prediction_down_seed7,reasoning_trace_seed7,tokens_used,prompt_tokens,model_name"
)
TRACK_B = f"{PLAIN},reasoning_trace,tokens_used,num_tool_calls,prompt_tokens,num_distinct_tools,model_name"
TRACK_C = f"{PLAIN},reasoning_trace,tokens_used,model_name"


def debate(p_de: float, p_up: float, **more: object) -> str:
    return json.dumps(
        {"briefs": {"EFFECT": "e"}, "P_DE": p_de, "P_up_given_DE": p_up, "tool_calls": 7, **more}
    )


def submission(header: str, *rows: Iterable[object]) -> SubmissionTable:
    table = read(as_csv(header.split(","), rows), "s.csv")
    assert isinstance(table, SubmissionTable)
    return table


def test_track_a_has_one_answer_per_seed_in_their_order() -> None:
    table = submission(
        TRACK_A, ["A_B", 0.4, 0.2, 0.5, 0.1, "first", 0.3, "x", "second", 900, 720, "m"]
    )
    assert (table.kind, table.track, table.method, table.model_name) == (
        "submission",
        "A",
        "prompt_only",
        "m",
    )
    assert table.rows[0].events == (
        TraceEvent(
            "seed 7",
            "MODEL",
            "answer",
            "second",
            meta={"prediction_up": 0.3, "prediction_down": None},
        ),
        TraceEvent(
            "seed 42",
            "MODEL",
            "answer",
            "first",
            meta={"prediction_up": 0.5, "prediction_down": 0.1},
        ),
    )
    # p_de = 0.4 + 0.2, p_up_given_de = 0.4 / 0.6
    prediction = table.rows[0].prediction
    assert prediction.p_de == pytest.approx(0.6, abs=1e-15)
    assert prediction.p_up_given_de == pytest.approx(2 / 3, abs=1e-15)
    assert (prediction.tokens, prediction.prompt_tokens, prediction.tool_calls) == (900, 720, None)


def test_track_b_takes_its_probabilities_from_the_trace_where_they_agree() -> None:
    # 0.18 · 0.69 = 0.1242, 0.18 · 0.31 = 0.0558
    table = submission(TRACK_B, ["A_B", 0.1242, 0.0558, debate(0.18, 0.69), 7494, 6, 995, 5, "m"])
    assert (table.track, table.method) == ("B", "debate")
    assert table.rows[0].prediction == Prediction(
        "A_B", 0.1242, 0.0558, 0.18, 0.69, "trace", (), tokens=7494, prompt_tokens=995, tool_calls=6
    )


@pytest.mark.parametrize(
    ("up", "down", "source"),
    [
        (0.124202 - 3e-7, 0.0558, "trace"),  # 1.7e-6 off
        (0.124203, 0.0558, "file"),  # 3e-6 off
        (0.1242, 0.055797, "file"),  # one of the two is not enough
    ],
)
def test_the_tolerance_is_two_millionths_for_both(up: float, down: float, source: str) -> None:
    (row,) = submission(TRACK_B, ["A_B", up, down, debate(0.18, 0.69), 1, 1, 1, 1, "m"]).rows
    assert row.prediction.p_source == source
    assert row.prediction.flags == (() if source == "trace" else (Flag.TRACE_DIFFERS,))
    expected = 0.18 if source == "trace" else up + down
    assert row.prediction.p_de == expected


def test_a_fused_file_counts_by_its_own_numbers_and_keeps_its_fallbacks() -> None:
    table = submission(
        TRACK_B, ["A_B", 0.25, 0.75, debate(0.447, 0.685, de_fallback=True), 1, 7, 1, 5, "m"]
    )
    prediction = table.rows[0].prediction
    assert (prediction.p_de, prediction.p_up_given_de, prediction.p_source) == (1.0, 0.25, "file")
    assert prediction.flags == (Flag.DE_FALLBACK, Flag.TRACE_DIFFERS)


def test_probabilities_outside_their_range_reproduce_nothing() -> None:
    # -0.5 · -0.5 = 0.25 and -0.5 · 1.5 = -0.75: the arithmetic of the first alone would agree
    (row,) = submission(TRACK_B, ["A_B", 0.25, 0.0, debate(-0.5, -0.5), 1, 1, 1, 1, "m"]).rows
    assert row.prediction.p_source == "file"
    (row,) = submission(TRACK_B, ["A_B", 0.0, 0.0, debate(0.0, 5.0), 1, 1, 1, 1, "m"]).rows
    assert (row.prediction.p_source, row.prediction.flags) == ("file", (Flag.TRACE_DIFFERS,))


def test_no_direction_where_nothing_changes() -> None:
    table = submission(TRACK_C, ["A_B", 0.0, 0.0, "<answer>C</answer>", 12, "q"])
    prediction = table.rows[0].prediction
    assert (prediction.p_de, prediction.p_up_given_de) == (0.0, None)
    assert (table.track, table.method, table.model_name) == ("C", "local_model", "q")


def test_a_sum_just_above_one_is_one() -> None:
    (row,) = submission(PLAIN, ["A_B", 0.5, 0.5000005]).rows
    assert (row.prediction.p_de, row.prediction.prediction_down) == (1.0, 0.5000005)


def test_the_smallest_file_is_of_track_c_and_knows_no_counts() -> None:
    table = submission(PLAIN, ["A_B", 0.1, 0.3])
    assert (table.kind, table.track, table.method, table.model_name) == (
        "submission",
        "C",
        "unknown",
        "",
    )
    prediction = table.rows[0].prediction
    assert (prediction.tokens, prediction.prompt_tokens, prediction.tool_calls) == (
        None,
        None,
        None,
    )


def test_a_count_of_tool_calls_in_the_trace_stands_in_for_the_column() -> None:
    (row,) = submission(
        f"{PLAIN},reasoning_trace", ["A_B", 0.1242, 0.0558, debate(0.18, 0.69)]
    ).rows
    assert row.prediction.tool_calls == 7


@pytest.mark.parametrize(
    ("trace", "cell", "expected"),
    [
        ("some text", "0", None),  # never counted
        ("none", "0", 0),
        ("", "0", 0),
        ("some text", "12", 12),
        ("some text", "12.0", 12),
        ("some text", "12.5", None),
        ("some text", "-1", None),
        ("some text", "", None),
        ("some text", "1e400", None),
        ("some text", "9" * 30, None),
        ("some text", "²", None),
    ],
)
def test_zero_tokens_beside_a_trace_are_unknown(
    trace: str, cell: str, expected: int | None
) -> None:
    (row,) = submission(TRACK_B, ["A_B", 0.1, 0.2, trace, cell, 3, cell, 1, "m"]).rows
    assert (row.prediction.tokens, row.prediction.prompt_tokens, row.prediction.tool_calls) == (
        expected,
        expected,
        3,
    )


def test_a_third_each_is_no_answer() -> None:
    table = submission(
        TRACK_C, ["A_B", 0.333, 0.333, "hm", 3, "q"], ["A_C", 0.333, 0.3325, "hm", 3, "q"]
    )
    assert [row.prediction.flags for row in table.rows] == [(Flag.UNIFORM,), ()]
    assert table.kind == "submission"


@pytest.mark.parametrize(
    ("header", "rest", "kind"),
    [
        (PLAIN, [], "sample_submission"),
        (TRACK_C, ["none", 0, "none"], "sample_submission"),
        (TRACK_A, [0.333, 0.333, "none", 0.333, 0.333, "", 0, 0, "none"], "sample_submission"),
        (TRACK_C, ["none", 0, "gpt"], "submission"),
        (TRACK_C, ["I do not know.", 0, "none"], "submission"),
    ],
)
def test_a_sample_says_nothing_on_any_row(header: str, rest: list[object], kind: str) -> None:
    table = submission(header, ["A_B", 0.333, 0.333, *rest], ["A_C", 0.333, 0.333, *rest])
    assert table.kind == kind
    answered = submission(header, ["A_B", 0.333, 0.333, *rest], ["A_C", 0.3, 0.3, *rest])
    assert answered.kind == "submission"


def test_the_method_and_the_model_are_those_of_most_rows() -> None:
    react = json.dumps({"thought_0": "t"})
    rows = [
        ["A_B", 0.1, 0.1, "", 0, "x"],
        ["A_C", 0.1, 0.1, "none", 0, "x"],
        ["A_D", 0.1, 0.1, "text", 0, "y"],
        ["A_E", 0.1, 0.1, react, 0, "y"],
        ["A_F", 0.1, 0.1, react, 0, "y"],
    ]
    table = submission(TRACK_C, *rows)
    assert (table.method, table.model_name) == ("react", "y")
    coordinator = json.dumps({"coordinator": {}, "sub_agents": []})
    assert (
        submission(TRACK_B, ["A_B", 0.1, 0.1, coordinator, 0, 0, 0, 0, "m"]).method == "coordinator"
    )
    assert submission(TRACK_B, ["A_B", 0.1, 0.1, "text", 0, 0, 0, 0, "m"]).method == "unknown"


def test_every_wrong_row_is_named() -> None:
    table = submission(
        PLAIN,
        ["A_B", "0.1", "0.2"],
        ["A_B", "0.3", "0.2"],  # 3
        ["A_C", "nan", "0.2"],
        ["A_D", "0.1", "inf"],
        ["A_E", "1,234", "0.2"],
        ["A_F", "0_1", "0.2"],  # 7
        ["A_G", "-0.1", "0.2"],
        ["A_H", "0.6", "0.41"],
        ["A_I", "", "0.2"],
        [" ", "0.1", "0.2"],  # 11
        ["none", " 0.1", "2e-1"],
    )
    assert [(bad.line, bad.reason) for bad in table.rejected] == [
        (3, "duplicate"),
        (4, "not a number"),
        (5, "not a number"),
        (6, "not a number"),  # 1,234 beside 0.1
        (7, "not a number"),
        (8, "out of range"),
        (9, "out of range"),
        (10, "empty cell"),
        (11, "empty cell"),
    ]
    assert table.rejected[0].detail == "'A_B' stands on line 2 already"
    assert (
        table.rejected[1].detail
        == "prediction_up 'nan', prediction_down '0.2', expected two numbers"
    )
    assert table.rejected[6].detail.startswith(
        "prediction_up '0.6', prediction_down '0.41', expected both in [0, 1]"
    )
    assert ([row.prediction.pair_id for row in table.rows], table.lines) == (
        ["A_B", "none"],
        (2, 12),
    )


def test_a_rejected_row_does_not_make_a_later_one_a_duplicate() -> None:
    table = submission(PLAIN, ["A_B", "x", "0.2"], ["A_B", "0.1", "0.2"])
    assert [row.prediction.prediction_up for row in table.rows] == [0.1]


def test_a_missing_column_is_one_rejection_and_no_rows() -> None:
    table = submission("id,prediction_up,reasoning_trace", ["A_B", 0.1, "text"])
    assert (table.rows, table.lines, table.kind, table.track) == ((), (), "submission", "C")
    (bad,) = table.rejected
    assert (bad.line, bad.reason) == (1, "missing column")
    assert bad.detail == "no column prediction_down; found 'id, prediction_up, reasoning_trace'"


@given(p_de=st.floats(0, 1), p_up=st.floats(0, 1))
def test_a_trace_always_reproduces_what_was_rounded_from_it(p_de: float, p_up: float) -> None:
    up, down = round(p_de * p_up, 6), round(p_de * (1 - p_up), 6)
    table = read(
        as_csv(TRACK_C.split(","), [["A_B", up, down, debate(p_de, p_up), 1, "m"]]), "s.csv"
    )
    assert isinstance(table, SubmissionTable)
    prediction = table.rows[0].prediction
    assert (prediction.p_de, prediction.p_up_given_de, prediction.p_source) == (p_de, p_up, "trace")
    assert Flag.TRACE_DIFFERS not in prediction.flags


def test_seeds_that_disagree_are_an_answer_and_not_a_fallback() -> None:
    header = "id,prediction_up,prediction_down," + ",".join(
        f"prediction_up_seed{s},prediction_down_seed{s},reasoning_trace_seed{s}"
        for s in (42, 43, 44)
    )
    split = (
        "P_G,0.333333,0.333333,1,0,A,0,1,B,0,0,C"  # up, down and none: their mean is a third each
    )
    silent = "P_H,0.333,0.333,0.333,0.333,failed,0.333,0.333,failed,0.333,0.333,failed"
    table = read(f"{header}\n{split}\n{silent}\n".encode(), "a.csv")
    assert isinstance(table, SubmissionTable)
    assert [row.prediction.flags for row in table.rows] == [(), (Flag.UNIFORM,)]


@pytest.mark.parametrize(
    ("text", "up", "down", "reads"),
    [
        ("The form is <answer>A</answer>. So: <answer>B</answer>", 1.0, 0.0, {"reads": "down"}),
        ("<think><answer>A</answer></think>none", 1.0, 0.0, {"reads": "none"}),
        ("<answer>A</answer>", 1.0, 0.0, {}),
        ("<answer>A</answer>", 0.9, 0.1, {}),  # odds are certain of no label
        ("<answer>A</answer>", 1 / 3, 1 / 3, {}),
        ("It falls.", 1.0, 0.0, {}),  # nothing is marked
        ("<think>cut", 1.0, 0.0, {}),
        ("<answer>B</answer>", None, None, {}),
    ],
)
def test_a_text_that_answers_otherwise_than_its_numbers(
    text: str, up: float, down: float, reads: dict[str, str]
) -> None:
    assert reads_otherwise(text, up, down) == reads


def test_seeds_whose_text_answers_otherwise_are_flagged_and_named() -> None:
    header = f"{PLAIN},prediction_up_seed42,prediction_down_seed42,reasoning_trace_seed42"
    rows = ["Pa_Ga,1,0,1,0,<answer>B</answer>", "Pa_Gb,1,0,1,0,<answer>A</answer>"]
    table = read("\n".join([header, *rows, ""]).encode(), "s.csv")
    assert isinstance(table, SubmissionTable)
    assert [row.prediction.flags for row in table.rows] == [(Flag.ANSWER_DIFFERS,), ()]
    assert [row.events[0].meta.get("reads") for row in table.rows] == ["down", None]
    assert table.remark == "answers whose text says otherwise than their numbers: 1 (Pa_Ga seed 42)"


NUMBER = st.sampled_from(["0", "0.1", " 0.25", "0.3333", "1e-3", "1", "", "x", "nan", "1_0", "0.7"])
COUNT = st.sampled_from(["", "0", "12", "3.0", "x", "-1"])


@given(
    st.lists(
        st.tuples(NUMBER, NUMBER, st.sampled_from(["none", "", " "]), COUNT, COUNT, COUNT),
        min_size=1,
        max_size=20,
    ),
    st.booleans(),
)
def test_rows_without_traces_are_the_same_by_columns_as_one_by_one(
    rows: list[tuple[str, ...]], are_split: bool
) -> None:
    """What an import writes of them is what their records would be written as."""
    numbers = "id,p_de,p_up_given_de" if are_split else PLAIN
    header = f"{numbers},reasoning_trace,tokens_used,num_tool_calls,prompt_tokens,model_name"
    plain = [("0.1", "0.2", "", "", "", "")] * (len(rows) + 1)  # so that columns are known
    cells = [[f"P_G{i % 37}", *row, "m"] for i, row in enumerate([*plain, *rows])]
    content = as_csv(header.split(","), cells)
    singly, at_once = read(content, "s.csv"), read(content, "s.csv", spooled=True)
    assert isinstance(singly, SubmissionTable)
    assert isinstance(at_once, SubmissionTable)
    written = [each for batch in at_once.audited.batches("r") for each in batch]
    flags = flags_with_collapse(singly.rows, check_rows(singly.rows)[1])
    expected = predictions.insertion_of("r", singly.rows, flags).rows
    assert [each.table for each in written] == ["prediction"] * len(written)
    assert [row for each in written for row in each.rows.to_pylist()] == expected.to_pylist()
    types = {field.name: field.type for field in expected.schema}
    assert all({field.name: field.type for field in each.rows.schema} == types for each in written)
    assert (at_once.kind, at_once.model_name, at_once.lines, at_once.rejected) == (
        (singly.kind, singly.model_name, singly.lines, singly.rejected)
    )
