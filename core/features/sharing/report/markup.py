"""HTML assembled from elements: everything that is not `Html` is text and is escaped."""

from __future__ import annotations

import html
import json
from collections.abc import Iterable
from typing import Any


class Html(str):
    """A piece of HTML that is safe to put into another."""

    __slots__ = ()


Content = object  # Html, or anything whose text is shown
_CONTROLS = dict.fromkeys({*range(32)} - {*map(ord, "\n\t")}, "�")
_VOID = {"meta", "br", "input", "hr"}


def element(tag: str, *children: Content, **attributes: str | int | bool | None) -> Html:
    """Return an element. attributes: an underscore at the end is dropped, one inside is a hyphen;
    None and False are left out."""
    words = "".join(
        _attribute(name, value)
        for name, value in attributes.items()
        if value is not None and value is not False
    )
    return Html(f"<{tag}{words}>" if tag in _VOID else f"<{tag}{words}>{join(children)}</{tag}>")


def _attribute(name: str, value: str | int | bool) -> str:
    key = name.rstrip("_").replace("_", "-")
    return f" {key}" if value is True else f' {key}="{html.escape(str(value))}"'


def join(children: Iterable[Content]) -> Html:
    """Return pieces one after the other; text is escaped. Control characters that no HTML may have
    become �."""
    return Html(
        "".join(
            child if isinstance(child, Html) else html.escape(str(child).translate(_CONTROLS))
            for child in children
        )
    )


def data(key: str, value: Any) -> Html:
    """Return data for a script, in an element with the id `key`, which no browser runs."""
    text = json.dumps(
        value, ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False
    )
    safe = text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    return Html(f'<script type="application/json" id="{html.escape(key)}">{safe}</script>')
