"""HTML assembled from elements: everything that is not `Html` is text and is escaped."""

from __future__ import annotations

import html
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from core.base.feature import HandTool
from core.base.texts import cell_text
from core.plots import drawing, printed
from core.plots.printed import CaptionedFigure, colours, policy


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


_ASSETS = Path(__file__).with_name("assets")


@dataclass(frozen=True, slots=True)
class Document:
    """A file to build. name: of its style sheet and script in `assets`. figures: id of a place →
    its figure.

    tools: those that have a place in the body.
    """

    name: str
    title: str
    body: Sequence[Content]
    figures: dict[str, CaptionedFigure]
    tools: Sequence[HandTool] = ()


def render(document: Document) -> bytes:
    """Return the file as bytes; the same document gives the same bytes."""
    charts = {
        key: printed.as_data(one.chart)
        for key, one in document.figures.items()
        if one.chart is not None
    }
    scripts = [printed.library(), _read("figures.js"), _read(f"{document.name}.js")]
    styles = [colours(), _read("shared.css"), _read(f"{document.name}.css")]
    scripts += dict.fromkeys(tool.script() for tool in document.tools)
    styles += dict.fromkeys(tool.style() for tool in document.tools)
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=policy(scripts)),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("meta", name="referrer", content="no-referrer"),
        element("title", document.title),
        Html("<style>{}</style>".format("\n".join(styles))),
    )
    body = element(
        "body",
        *document.body,
        data("figure-data", charts),
        data(
            "figure-templates",
            {base: drawing.template(base).to_plotly_json() for base in drawing.SURFACES},
        ),
        *(Html(f"<script>{script}</script>") for script in scripts),
    )
    return join(
        [Html("<!DOCTYPE html>\n"), element("html", head, body, lang="en"), Html("\n")]
    ).encode()


def _read(name: str) -> str:
    return (_ASSETS / name).read_text("utf-8")


def theme_switch() -> Html:
    """Return the button that changes between light and dark."""
    return element(
        "button", "Light or dark", id="theme", type="button", title="Change between light and dark"
    )


def chart_place(key: str, found: CaptionedFigure) -> Html:
    """Return the place in which the figure of a key is drawn, with its sentence for those who do
    not see it."""
    height = found.chart.layout.height if found.chart is not None else None
    return element(
        "div",
        element("noscript", "This figure needs JavaScript; its table is below."),
        id=key,
        class_="chart",
        role="img",
        aria_label=f"{found.title}. {found.sentence}",
        style=f"height:{int(height or drawing.HEIGHT_PX)}px",
    )


def make_deck(
    title: str,
    slides: Sequence[Html],
    figures: Mapping[str, CaptionedFigure],
    tools: Sequence[HandTool] = (),
) -> Document:
    """Return slides with the bar that moves through them. figures: by the keys of their places."""
    bar = element(
        "div",
        element("button", "‹", id="back", type="button", aria_label="Previous slide"),
        element("output", f"1 / {len(slides)}", id="place"),
        element("button", "›", id="next", type="button", aria_label="Next slide"),
        theme_switch(),
        class_="bar",
    )
    return Document("slides", title, [element("main", *slides), bar], dict(figures), tools)


def show_words(key: str, title: str, content: Sequence[Html]) -> Html:
    """Return a slide of words. key: what kind of slide it is, for the style sheet."""
    return element("section", element("h1", title), *content, class_=f"slide {key}")


LONGEST = 200  # rows that are written; a figure draws the others


def table(frame: pd.DataFrame) -> Html:
    """Return a frame with its column names as heads; of a long one the first `LONGEST` rows, and a
    sentence on the others."""
    numeric = [
        pd.api.types.is_numeric_dtype(kind) and not pd.api.types.is_bool_dtype(kind)
        for kind in frame.dtypes
    ]
    signed = [number and bool((frame.iloc[:, i] < 0).any()) for i, number in enumerate(numeric)]
    head = [
        element("th", str(name).replace("_", " "), scope="col", class_=_class(n))
        for name, n in zip(frame, numeric, strict=True)
    ]
    rows = [
        element(
            "tr",
            *(
                element("td", _text(v, s), class_=_class(n))
                for v, n, s in zip(row, numeric, signed, strict=True)
            ),
        )
        for row in frame.head(LONGEST).itertuples(index=False, name=None)
    ]
    found = element(
        "div",
        element("table", element("thead", element("tr", *head)), element("tbody", *rows)),
        class_="wide",
        tabindex="0",
    )
    if len(frame) <= LONGEST:
        return found
    rest = f"The first {LONGEST:,} of {len(frame):,} lines; the figure draws all of them."
    return join([found, element("p", rest, class_="muted")])


def lines(pairs: Sequence[tuple[str, object]]) -> Html:
    """Return names and values, one a line."""
    return element(
        "dl", *(join([element("dt", name), element("dd", value)]) for name, value in pairs)
    )


def _class(is_number: bool) -> str | None:
    return "number" if is_number else None


def _text(value: object, signed: bool) -> str:
    return (
        "–"
        if value is pd.NA
        else cell_text(bool(value) if isinstance(value, np.bool_) else value, signed=signed)
    )
