"""The slides: 16:9, one figure and one sentence each, with a title before them and where the numbers come from behind."""

from __future__ import annotations

from collections.abc import Sequence

from core.report.captioned import CaptionedFigure
from core.report.document import Document, chart_place, explorer_place, theme_switch
from core.report.markup import Html, element
from core.report.material import Material
from core.report.page import Sections, heading, subtitle
from core.version import describe

_KEYS = "Arrow keys, space, Home and End move; T changes between light and dark."


def make_slides(name: str, material: Material, sections: Sections) -> Document:
    """The slides of a report of a name; what has no figure is left out."""
    figures = {key: one for found in sections.values() for key, one in found if one.chart is not None}
    slides = [
        _words("title", name, [element("p", subtitle(material)), element("p", _KEYS, class_="muted")]),
        *(_figure(key, found) for key, found in figures.items()),
        *_explorers(material),
        _words("end", "Where these numbers come from", _sources(material)),
    ]
    bar = element(
        "div",
        element("button", "‹", id="back", type="button", aria_label="Previous slide"),
        element("output", f"1 / {len(slides)}", id="place"),
        element("button", "›", id="next", type="button", aria_label="Next slide"),
        theme_switch(),
        class_="bar",
    )
    return Document("slides", name, [element("main", *slides), bar], figures, explores=bool(material.explorers))


def _words(key: str, title: str, content: Sequence[Html]) -> Html:
    return element("section", element("h1", title), *content, class_=f"slide {key}")


def _figure(key: str, found: CaptionedFigure) -> Html:
    return element(
        "section",
        heading("h2", found),
        element("p", found.sentence, class_="sentence"),
        element("div", chart_place(key, found), class_="stage"),
        element("p", found.caption, class_="muted"),
        class_="slide",
    )


def _explorers(material: Material) -> list[Html]:
    """A slide for each fusion among the runs, in which it is weighed anew."""
    names = {run.id: run.name for run in material.runs}
    return [
        element("section", element("h2", names[run]), explorer_place(f"explorer-{i}", data), class_="slide weigh")
        for i, (run, data) in enumerate(material.explorers.items(), start=1)
    ]


def _sources(material: Material) -> list[Html]:
    files = [element("li", f"{each.file}, SHA-256 {each.sha256[:12]}…") for each in material.files[:12]]
    more = len(material.files) - len(files)
    rest = [element("li", f"and {more:,} more, in the report")] if more else []
    return [
        element("p", f"Dataset {material.dataset.name}. Intervals are 95% and allow for shared perturbations and genes."),
        element("ul", *files, *rest),
        element("p", f"Made with PerturbDesk {describe()}. Methods and specifications of the runs are in the report."),
    ]
