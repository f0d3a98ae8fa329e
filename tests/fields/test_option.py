"""Options as people write them."""

from __future__ import annotations

import pytest

from core.errors import InputError
from core.fields.option import Option, read_options

OPTIONS = (
    Option("epochs", "int", 3, "How often each row is seen.", least=1, most=10),
    Option("rate", "float", 0.5, "A share.", least=0, most=1),
    Option("loss", "choice", "pair", "Which loss.", choices=("pair", "point")),
    Option("masked", "flag", False, "Whether genes are masked."),
)


def test_texts_become_values_and_the_rest_are_defaults() -> None:
    found = read_options(OPTIONS, {"epochs": "7", "masked": "yes"})
    assert found == {"epochs": 7, "rate": 0.5, "loss": "pair", "masked": True}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"epochs": "11"}, "epochs: got 11, expected 1 to 10"),
        ({"epochs": "2.5"}, "a whole number"),
        ({"rate": "nan"}, "expected 0 to 1"),
        ({"loss": "none"}, "expected pair, point"),
        ({"masked": "perhaps"}, "expected yes or no"),
        ({"speed": 1}, "'speed': not known, expected epochs, rate, loss, masked"),
    ],
)
def test_what_is_wrong_is_named(given: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_options(OPTIONS, given)
