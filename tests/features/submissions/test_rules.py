"""Each rule finds the defect that is planted into a sound submission, exactly its rows, and nothing else."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.base.texts import list_names
from core.base.types import Track
from core.features.submissions.parsed import LAYOUTS, UNKNOWN_RUN, RunProvenance
from core.features.submissions.rules import RULES, check, is_valid, parameters_b
from tests.cases import debate_trace, zip_of
from tests.features.submissions.sound import IDS, TOOL, Sound, problems, sound
from tests.strength import examples

TRACKS = ("A", "B", "C")


class Planted(NamedTuple):
    """A defect: what to do to a sound submission of a track, and the rows it is found in.

    also: rules that see it too. tokenizer: whether there is one.
    """

    track: Track
    plant: Callable[[Sound], tuple[Any, ...] | bytes]
    rows: tuple[Any, ...] = ()
    also: tuple[str, ...] = ()
    provenance: RunProvenance = UNKNOWN_RUN
    tokenizer: bool = False


Spoil = Callable[[Sound], None]


def cells(column: str, *values: Any, first: int = 3) -> Spoil:
    return lambda s: s.set(column, *values, first=first) and None


def member(path: str, content: bytes | None) -> Spoil:
    def plant(s: Sound) -> None:
        s.members.pop(path, None)
        if content is not None:
            s.members[path] = content

    return plant


def appended(column: str) -> Spoil:
    return lambda s: s.header.append(column)


def every(column: str, value: Any) -> Spoil:
    return lambda s: s.set(column, *[value] * len(IDS)) and None


def swapped(s: Sound) -> None:
    s.rows[4], s.rows[7] = s.rows[7], s.rows[4]


def tied(s: Sound) -> None:
    s.set("prediction_up", 0.25, 0.25, 0.25, first=5)
    s.set("prediction_down", 0.125, 0.125, 0.125, first=5)


def same_columns(s: Sound) -> None:
    for row in s.rows:
        row["prediction_up"] = row["prediction_down"]


def thirds(s: Sound) -> None:
    s.set("prediction_up", 0.333, first=2)
    s.set("prediction_down", 0.333, first=2)


def seed_without_answer(s: Sound) -> None:
    """Row 3: seeds 42 and 43 differ, seed 44 has their mean. Row 4: every seed says the same, which is no mean of fewer."""
    for side, values in {"up": (0.5, 0.75, 0.25, 0.5), "down": (0.25, 0.125, 0.375, 0.25)}.items():
        for name, value in zip(("", "_seed42", "_seed43", "_seed44"), values, strict=True):
            s.set(f"prediction_{side}{name}", value, values[1], first=3)


def above_one(s: Sound) -> None:
    s.set("prediction_up", 0.7, 0.6, first=3)
    s.set("prediction_down", 0.301, 0.4000005, first=3)  # the second is rounding


def constant_traces(s: Sound) -> None:
    for i, row in enumerate(s.rows):
        row["reasoning_trace"] = (
            f"Classifier for P{i}_G{i}: probability 0.{i} by our trained model."
        )


LONG = " ".join(f"word{i}" for i in range(5_000)).encode()
B_TOOL_CALLS = json.dumps(
    {"thought_0": "t", "tool_name_0": "web", "tool_args_0": {}, "observation_0": "o"}
)


def nothing(_: Sound) -> None:
    """Of what is in the file; the defect is the run's."""


def of_run(**facts: Any) -> RunProvenance:
    return RunProvenance("r", **facts)


