"""Each rule finds the defect that is planted into a sound submission, exactly its rows, and nothing else."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.base.texts import list_names
from core.base.types import Track
from core.features.submissions.parsed import UNKNOWN_RUN, RunProvenance
from core.features.submissions.rules import check, is_valid
from core.features.submissions.rules.eligibility import parameters_b
from core.features.submissions.rules.registry import RULES, rule
from core.features.submissions.tracks import LAYOUTS
from tests.cases import debate_trace, zip_of
from tests.features.submissions.sound import IDS, TOOL, Sound, problems, sound
from tests.strength import examples

TRACKS: tuple[Track, ...] = ("A", "B", "C")


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


def renamed(old: str, new: str) -> Callable[[Sound], None]:
    def plant(s: Sound) -> None:
        s.header[s.header.index(old)] = new

    return plant


def cells(column: str, *values: Any, first: int = 3) -> Callable[[Sound], None]:
    return lambda s: s.set(column, *values, first=first) and None


def member(path: str, content: bytes | None) -> Callable[[Sound], None]:
    def plant(s: Sound) -> None:
        s.members.pop(path, None)
        if content is not None:
            s.members[path] = content

    return plant


def appended(column: str) -> Callable[[Sound], None]:
    return lambda s: s.header.append(column)


def every(column: str, value: Any) -> Callable[[Sound], None]:
    return lambda s: s.set(column, *[value] * len(IDS)) and None


def swapped(s: Sound) -> None:
    s.rows[4], s.rows[7] = s.rows[7], s.rows[4]


def columns_swapped(s: Sound) -> None:
    s.header[1], s.header[2] = s.header[2], s.header[1]


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


def ragged(s: Sound) -> bytes:
    lines = s.csv().splitlines(keepends=True)
    lines[4] = lines[4].rstrip() + b",more\n"  # the header is line 1, so this is line 5 and row 4
    return zip_of({s.name: b"".join(lines), **s.members})


def not_utf8(s: Sound) -> bytes:
    return zip_of({s.name: s.csv().replace(b"Since P2 ", b"Since \xff "), **s.members})


def above_one(s: Sound) -> None:
    s.set("prediction_up", 0.7, 0.6, first=3)
    s.set("prediction_down", 0.301, 0.4000005, first=3)  # the second is rounding


def in_a_folder(s: Sound) -> bytes:
    return zip_of(
        {f"mine/{path}": content for path, content in {s.name: s.csv(), **s.members}.items()}
    )


LONG = " ".join(f"word{i}" for i in range(5_000)).encode()
B_TOOL_CALLS = json.dumps(
    {"thought_0": "t", "tool_name_0": "web", "tool_args_0": {}, "observation_0": "o"}
)
PLANTED: dict[str, Planted] = {
    "zip_damaged": Planted("B", lambda s: s.zip()[:-30]),
    "zip_unsafe": Planted("B", lambda s: zip_of({s.name: s.csv(), **s.members, "../x.py": b""})),
    "no_submission": Planted(
        "B",
        lambda s: zip_of({s.name: s.csv(), f"b/{s.name}": s.csv(), **s.members}),
        also=("unexpected_members",),
    ),
    "encoding": Planted("B", not_utf8, (4,)),
    "not_csv": Planted("B", lambda s: zip_of({s.name: b"Dear all,\nfind attached\n", **s.members})),
    "ragged": Planted("B", ragged, (5,)),
    "unexpected_members": Planted("C", member("notes.txt", b"words")),
    "folder": Planted("B", in_a_folder),
    "prompt_missing": Planted("B", member("prompt.txt", b" \n")),
    "prompt_too_long": Planted("A", member("prompt.txt", LONG), tokenizer=True),
    "prompt_uncounted": Planted("A", member("prompt.txt", LONG)),
    "tools_missing": Planted("B", member("tools/ask.py", None)),
    "too_many_tools": Planted(
        "B", lambda s: s.members.update({f"tools/t{i}.py": TOOL for i in range(100)})
    ),
    "tool_syntax": Planted("B", member("tools/ask.py", b"def ask(:\n")),
    "missing_columns": Planted("B", lambda s: s.header.remove("num_distinct_tools")),
    "column_order": Planted("B", columns_swapped),
    "duplicate_columns": Planted("B", appended("tokens_used")),
    "other_track": Planted("C", appended("prompt_tokens")),
    "unexpected_columns": Planted("B", appended("comment")),
    "missing_ids": Planted("B", lambda s: s.rows.pop(6), ("P6_G6",)),
    "unknown_ids": Planted(
        "B",
        lambda s: s.rows.append({**s.rows[1], "id": "P99_G0", "prediction_up": 0.001}),
        ("P99_G0",),
    ),
    "duplicate_ids": Planted(
        "B", lambda s: s.rows.append({**s.rows[1], "prediction_up": 0.001}), ("P1_G1",)
    ),
    "id_order": Planted("B", swapped, ("P7_G7", "P4_G4")),
    "empty_cells": Planted("B", cells("model_name", "", " "), ("P3_G3", "P4_G4")),
    "null_words": Planted(
        "B", cells("reasoning_trace", "NA", "none so far", "null"), ("P3_G3", "P5_G5")
    ),
    "not_a_number": Planted(
        "B", cells("prediction_up", "high", "1_0", "0,5"), ("P3_G3", "P4_G4", "P5_G5")
    ),
    "not_finite": Planted("B", cells("prediction_up", "nan", "-inf"), ("P3_G3", "P4_G4")),
    "out_of_range": Planted(
        "B", cells("prediction_up", -0.001, 1.5), ("P3_G3", "P4_G4"), ("sum_above_one",)
    ),
    "sum_above_one": Planted("B", above_one, ("P3_G3",)),
    "counts": Planted(
        "B", cells("tokens_used", -1, 2.5, "many", "12.0"), ("P3_G3", "P4_G4", "P5_G5")
    ),
    "tool_calls": Planted("B", cells("num_tool_calls", 250, 251), ("P4_G4",)),
    "distinct_tools": Planted("B", cells("num_distinct_tools", 100, 101), ("P4_G4",)),
    "prompt_tokens": Planted("A", cells("prompt_tokens", 4_096, 4_097), ("P4_G4",)),
    "seeds_mean": Planted("A", cells("prediction_up_seed43", 0.2), ("P3_G3",)),
    "constant_column": Planted("B", every("prediction_up", 0.25)),
    "equal_columns": Planted("B", same_columns),
    "ties": Planted("B", tied, ("P5_G5", "P6_G6", "P7_G7")),
    "trace_differs": Planted("B", cells("reasoning_trace", debate_trace(0.4, 0.75)), ("P3_G3",)),
    "fallbacks": Planted("B", thirds, ("P2_G2",)),
    "fewer_seeds": Planted(
        "B", lambda _: None, ("P1_G1",), provenance=RunProvenance("r", fewer_seeds=("P1_G1", "Q_R"))
    ),
    "seed_is_mean": Planted("A", seed_without_answer, ("P3_G3",)),
    "empty_traces": Planted("B", cells("reasoning_trace", "none"), ("P3_G3",)),
    "uncounted": Planted("B", cells("tokens_used", 0, 0), ("P3_G3", "P4_G4")),
    "prompt_tokens_vary": Planted("B", cells("prompt_tokens", 701), ("P3_G3",)),
    "other_model": Planted("B", every("model_name", "gpt-oss-20b"), IDS),
    "model_size": Planted("C", every("model_name", "Qwen/Qwen3-14B"), IDS),
    "long_answers": Planted("C", cells("tokens_used", 16_000, 16_001), ("P4_G4",)),
    "tools_in_c": Planted("C", cells("reasoning_trace", B_TOOL_CALLS), ("P3_G3",)),
    "sampling": Planted("B", lambda _: None, provenance=RunProvenance("r", sampling=((0.7, 1.0),))),
    "second_model": Planted(
        "B",
        lambda _: None,
        provenance=RunProvenance("r", models=("openai/gpt-oss-120b", "other-7b")),
    ),
    "learned": Planted(
        "B",
        lambda _: None,
        provenance=RunProvenance("r", learned=("near, a kNN over the training labels",)),
    ),
    "outputs_in_prompt": Planted(
        "A", member("prompt.txt", b"For instance Stat1 -> Irf1: down\n{pert} {gene}")
    ),
    "prompt_differs": Planted(
        "B", lambda _: None, provenance=RunProvenance("r", prompt="Another text.")
    ),
    "prompt_unproven": Planted(
        "B",
        lambda _: None,
        provenance=RunProvenance("r", prompt_fault="the texts of debate have changed"),
    ),
    "code_changed": Planted(
        "B", lambda _: None, provenance=RunProvenance("r", changed="made by version 0")
    ),
    "left_out": Planted(
        "B", lambda _: None, ("Q_R",), provenance=RunProvenance("r", left_out=("Q_R",))
    ),
    "seeds_repeated": Planted(
        "A", lambda _: None, ("P1_G1",), provenance=RunProvenance("r", repeated=("P1_G1",))
    ),
}


@pytest.mark.parametrize("name", RULES)
def test_a_planted_defect_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    planted = PLANTED[name]  # every rule has one
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
    assert is_valid(ours) == (RULES[name].severity == "warning")


def test_every_planted_defect_is_a_rule_and_there_are_many() -> None:
    assert set(PLANTED) == set(RULES)
    assert len(RULES) > 40


@pytest.mark.parametrize("track", TRACKS)
def test_nothing_is_wrong_with_a_sound_file(track: Track) -> None:
    s = sound(track)
    assert problems(s.zip(), track) == []
    assert problems(s.csv(), track) == []  # a bare CSV needs no prompt


def test_all_problems_are_listed_at_once() -> None:
    s = sound("B")
    s.header.append("tokens_used")
    s.rows[3]["id"], s.rows[4]["prediction_up"], s.rows[5]["tokens_used"] = "Q_R", "x", -3
    s.members = {"tools/ask.py": b"def ("}
    rules = {
        "duplicate_columns",
        "unknown_ids",
        "missing_ids",
        "not_a_number",
        "counts",
        "prompt_missing",
        "tool_syntax",
    }
    assert {problem.rule for problem in problems(s.zip(), "B")} == rules


def test_rows_without_an_id_are_named_by_their_line() -> None:
    s = sound("C")
    s.rows[3]["id"] = ""
    found = {problem.rule: problem.rows for problem in problems(s.csv(), "C")}
    assert found == {"empty_cells": (5,), "missing_ids": ("P3_G3",)}


@pytest.mark.parametrize(
    ("content", "rule_name"),
    [
        (b"", "not_csv"),
        (b"\n\n", "not_csv"),
        (b"\xff\xfe" + "id,prediction_up\n".encode("utf-16-le"), "encoding"),
        (b"\x00\x01\x02", "encoding"),
        (b"\xff\xff\xff\n", "encoding"),
        (b"PK\x03\x04 and then nothing of a zip", "zip_damaged"),
        (zip_of({}), "no_submission"),
        (zip_of({"a.txt": b"x"}), "no_submission"),
        (zip_of({"submission.csv": b"a" * 3_000_000}), "zip_unsafe"),
        (b"{}" * 1_000, "not_csv"),
        (b'"' * 11, "not_csv"),
    ],
)
def test_nothing_raises(content: bytes, rule_name: str) -> None:
    for track in TRACKS:
        found = check(content, "s", track, IDS)
        assert rule_name in {problem.rule for problem in found}
        assert not is_valid(found)


@pytest.mark.parametrize("separator", [";", "\t", "|"])
def test_another_separator_is_named(separator: str) -> None:
    content = sound("B").csv().replace(b",", separator.encode())
    [found] = [
        problem for problem in check(content, "s.csv", "B", IDS) if problem.rule == "not_csv"
    ]
    assert f"s.csv: is separated by {separator!r}, expected the columns id, " in found.message
    assert found.message.endswith("model_name separated by commas")


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


def test_another_csv_in_the_zip_is_read_all_the_same() -> None:
    s = sound("C")
    s.name = "results.csv"
    s.rows.pop()
    found = {problem.rule for problem in problems(s.zip(), "C")}
    assert found == {"no_submission", "missing_ids", "unexpected_members"}


def test_the_same_id_twice_is_expected_of_nobody() -> None:
    s = sound("C")
    found = problems(s.csv(), "C", expected=[*IDS, IDS[0]])
    assert [problem.rule for problem in found] == []


@pytest.mark.parametrize(
    ("cell", "is_mean"),
    [
        (0.667, True),
        ("0.6667", True),
        ("0.66666667", True),
        (0.67, False),
        (0.7, False),
        ("6.67e-1", True),
        (0.6662, False),
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


def test_a_rule_is_registered_once() -> None:
    with pytest.raises(ValueError, match="'ties' is registered twice"):
        rule("ties", "error")(lambda _: [])


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
