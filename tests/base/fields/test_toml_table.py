"""TOML of any kind is read or refused in words."""

from __future__ import annotations

import pytest

from core.base.errors import InputError
from core.base.fields.toml_table import parse_toml

DEEP = {
    "lists": "a = " + "[" * 5_000 + "]" * 5_000,
    "tables": "a = " + "{b = " * 5_000 + "1" + "}" * 5_000,
    "dotted keys": "a" + ".a" * 5_000 + " = 1",
    "a heading": "[a" + ".a" * 5_000 + "]",
    "lists that never end": "a = " + "[" * 5_000,
}


@pytest.mark.parametrize("name", DEEP)
def test_values_that_are_nested_too_deeply_are_refused(name: str) -> None:
    with pytest.raises(InputError, match=r"x\.toml: nested too deeply, expected TOML"):
        parse_toml(DEEP[name], "x.toml")


def test_what_is_no_toml_is_refused_with_its_line() -> None:
    with pytest.raises(InputError, match=r"x\.toml: Expected .* after a key.*, expected TOML"):
        parse_toml("a = 1\nb", "x.toml")
    with pytest.raises(InputError, match=r"x\.toml: .* 5000 digits.*, expected TOML"):
        parse_toml(f"a = {'1' * 5_000}", "x.toml")
    assert parse_toml("a = [[[1]]]", "x.toml").values == {"a": [[[1]]]}
