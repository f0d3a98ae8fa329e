"""The JSON objects in a model's text, with any text around them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any


def find_objects(text: str) -> Iterator[dict[str, Any]]:
    """Yield the outermost JSON objects of a text in their order; what looks like one and cannot be
    read is passed over."""
    decoder, at = json.JSONDecoder(), text.find("{")
    while at >= 0:
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            end = at + 1
        else:
            yield value
        at = text.find("{", end)


def find_list(text: str, name: str) -> list[Any] | None:
    """Return the list of a name in the last JSON object of a text that has one; None without
    any."""
    lists = [value[name] for value in find_objects(text) if isinstance(value.get(name), list)]
    return lists[-1] if lists else None
