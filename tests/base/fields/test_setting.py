"""Settings as people write them."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Annotated, Any, Literal

import pytest
from annotated_types import Ge, Gt, Le, Lt

from core.base.errors import InputError
from core.base.fields.record import option_of, options_of, read_options
from core.base.fields.setting import Count, Effect, Positive, Setting, Share, Whole, setting


@dataclass(frozen=True)
class Settings:
    epochs: Annotated[int, Ge(1), Le(10), setting("How often each row is seen.")] = 3
    rate: Annotated[Share, setting("A share.")] = 0.5
    loss: Annotated[Literal["pair", "point"], setting("Which loss.")] = "pair"
    share: Annotated[Effect, setting("Of something.")] = 0.5
    power: Annotated[Positive, setting("Of something.")] = 2.0
    near: Annotated[Count | None, setting("Nearest.")] = None
    cuts: Annotated[tuple[Annotated[int, Ge(0), Le(9)], ...], setting("Seeds.")] = (0,)
    weights: Annotated[tuple[Share, ...], setting("Weights.")] = (0.5,)
    side: Annotated[Literal["", "up", "down"], setting("Which side.")] = ""
    masked: Annotated[bool, setting("Whether genes are masked.")] = False


def test_a_declaration_has_twelve_fields_at_most() -> None:
    assert len(fields(Setting)) <= 12


def test_texts_become_values_and_the_rest_are_defaults() -> None:
    found = read_options(Settings, {"epochs": "7", "masked": "yes"})
    rest = {"share": 0.5, "power": 2.0, "near": None, "cuts": (0,), "weights": (0.5,), "side": ""}
    assert found == {"epochs": 7, "rate": 0.5, "loss": "pair", "masked": True, **rest}


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (int, "a whole number"),
        (Annotated[int, Ge(2)], "a whole number, 2 or more"),
        (Annotated[int, Le(2)], "a whole number, at most 2"),
        (Annotated[int, Ge(0), Le(2**31 - 1)], "a whole number, 0 to 2147483647"),
        (Annotated[float, Gt(0), Le(1)], "a number, more than 0, at most 1"),
        (Annotated[float, Ge(0), Lt(1)], "a number, 0 or more, less than 1"),
        (
            tuple[Annotated[int, Ge(1), Le(3)], ...],
            "a list of different whole numbers, each 1 to 3",
        ),
        (tuple[Share, Share], "2 numbers, each 0 to 1"),
        (Literal["", "a", "b"], "a, b"),
        (Whole | None, "a whole number, 0 or more"),
    ],
)
def test_a_range_is_one_phrase(kind: Any, expected: str) -> None:
    @dataclass
    class One:
        x: Any = None

    One.__annotations__["x"] = Annotated[kind, setting("")]
    assert option_of(One, "x").expected == expected


def test_the_ends_of_a_control_leave_an_excluded_bound_out() -> None:
    share, power, epochs = (option_of(Settings, name) for name in ("share", "power", "epochs"))
    assert 0 < (share.lowest or 0) < 1e-300
    assert 1 - 1e-15 < (share.highest or 0) < 1
    assert power.highest is None
    assert (epochs.lowest, epochs.highest) == (1, 10)


General = Annotated[Count, setting("In general.", title="A title", changes_result=False)]


@dataclass(frozen=True)
class Special:
    one: Annotated[General | None, setting("In particular.", key="k")] = None
    other: General = 2


def test_a_setting_says_of_another_what_it_has_of_its_own() -> None:
    one, other = options_of(Special)
    assert (one.about.help, one.about.title, one.about.key, one.about.changes_result) == (
        "In particular.",
        "A title",
        "k",
        False,
    )
    assert (other.about.help, other.about.key, other.expected) == ("In general.", "", one.expected)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"epochs": "11"}, "epochs: got '11', expected a whole number, 1 to 10"),
        ({"epochs": "2.5"}, "epochs: got '2.5', expected a whole number, 1 to 10"),
        ({"epochs": True}, "epochs: got True, expected a whole number"),
        ({"rate": "nan"}, "rate: got 'nan', expected a number, 0 to 1"),
        ({"share": 0}, "share: got 0, expected a number, more than 0, less than 1"),
        ({"share": "1"}, "share: got '1', expected a number, more than 0, less than 1"),
        ({"power": "inf"}, "power: got 'inf', expected a number, more than 0"),
        ({"near": -1}, "near: got -1, expected a whole number, 1 or more"),
        (
            {"cuts": [10]},
            r"cuts: got \[10\], expected a list of different whole numbers, each 0 to 9",
        ),
        ({"cuts": "1,1"}, "cuts: got '1,1', expected a list of different whole numbers"),
        ({"cuts": ""}, "cuts: got '', expected a list"),
        ({"weights": "2"}, "weights: got '2', expected a list of numbers, each 0 to 1"),
        ({"weights": "0.5,,0.5"}, "weights: got '0.5,,0.5', expected a list of numbers"),
        ({"side": "left"}, "side: got 'left', expected up, down"),
        ({"loss": "none"}, "expected pair, point"),
        ({"masked": "perhaps"}, "expected true or false"),
        ({"speed": 1}, "'speed': not known, expected epochs, rate, loss, share,"),
    ],
)
def test_what_is_wrong_is_named(given: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_options(Settings, given)
