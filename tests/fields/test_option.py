"""Options as people write them."""

from __future__ import annotations

import pytest

from core.errors import InputError
from core.fields.option import Option, read_options

OPTIONS = (
    Option("epochs", "int", 3, "How often each row is seen.", least=1, most=10),
    Option("rate", "float", 0.5, "A share.", least=0, most=1),
    Option("loss", "choice", "pair", "Which loss.", choices=("pair", "point")),
    Option("share", "float", 0.5, "Of something.", above=0, below=1),
    Option("power", "float", 2.0, "Of something.", above=0),
    Option("near", "int", None, "Nearest.", least=1),
    Option("cuts", "wholes", (0,), "Seeds.", least=0, most=9),
    Option("weights", "weights", (0.5,), "Weights.", least=0, most=1),
    Option("side", "choice", "", "Which side.", choices=("", "up", "down")),
    Option("masked", "flag", False, "Whether genes are masked."),
)


def test_texts_become_values_and_the_rest_are_defaults() -> None:
    found = read_options(OPTIONS, {"epochs": "7", "masked": "yes"})
    rest = {"share": 0.5, "power": 2.0, "near": None, "cuts": (0,), "weights": (0.5,), "side": ""}
    assert found == {"epochs": 7, "rate": 0.5, "loss": "pair", "masked": True, **rest}


@pytest.mark.parametrize(
    ("option", "expected"),
    [
        (Option("x", "int", 1, ""), "a whole number"),
        (Option("x", "int", 1, "", least=2), "a whole number, 2 or more"),
        (Option("x", "int", 1, "", most=2), "a whole number, at most 2"),
        (Option("x", "int", 1, "", least=0, most=2**31 - 1), "a whole number, 0 to 2147483647"),
        (Option("x", "float", 0.5, "", above=0, most=1), "a number, more than 0, at most 1"),
        (Option("x", "float", 0.5, "", least=0, below=1), "a number, 0 or more, less than 1"),
        (Option("x", "wholes", (0,), "", least=1, most=3), "a list of different whole numbers, each 1 to 3"),
        (Option("x", "choice", "", "", choices=("", "a", "b")), "a, b"),
    ],
)
def test_a_range_is_one_phrase(option: Option, expected: str) -> None:
    assert option.expected == expected


def test_the_ends_of_a_control_leave_an_excluded_bound_out() -> None:
    share, power = OPTIONS[3:5]
    assert 0 < (share.lowest or 0) < 1e-300
    assert 1 - 1e-15 < (share.highest or 0) < 1
    assert power.highest is None
    assert (OPTIONS[0].lowest, OPTIONS[0].highest) == (1, 10)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"epochs": "11"}, "epochs: got 11, expected 1 to 10"),
        ({"epochs": "2.5"}, "epochs: got '2.5', expected a whole number, 1 to 10"),
        ({"rate": "nan"}, "expected a finite number, 0 to 1"),
        ({"share": 0}, "share: got 0.0, expected more than 0, less than 1"),
        ({"share": "1"}, "share: got 1.0, expected more than 0, less than 1"),
        ({"power": "inf"}, "power: got inf, expected a finite number, more than 0"),
        ({"near": -1}, "near: got -1, expected 1 or more"),
        ({"cuts": [10]}, r"cuts: got \[10\], expected a list of different whole numbers, each 0 to 9"),
        ({"weights": "2"}, "weights: got '2', expected numbers with commas between them, each 0 to 1"),
        ({"side": "left"}, "side: got 'left', expected up, down"),
        ({"loss": "none"}, "expected pair, point"),
        ({"masked": "perhaps"}, "expected yes or no"),
        ({"speed": 1}, "'speed': not known, expected epochs, rate, loss, share,"),
    ],
)
def test_what_is_wrong_is_named(given: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_options(OPTIONS, given)
