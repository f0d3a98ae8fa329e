"""What all slides have in common: the bar that moves through them, and slides of words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from core.base.feature import HandTool
from core.features.sharing.report.document import Document, theme_switch
from core.features.sharing.report.markup import Html, element
from core.plots.captioned import CaptionedFigure


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
