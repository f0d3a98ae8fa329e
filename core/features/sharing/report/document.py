"""What the report and the slides have in common: one file with its styles and scripts, and a policy
that allows no request."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from core.base.feature import HandTool
from core.features.sharing.report.markup import Content, Html, data, element, join
from core.plots import printed, theme
from core.plots.captioned import CaptionedFigure
from core.plots.printed import colours, policy

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
            {base: theme.template(base).to_plotly_json() for base in theme.SURFACES},
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
        style=f"height:{int(height or theme.HEIGHT_PX)}px",
    )