PLANTED = {
    "unreadable": [
        Planted("B", lambda s: s.zip()[:-30]),
        Planted("B", lambda s: zip_of({s.name: s.csv(), **s.members, "../x.py": b""})),
        Planted("C", lambda _: zip_of({"a.txt": b"x"}), also=("prompt_missing",)),
        Planted("C", lambda s: s.csv().replace(b"Since P2 ", b"Since \xff ")),
    ],
    "missing_columns": [Planted("B", lambda s: s.header.remove("num_distinct_tools"))],
    "missing_ids": [Planted("B", lambda s: s.rows.pop(6), ("P6_G6",))],
    "null_predictions": [
        Planted("B", cells("prediction_up", "high", "nan", ""), ("P3_G3", "P4_G4", "P5_G5")),
        Planted("B", cells("prediction_down", "nan", "0,5"), ("P3_G3", "P4_G4")),
    ],
    "prompt_tokens": [Planted("A", cells("prompt_tokens", 4_096, 4_097), ("P4_G4",))],
    "tool_calls": [Planted("B", cells("num_tool_calls", 250, 251), ("P4_G4",))],
    "distinct_tools": [Planted("B", cells("num_distinct_tools", 100, 101), ("P4_G4",))],
    "empty_cells": [Planted("B", cells("model_name", "", " ", "NA"), ("P3_G3", "P4_G4", "P5_G5"))],
    "prompt_missing": [Planted("B", member("prompt.txt", b" \n"))],
    "prompt_too_long": [Planted("A", member("prompt.txt", LONG), tokenizer=True)],
    "prompt_differs": [
        Planted("B", nothing, provenance=of_run(prompt="Another text.")),
        Planted("B", nothing, provenance=of_run(prompt_fault="its texts have changed")),
    ],
    "tools_missing": [Planted("B", member("tools/ask.py", None))],
    "other_model": [
        Planted("B", every("model_name", "gpt-oss-20b"), IDS),
        Planted("B", nothing, provenance=of_run(models=("openai/gpt-oss-120b", "other-7b"))),
    ],
    "model_size": [Planted("C", every("model_name", "Qwen/Qwen3-14B"), IDS)],
    "long_answers": [Planted("C", cells("tokens_used", 16_000, 16_001), ("P4_G4",))],
    "tools_in_c": [Planted("C", cells("reasoning_trace", B_TOOL_CALLS), ("P3_G3",))],
    "sampling": [Planted("B", nothing, provenance=of_run(sampling=((0.7, 1.0),)))],
    "learned": [Planted("B", nothing, provenance=of_run(learned=("near, a kNN",)))],
    "outputs_in_prompt": [
        Planted("A", member("prompt.txt", b"For instance Stat1 -> Irf1: down\n{pert} {gene}")),
        Planted("A", nothing, provenance=of_run(shots=4)),
    ],
    "no_reasoning": [
        Planted("B", constant_traces, IDS),
        Planted("B", cells("reasoning_trace", "down 0.7"), ("P3_G3",)),
    ],
    "empty_traces": [Planted("B", cells("reasoning_trace", "none"), ("P3_G3",))],
    "unknown_ids": [
        Planted(
            "B",
            lambda s: s.rows.append({**s.rows[1], "id": "Q_R", "prediction_up": 0.001}),
            ("Q_R",),
        ),
        Planted("B", lambda s: s.rows.append({**s.rows[1], "prediction_up": 0.001}), ("P1_G1",)),
    ],
    "out_of_range": [
        Planted("B", cells("prediction_up", -0.001, 1.5), ("P3_G3", "P4_G4")),
        Planted("B", above_one, ("P3_G3",)),
    ],
    "seeds_mean": [Planted("A", cells("prediction_up_seed43", 0.2), ("P3_G3",))],
    "constant_columns": [
        Planted("B", every("prediction_up", 0.25)),
        Planted("B", same_columns),
    ],
    "ties": [Planted("B", tied, ("P5_G5", "P6_G6", "P7_G7"))],
    "trace_differs": [Planted("B", cells("reasoning_trace", debate_trace(0.4, 0.75)), ("P3_G3",))],
    "fallbacks": [Planted("B", thirds, ("P2_G2",))],
    "fewer_seeds": [
        Planted("B", nothing, ("P1_G1",), provenance=of_run(fewer_seeds=("P1_G1", "Q_R"))),
        Planted("A", seed_without_answer, ("P3_G3",)),
    ],
    "prompt_tokens_vary": [Planted("B", cells("prompt_tokens", 701), ("P3_G3",))],
    "run_and_file": [
        Planted("B", nothing, ("Q_R",), provenance=of_run(left_out=("Q_R",))),
        Planted("B", nothing, provenance=of_run(changed="made by version 0")),
    ],
}
CASES = [(name, planted) for name, some in PLANTED.items() for planted in some]


