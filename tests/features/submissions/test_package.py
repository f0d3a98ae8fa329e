"""A package says exactly what the run did, the same way every time, and what cannot be packaged is told."""

from __future__ import annotations

import dataclasses
import io
import zipfile
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.base.errors import InputError, StateError, SystemFailure
from core.base.file_io import write_file
from core.base.types import Flag, Prediction, RowResult, TraceEvent, Track
from core.features.importing.reader import read
from core.features.importing.submissions import SubmissionTable
from core.features.submissions.package import (
    Contents,
    add_base_events,
    as_csv,
    as_zip,
    explain_fusion,
    repeated_rows,
)
from core.features.submissions.parsed import LAYOUTS
from core.features.submissions.rules import check, is_valid
from tests.features.submissions.generated import runs, seeded_runs
from tests.features.submissions.sound import PROMPT, TOOL
from tests.strength import examples

VERDICTS = (
    TraceEvent("de", "EFFECT", "brief", 'It "acts",\nso it says.', 120, 800.5, {"seed": 7}),
    TraceEvent(
        "de", "JUDGE", "verdict", "<prob>40</prob>", None, None, {"p": 0.4, "fallback": False}
    ),
    TraceEvent("dir", "JUDGE", "verdict", "", 0, 12.0, {"p": 0.75}),
)
ROW = RowResult(
    Prediction("Pa_Ga", 0.30000000000000004, 0.1, 0.4, 0.75, "trace", (), 900, 700, 7), VERDICTS
)


def contents(track: Track, *rows: RowResult, **more: Any) -> Contents:
    given = {
        "model": "openai/gpt-oss-120b",
        "method": "debate",
        "prompt": PROMPT,
        "tools": {"ask.py": TOOL},
    }
    return Contents(track, rows, **{**given, **more})


def back(made: Contents) -> SubmissionTable:
    table = read(as_zip(made), "package.zip")
    assert isinstance(table, SubmissionTable)
    assert table.rejected == ()
    return table


@examples(80)
@given(rows=runs(), track=st.sampled_from(["B", "C"]))
def test_a_row_comes_back_bit_for_bit(rows: list[RowResult], track: Track) -> None:
    made = contents(track, *rows)
    assert back(made).rows == tuple(rows)
    content = as_zip(made)
    assert is_valid(check(content, "p.zip", track, [row.prediction.pair_id for row in rows]))


@examples(80)
@given(rows=seeded_runs())
def test_track_a_carries_what_its_columns_hold(rows: list[RowResult]) -> None:
    made = contents("A", *rows)
    content = as_zip(made)
    assert is_valid(check(content, "p.zip", "A", [row.prediction.pair_id for row in rows]))
    for row, found in zip(rows, back(made).rows, strict=True):
        ours, theirs = row.prediction, found.prediction
        assert (ours.prediction_up, ours.prediction_down) == (
            theirs.prediction_up,
            theirs.prediction_down,
        )
        assert (ours.p_de, ours.p_up_given_de) == (theirs.p_de, theirs.p_up_given_de)
        assert (ours.tokens or 0) == (theirs.tokens or 0)


