"""Records of settings: what is declared once is read, written and distinguished everywhere."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

import pytest

from core.base.errors import InputError
from core.base.fields.record import (
    arguments_of,
    identity_of,
    make,
    options_of,
    part,
    values_of,
    values_with_effect,
    without_effect,
)
from core.base.fields.setting import Count, Share, Whole, setting


@dataclass(frozen=True, slots=True)
class Inner:
    share: Annotated[Share, setting("A share.")] = 0.5
    shares: Annotated[tuple[float, float], setting("Two shares.")] = (0.8, 0.2)


@dataclass(frozen=True, slots=True)
class Asked:
    method: str
    seed: Annotated[Whole, setting("The seed.")] = 0
    who: Annotated[Literal["judge", "debate"], setting("Who is asked.")] = "judge"
    file: Annotated[Path | None, setting("A file.")] = None
    cached: Annotated[bool, setting("Ask again.", option="--no-cache", changes_result=False)] = True
    inner: Inner = field(default_factory=Inner)


@dataclass(frozen=True)
class Deep:
    share: Annotated[float, setting("A share.")] = 0.5
    jobs: Annotated[int, setting("How many at once.", changes_result=False)] = 1


@dataclass(frozen=True)
class Outer:
    deep: Deep = field(default_factory=Deep)
    parts: tuple[Deep, ...] = part(())
    named: Mapping[str, Deep] = field(default_factory=dict)


def test_kinds_follow_from_types() -> None:
    found = {option.name: option for option in options_of(Asked)}
    kinds = {"seed": int, "who": str, "file": Path, "cached": bool, "share": float, "shares": float}
    assert {name: option.kind for name, option in found.items()} == kinds
    assert (found["shares"].several, found["shares"].length) == (True, 2)
    assert found["who"].choices == ("judge", "debate")
    assert (found["cached"].option, found["share"].option) == ("--no-cache", "--share")


def test_a_record_of_texts_equals_one_of_values() -> None:
    texts = {
        "seed": "3",
        "who": "debate",
        "file": "/x",
        "cached": "no",
        "share": "0.25",
        "shares": "0.5, 0.5",
    }
    made = make(Asked, texts, method="m")
    assert made == Asked("m", 3, "debate", Path("/x"), False, Inner(0.25, (0.5, 0.5)))
    assert make(Asked, values_of(made), method="m") == made
    assert make(Asked, {}, method="m") == Asked("m")


def test_what_changes_nothing_is_no_part_of_the_identity() -> None:
    assert without_effect(Asked) == {"cached"}
    assert values_with_effect(Asked("m")) == {
        "seed": 0,
        "who": "judge",
        "file": None,
        "share": 0.5,
        "shares": (0.8, 0.2),
    }
    assert (
        identity_of(Asked("m", cached=False)) == identity_of(Asked("m")) != identity_of(Asked("n"))
    )


def test_the_identity_leaves_out_what_changes_nothing_at_every_depth() -> None:
    made = Outer(Deep(0.1, 2), (Deep(0.2, 3),), {"a": Deep(0.3, 4)})
    assert identity_of(made) == {
        "deep": {"share": 0.1},
        "parts": ({"share": 0.2},),
        "named": {"a": {"share": 0.3}},
    }


def test_the_command_line_of_a_record() -> None:
    made = Asked("m", seed=3, cached=False, inner=Inner(shares=(0.5, 0.5)))
    assert arguments_of(made) == [
        "--seed",
        "3",
        "--who",
        "judge",
        "--no-cache",
        "--share",
        "0.5",
        "--shares",
        "0.5",
        "0.5",
    ]
    assert arguments_of(Asked("m")) == [
        "--seed",
        "0",
        "--who",
        "judge",
        "--share",
        "0.5",
        "--shares",
        "0.8",
        "0.2",
    ]


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        ({"sede": 1}, "setting 'sede': not known, expected seed, who, file"),
        ({"seed": -1}, "seed: got -1, expected a whole number, 0 or more"),
        ({"share": 2}, "share: got 2, expected a number, 0 to 1"),
        ({"who": "all"}, "who: got 'all', expected judge, debate"),
        ({"shares": "0.5"}, "shares: got '0.5', expected 2 numbers"),
        ({"shares": "nan,1"}, "expected 2 numbers"),
    ],
)
def test_what_cannot_be_is_named(chosen: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        make(Asked, chosen, method="m")


def test_two_settings_of_one_name_and_unknown_types_are_mistakes_of_the_code() -> None:
    @dataclass(frozen=True)
    class Twice:
        share: Annotated[float, setting("A share.")] = 0.1
        inner: Inner = field(default_factory=Inner)

    @dataclass(frozen=True)
    class Odd:
        when: Annotated[complex, setting("A number.")] = 0j

    Twice.__annotations__.update(share=Annotated[float, setting("A share.")], inner=Inner)
    with pytest.raises(TypeError, match="two settings of one name"):
        options_of(Twice)
    with pytest.raises(TypeError, match="a setting cannot be"):
        options_of(Odd)


@dataclass(frozen=True)
class Plain:
    name: Annotated[str, setting("A name.")] = ""
    spaces: Annotated[tuple[str, ...], setting("Spaces.")] = ()
    centre: Annotated[bool, setting("Whether it is centred.")] = False
    power: Annotated[float, setting("A power.")] = 2.0
    k: Annotated[Count | None, setting("How many.")] = None
    file: Annotated[Path | None, setting("A file.")] = None


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        ({"name": ["a", "b"]}, r"name: got \['a', 'b'\], expected a text"),
        ({"name": 5}, "name: got 5, expected a text"),
        ({"spaces": [5]}, r"spaces: got \[5\], expected a list of texts"),
        ({"centre": 1}, "centre: got 1, expected true or false"),
        ({"power": True}, "power: got True, expected a number"),
        ({"k": 2.0}, "k: got 2.0, expected a whole number, 1 or more"),
    ],
)
def test_a_value_of_another_type_is_refused_as_in_toml(
    chosen: dict[str, object], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        make(Plain, chosen)


def test_texts_and_values_of_the_right_type_are_read() -> None:
    values = {
        "name": "a",
        "spaces": ("a", "b"),
        "centre": True,
        "power": 3,
        "k": None,
        "file": Path("f"),
    }
    read = make(Plain, values)
    assert (read.spaces, read.centre, read.power, read.k, read.file) == (
        ("a", "b"),
        True,
        3.0,
        None,
        Path("f"),
    )
    assert make(Plain, {"spaces": "a,b", "centre": "yes", "power": "3", "k": None}) == Plain(
        "", ("a", "b"), True, 3.0
    )