@pytest.mark.parametrize(("name", "planted"), CASES)
def test_a_planted_defect_is_found(
    name: str, planted: Planted, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A tokenizer of one token a word, or none.
    words = SimpleNamespace(encode_ordinary=str.split)
    fake = (
        SimpleNamespace(encoding_name_for_model=str, get_encoding=lambda _: words)
        if planted.tokenizer
        else None
    )
    monkeypatch.setattr("core.llm.kept_answer.has_table", lambda _: True)
    monkeypatch.setitem(sys.modules, "tiktoken", fake)
    s = sound(planted.track)
    done = planted.plant(s)
    found = problems(
        done if isinstance(done, bytes) else s.zip(), planted.track, planted.provenance
    )
    ours = [problem for problem in found if problem.rule == name]
    assert [problem.rows for problem in ours] == [planted.rows]
    assert {problem.rule for problem in found} == {name, *planted.also}
    severity = {rule.name: rule.severity for rule in RULES}[name]
    assert {problem.severity for problem in ours} == {severity}
    assert is_valid(found) == (severity != "rejected")


def test_every_rule_has_a_planted_defect() -> None:
    assert list(PLANTED) == [rule.name for rule in RULES]


def judge(content: bytes, track: Track) -> bool:
    """Whether the organisers' metric takes a table, written from its rules."""
    try:
        table = pd.read_csv(io.BytesIO(content))
    except ValueError:
        return False
    seeds = [
        f"{kind}_seed{seed}"
        for kind in ("prediction_up", "prediction_down", "reasoning_trace")
        for seed in (42, 43, 44)
    ]
    required = {
        "A": [*seeds, "tokens_used", "prompt_tokens", "model_name"],
        "B": [
            "reasoning_trace",
            "tokens_used",
            "num_tool_calls",
            "prompt_tokens",
            "num_distinct_tools",
            "model_name",
        ],
        "C": ["reasoning_trace", "tokens_used", "model_name"],
    }[track]
    if not {"id", "prediction_up", "prediction_down", *required} <= set(table.columns):
        return False
    scored = pd.DataFrame({"id": IDS}).merge(table.drop_duplicates("id"), how="left", on="id")
    numbers = scored[["prediction_up", "prediction_down"]].apply(pd.to_numeric, errors="coerce")
    if not np.isfinite(numbers.to_numpy(float)).all():
        return False
    limits = {
        "A": {"prompt_tokens": 4_096},
        "B": {"prompt_tokens": 16_384, "num_tool_calls": 250, "num_distinct_tools": 100},
    }
    return not any(
        (pd.to_numeric(table[name], errors="coerce").fillna(0) > most).any()
        for name, most in limits.get(track, {}).items()
    )


def without(column: str) -> Spoil:
    return lambda s: s.header.remove(column)


MUTATIONS = [
    nothing,
    *(
        without(name)
        for name in ("id", "prediction_up", "prediction_down", "model_name", "tokens_used")
    ),
    *(
        without(name)
        for name in (
            "prompt_tokens",
            "reasoning_trace_seed43",
            "prediction_up_seed44",
            "num_tool_calls",
        )
    ),
    *(
        cells("prediction_up", value)
        for value in ("", "NA", "high", "inf", "-inf", "0,5", 1.5, -2, 0.333, 0)
    ),
    *(cells("prediction_down", value) for value in ("nan", "1e400", 1, "1e-300")),
    *(cells("prediction_up_seed42", value) for value in ("", "inf")),
    *(
        cells("prompt_tokens", value)
        for value in (4_096, 4_097, 16_384, 16_385, "many", "", -1, 4_096.5)
    ),
    *(cells("num_tool_calls", value) for value in (250, 251, "x")),
    *(cells("num_distinct_tools", value) for value in (100, 101)),
    *(cells("tokens_used", value) for value in ("", -5, "many", 10**9)),
    *(cells(name, "") for name in ("reasoning_trace", "reasoning_trace_seed42", "model_name")),
    *(every(name, "none") for name in ("reasoning_trace", "model_name")),
    *(appended(name) for name in ("comment", "num_tool_calls", "tokens_used")),
    lambda s: s.header.reverse(),
    lambda s: s.rows.reverse(),
    lambda s: s.rows.pop(),
    lambda s: s.rows.append({**s.rows[1], "id": "Q_R", "prediction_up": "nan"}),
    lambda s: s.rows.append({**s.rows[1], "id": "Q_R", "prompt_tokens": 99_999}),
    lambda s: s.rows.append(dict(s.rows[1])),
    swapped,
    tied,
    same_columns,
    above_one,
]


@pytest.mark.parametrize("track", TRACKS)
@pytest.mark.parametrize("mutation", MUTATIONS)
def test_valid_is_what_the_judge_takes(track: Track, mutation: Callable[[Sound], object]) -> None:
    s = sound(track)
    try:
        mutation(s)
    except ValueError:  # this track has no such column
        return
    assert is_valid(problems(s.csv(), track)) == judge(s.csv(), track)


@pytest.mark.parametrize("track", TRACKS)
def test_nothing_is_wrong_with_a_sound_file(track: Track) -> None:
    s = sound(track)
    assert problems(s.zip(), track) == []
    assert problems(s.csv(), track) == []  # a bare CSV needs no prompt


def test_a_zip_may_hold_more_and_in_a_folder() -> None:
    s = sound("C")
    members = {s.name: s.csv(), **s.members, "notes.txt": b"words"}
    assert problems(zip_of({f"mine/{path}": data for path, data in members.items()}), "C") == []


def test_all_problems_are_listed_at_once_the_rejected_first() -> None:
    s = sound("B")
    s.rows[3]["id"], s.rows[4]["prediction_up"], s.rows[5]["tokens_used"] = "Q_R", "x", ""
    s.members = {"tools/ask.py": TOOL}
    assert [problem.rule for problem in problems(s.zip(), "B")] == [
        "missing_ids",
        "null_predictions",
        "empty_cells",
        "prompt_missing",
        "unknown_ids",
    ]


def test_rows_without_an_id_are_named_by_their_number() -> None:
    s = sound("C")
    s.rows[3]["id"] = ""
    found = {problem.rule: problem.rows for problem in problems(s.csv(), "C")}
    assert found == {"empty_cells": (4,), "missing_ids": ("P3_G3",)}


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\n\n",
        b"\xff\xfe" + "id,prediction_up\n".encode("utf-16-le"),
        b"\x00\x01\x02",
        b"\xff\xff\xff\n",
        b"PK\x03\x04 and then nothing of a zip",
        zip_of({}),
        zip_of({"submission.csv": b"a" * 3_000_000}),
        b"{}" * 1_000,
        b'"' * 11,
        sound("B").csv().replace(b",", b";"),
    ],
)
def test_nothing_raises(content: bytes) -> None:
    for track in TRACKS:
        found = check(content, "s", track, IDS)
        assert found[0].rule in ("unreadable", "missing_columns")
        assert not is_valid(found)