@pytest.mark.parametrize("track", ["A", "B", "C"])
def test_the_same_input_gives_the_same_bytes(track: Track) -> None:
    tools = {"b.py": TOOL, "a.py": TOOL}
    first = as_zip(contents(track, ROW, tools=tools))
    assert first == as_zip(contents(track, ROW, tools=dict(reversed(tools.items()))))
    with zipfile.ZipFile(io.BytesIO(first)) as archive:
        assert archive.testzip() is None
        named = [
            "submission.csv",
            "prompt.txt",
            *(["tools/a.py", "tools/b.py"] if track == "B" else []),
        ]
        assert archive.namelist() == named
        assert {member.date_time for member in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
        assert {member.external_attr >> 16 for member in archive.infolist()} == {0o100644}
        assert archive.read("prompt.txt").decode() == PROMPT


@pytest.mark.parametrize("track", ["A", "B", "C"])
def test_pandas_reads_it_too(track: Track) -> None:
    silent = RowResult(Prediction("Pb_Gb", 0.125, 0.5, 0.625, 0.2, "file"))
    frame = pd.read_csv(io.BytesIO(as_csv(contents(track, ROW, silent))))
    assert tuple(frame.columns) == LAYOUTS[track].columns
    assert not frame.isna().any(axis=None)
    assert frame["prediction_up"].tolist() == pytest.approx([0.3, 0.125])


def test_nothing_said_and_nothing_counted() -> None:
    """`none` where the other columns hold the row whole: every count known, p from the file, no flag."""
    whole = RowResult(Prediction("Pb_Gb", 0.125, 0.5, 0.625, 0.2, "file", (), 0, 5, 0))
    unknown = RowResult(Prediction("Pc_Gc", 0.125, 0.5, 0.625, 0.2, "file"))
    flagged = RowResult(
        Prediction("Pd_Gd", 0.25, 0.25, 0.5, 0.5, "trace", (Flag.UNCOVERED,), 0, 0, 0)
    )
    made = contents("B", whole, unknown, flagged, model="", distinct_tools={"Pb_Gb": 3})
    frame = pd.read_csv(io.BytesIO(as_csv(made)), index_col="id", keep_default_na=False)
    assert frame["reasoning_trace"].str.slice(0, 15).tolist() == [
        "none",
        '{"perturbdesk":',
        '{"perturbdesk":',
    ]
    assert frame[
        ["tokens_used", "num_tool_calls", "prompt_tokens", "num_distinct_tools"]
    ].to_numpy().tolist() == [
        [0, 0, 5, 3],
        [0, 0, 0, 0],
        [0, 0, 0, 0],
    ]
    assert set(frame["model_name"]) == {"none"}
    table = back(made)
    assert table.rows == (whole, unknown, flagged)
    assert (table.model_name, table.method) == ("", "debate")


def test_distinct_tools_are_those_that_the_trace_calls_or_else_those_of_the_evidence() -> None:
    calls = tuple(TraceEvent("react", tool, "tool_call", "{}") for tool in ("a", "b", "a"))
    rows = [
        dataclasses.replace(ROW, events=calls),
        RowResult(dataclasses.replace(ROW.prediction, pair_id="Pb_Gb"), ROW.events),
    ]
    frame = pd.read_csv(
        io.BytesIO(as_csv(contents("B", *rows, distinct_tools={"Pa_Ga": 1, "Pb_Gb": 9})))
    )
    assert frame["num_distinct_tools"].tolist() == [2, 9]


@pytest.mark.parametrize("flags", [(), (Flag.UNIFORM,)])
@pytest.mark.parametrize("track", ["B", "C"])
def test_thirds_come_back_with_the_flag_they_had(track: Track, flags: tuple[Flag, ...]) -> None:
    row = RowResult(Prediction("Pb_Gb", 0.333, 0.333, 0.666, 0.5, "file", flags, 0, 0, 0))
    assert back(contents(track, row)).rows == (row,)


def test_seeds_have_a_column_each_and_a_silent_one_the_mean() -> None:
    events = (
        TraceEvent("seed 42", "MODEL", "rejected", "Hm."),
        TraceEvent(
            "seed 42",
            "MODEL",
            "answer",
            "A\rit is",
            meta={"prediction_up": 1.0, "prediction_down": 0.0},
        ),
        TraceEvent(
            "seed 43", "MODEL", "answer", "?", meta={"prediction_up": None, "prediction_down": None}
        ),
        TraceEvent(
            "seed 44", "MODEL", "answer", "C", meta={"prediction_up": 0.0, "prediction_down": 0.0}
        ),
    )
    row = RowResult(Prediction("Pa_Ga", 0.5, 0.0, 0.5, 1.0, "file", (), 30, 10, 0), events)
    made = contents("A", row)
    [found] = back(made).rows
    assert [event.content for event in found.events] == ["Hm.\n\nA\rit is", "?", "C"]
    assert [event.meta["prediction_up"] for event in found.events] == [1.0, 0.5, 0.0]
    assert repeated_rows([row, ROW]) == ("Pa_Ga", "Pa_Ga")
    assert (
        repeated_rows(
            [
                dataclasses.replace(
                    row, events=(*events[:2], events[3], events[3]._replace(stage="seed 43"))
                )
            ]
        )
        == ()
    )


@pytest.mark.parametrize(
    "event",
    [
        ROW.events[0]._replace(meta={"p": float("nan")}),
        ROW.events[0]._replace(latency_ms=float("inf")),
        ROW.events[0]._replace(meta={"p": {1}}),
        ROW.events[0]._replace(content="half \ud800"),
    ],
)
def test_what_cannot_be_written_is_refused(event: TraceEvent) -> None:
    with pytest.raises(InputError, match="cannot be written down"):
        as_zip(contents("B", dataclasses.replace(ROW, events=(event,))))


def test_a_changed_number_is_noticed_when_it_is_read() -> None:
    """Somebody fuses a packaged file: the numbers are theirs, the trace is not."""
    made = as_csv(contents("B", ROW)).replace(b"0.30000000000000004,0.1,", b"0.2,0.2,", 1)
    table = read(made, "s.csv")
    assert isinstance(table, SubmissionTable)
    prediction = table.rows[0].prediction
    assert (prediction.p_de, prediction.p_up_given_de, prediction.p_source) == (0.4, 0.5, "file")
    assert prediction.flags == (Flag.TRACE_DIFFERS,)
    assert table.rows[0].events == ROW.events


def test_written_whole_and_never_over_another_file(tmp_path: Path) -> None:
    out = tmp_path / "p.zip"
    write_file(b"one", out)
    write_file(b"one", out)
    with pytest.raises(StateError, match="another file lies there"):
        write_file(b"two", out)
    assert out.read_bytes() == b"one"
    write_file(b"two", out, replace=True)
    assert out.read_bytes() == b"two"
    assert list(tmp_path.iterdir()) == [out]
    with pytest.raises(
        SystemFailure, match=r"no folder/p\.zip: no such file or folder; check the path"
    ):
        write_file(b"x", tmp_path / "no folder" / "p.zip")
    with pytest.raises(StateError, match="a folder, a device or a pipe lies there"):
        write_file(b"x", tmp_path, replace=True)
    with pytest.raises(StateError, match="a folder, a device or a pipe lies there"):
        write_file(b"x", Path("/dev/null"), replace=True)


def test_a_trace_of_other_probabilities_is_explained() -> None:
    differing = Prediction(
        "Pa_Ga", 0.2, 0.3, 0.5, 0.4, "file", (Flag.DE_FALLBACK, Flag.TRACE_DIFFERS)
    )
    [found, same, mute] = explain_fusion(
        [
            RowResult(differing, VERDICTS),
            ROW,
            RowResult(
                dataclasses.replace(
                    differing, prediction_up=0.0, prediction_down=0.0, p_up_given_de=None
                )
            ),
        ]
    )
    assert found.prediction.flags == (Flag.DE_FALLBACK,)
    assert found.events[:-1] == VERDICTS
    # 0.4 · 0.75 = 0.3 and 0.4 · 0.25 = 0.1 were said; 0.2 and 0.3 submitted
    assert found.events[-1].content.splitlines()[:2] == [
        "The trace: P(DE) 0.400000, P(up | DE) 0.750000, which give up 0.300000, down 0.100000.",
        "Submitted after a fusion: up 0.200000, down 0.300000, which are P(DE) 0.500000, P(up | DE) 0.400000.",
    ]
    assert same is ROW
    assert mute.events == ()


def test_a_fusion_s_rows_get_what_its_base_said() -> None:
    arithmetic = TraceEvent("fusion", "FUSION", "arithmetic", "P(DE) 0.5 = …", 0)
    fused = [
        RowResult(Prediction(key, 0.2, 0.3, 0.5, 0.4, "trace"), (arithmetic,))
        for key in ("Pa_Ga", "Pz_Gz")
    ]
    first, second = add_base_events(fused, {"Pa_Ga": ROW})
    assert first.events == (*VERDICTS, arithmetic)
    assert second == fused[1]
