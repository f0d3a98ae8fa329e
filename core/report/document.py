"""What the report and the slides have in common: one file with its styles and scripts, and a policy that allows no request."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from core.plots import interactive, theme
from core.report.captioned import CaptionedFigure
from core.report.markup import Content, Html, data, element, join

_ASSETS = Path(__file__).with_name("assets")
_MUTED = {"light": "#52606D", "dark": "#A9B4C0"}  # second text: 6:1 and more on both surfaces


@dataclass(frozen=True, slots=True)
class Document:
    """A file to be made. name: of its style sheet and script in `assets`. figures: id of a place → what is drawn there."""

    name: str
    title: str
    body: Sequence[Content]
    figures: dict[str, CaptionedFigure]


def render(document: Document) -> bytes:
    """The file as bytes; the same document gives the same bytes."""
    charts = {key: interactive.as_data(one.chart) for key, one in document.figures.items() if one.chart is not None}
    scripts = [interactive.library(), _read("figures.js"), _read(f"{document.name}.js")]
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=_policy(scripts)),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("meta", name="referrer", content="no-referrer"),
        element("title", document.title),
        Html(f"<style>{_colours()}\n{_read('shared.css')}\n{_read(f'{document.name}.css')}</style>"),
    )
    body = element(
        "body",
        *document.body,
        data("figure-data", charts),
        data("figure-templates", interactive.templates()),
        *(Html(f"<script>{script}</script>") for script in scripts),
    )
    return join([Html("<!DOCTYPE html>\n"), element("html", head, body, lang="en"), Html("\n")]).encode()


def _policy(scripts: Sequence[str]) -> str:
    """No request to anywhere, and no script but these, by their hashes. Plotly writes styles of its own."""
    hashes = " ".join(f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'" for script in scripts)
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
    )


def _read(name: str) -> str:
    return (_ASSETS / name).read_text("utf-8")


def _colours() -> str:
    """The colours of both surfaces as variables; the visitor's own setting decides until the switch is used."""
    light, dark = (_variables(base) for base in ("light", "dark"))
    return (
        f":root{{{light}color-scheme:light}}\n"
        f"@media screen and (prefers-color-scheme:dark){{:root:not([data-theme=light]){{{dark}color-scheme:dark}}}}\n"
        f"@media screen{{:root[data-theme=dark]{{{dark}color-scheme:dark}}}}"
    )


def _variables(base: str) -> str:
    values = {**theme.SURFACES[base], "accent": theme.ACCENT[base], "muted": _MUTED[base], "warning": theme.WARNING}
    roles = {f"role-{role.lower()}": colour for role, colour in theme.ROLE_COLOURS.items()}
    return "".join(f"--{name}:{value};" for name, value in {**values, **roles}.items())


def theme_switch() -> Html:
    """The button that changes between light and dark."""
    return element("button", "Light or dark", id="theme", type="button", title="Change between light and dark")


def chart_place(key: str, found: CaptionedFigure) -> Html:
    """The place in which the figure of a key is drawn, with its sentence for those who do not see it."""
    height = found.chart.layout.height if found.chart is not None else None
    return element(
        "div",
        element("noscript", "This figure needs JavaScript; its table is below."),
        id=key,
        class_="chart",
        role="img",
        aria_label=f"{found.title}. {found.sentence}",
        style=f"height:{int(height or theme.HEIGHT_PX)}px",
    )