def test_the_message_on_prompt_tokens_says_that_the_kit_forgets_them() -> None:
    s = sound("A")
    s.header.remove("prompt_tokens")
    [found] = problems(s.csv(), "A")
    assert "the kit's README leaves it out" in found.message


@examples(150)
@given(data=st.data(), track=st.sampled_from(TRACKS), zipped_up=st.booleans())
def test_a_damaged_file_never_raises(data: st.DataObject, track: Track, zipped_up: bool) -> None:
    s = sound(track)
    content = s.zip() if zipped_up else s.csv()
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(content)))
        gone = data.draw(st.integers(0, 40))
        content = content[:at] + data.draw(st.binary(max_size=12)) + content[at + gone :]
    for problem in problems(content, track):
        assert problem.message.isprintable()


@pytest.mark.parametrize(
    ("cell", "is_mean"),
    [
        (0.667, True),
        ("0.6667", True),
        ("0.66666667", True),
        (0.67, False),
        (0.7, False),
        ("6.67e-1", True),
        (0.665, False),
    ],
)
def test_a_mean_may_be_rounded_to_three_decimals(cell: object, is_mean: bool) -> None:
    s = sound("A")
    row = s.rows[0]
    for seed, up in ((42, "1.0"), (43, "1.0"), (44, "0.0")):
        row[f"prediction_up_seed{seed}"], row[f"prediction_down_seed{seed}"] = up, 0
    row["prediction_up"], row["prediction_down"] = cell, 0
    found = [problem.rows for problem in problems(s.csv(), "A") if problem.rule == "seeds_mean"]
    assert found == ([] if is_mean else [("P0_G0",)])


@pytest.mark.parametrize(
    ("name", "size"),
    [
        ("Qwen/Qwen3-4B-Thinking-2507", 4),
        ("Qwen3-30B-A3B", 30),
        ("mistral-8x7b", 56),
        ("gemma-3-270m-it", 0.27),
        ("meta/Llama-3.1-8B-Instruct", 8),
        ("Qwen2.5-0.5B", 0.5),
        ("gpt-oss-120b", 120),
        ("phi-3-mini-4k", None),
        ("none", None),
    ],
)
def test_the_size_of_a_model_is_in_its_name(name: str, size: float | None) -> None:
    assert parameters_b(name) == pytest.approx(size)


@pytest.mark.parametrize("name", ["openai/gpt-oss-120b", "gpt-oss-120b", "GPT-OSS-120B"])
def test_the_allowed_model_has_several_spellings(name: str) -> None:
    s = sound("B")
    s.set("model_name", *[name] * len(IDS))
    assert problems(s.zip(), "B") == []


def test_the_prompt_may_differ_in_line_ends() -> None:
    s = sound("B")
    s.members["prompt.txt"] = b"One line. \r\nAnother.\r\n"
    assert problems(s.zip(), "B", RunProvenance("r", prompt="One line.\nAnother.")) == []


def test_a_csv_in_a_spreadsheet_s_encoding_is_read() -> None:
    s = sound("C")
    assert problems(b"\xef\xbb\xbf" + s.csv().replace(b"\n", b"\r\n"), "C") == []


def test_a_message_is_one_line() -> None:
    assert list_names(["a\nb", "é", 7]) == "a\\nb, é, 7"
    s = sound("B")
    s.set("model_name", *["a\x1fb\nc"] * len(IDS))
    [problem] = problems(s.zip(), "B")
    assert problem.message == r"model_name: a\x1fb\nc on 12 rows, expected gpt-oss-120b"
    assert list_names(list(range(7))) == "0, 1, 2, 3, 4 and 2 more"


def test_each_track_s_columns_stand_once() -> None:
    for layout in LAYOUTS.values():
        assert len(set(layout.columns)) == len(layout.columns)
        named = {
            *layout.traces,
            *layout.counts,
            *(name for pair in layout.predictions for name in pair),
            "id",
            "model_name",
        }
        assert named == set(layout.columns)


@pytest.mark.parametrize(
    "cell",
    ["1e-99999999999999999999", "1e99999999999999999999", "-0", "0x1p-2", "١", "1_0", " 0.5"],
)
@pytest.mark.parametrize("track", TRACKS)
def test_no_number_makes_a_check_fail(track: Track, cell: str) -> None:
    odd = sound(track)
    cells("prediction_up", cell)(odd)
    assert isinstance(check(odd.csv(), "odd.csv", track, IDS), list)


@pytest.mark.parametrize(
    "name", ["me/gpt-oss-120b-lora", "gpt-oss-120b-derestricted-ft", "my-gpt-oss-120b"]
)
def test_what_was_derived_from_the_model_is_another(name: str) -> None:
    odd = sound("B")
    every("model_name", name)(odd)
    assert [problem.rule for problem in check(odd.csv(), "odd.csv", "B", IDS)] == ["other_model"]
