"""The slides (16:9): the finding, the abstract, one figure each with its message, and the
sources."""

from __future__ import annotations

from core.base.environment import describe
from core.features.sharing.report.deck import make_deck, show_words
from core.features.sharing.report.document import Document, chart_place
from core.features.sharing.report.markup import Html, element
from core.features.sharing.report.material import Material
from core.features.sharing.report.page import show_abstract, show_marks
from core.features.sharing.report.parts import Parts
from core.features.sharing.report.question import question_text
from core.features.sharing.report.walk import show_stop
from core.plots.captioned import CaptionedFigure

_KEYS = "Arrow keys, space, Home and End move; T changes between light and dark."


def make_slides(parts: Parts) -> Document:
    """Return the slides of a report: the finding, the abstract and the first figures; parts without
    a figure are left out."""
    material = parts.material
    title = [
        element("p", parts.subtitle),
        *show_marks(material),
        element("p", _KEYS, class_="muted screen"),
    ]
    more = sum(one.chart is not None for found in parts.appendix.values() for _, one in found)
    appendix = f"{more:,} more figures are in the report’s appendix. " if more else ""
    sources = [
        element(
            "p",
            f"Dataset {material.dataset.name}. Intervals are 95% and allow for shared perturbations"
            " and genes.",
        ),
        element(
            "p",
            f"Made with PerturbDesk {describe()}. {appendix}Files, methods and specifications are"
            " in the report.",
        ),
    ]
    slides = [
        show_words("title", parts.title, title),
        show_words("abstract", question_text(material), [show_abstract(parts)]),
        *(_figure(key, found) for key, found in parts.figures if found.chart is not None),
        *(show_stop(key, shown, parts.links) for key, shown in parts.stops.items()),
        *_explorers(material),
        show_words("end", "Sources of these numbers", sources),
    ]
    return make_deck(parts.title, slides, parts.drawn_first, tools=[*material.tools.values()])


def _figure(key: str, found: CaptionedFigure) -> Html:
    said = [element("p", found.sentence, class_="sentence")] if found.finding else []
    return element(
        "section",
        element("h2", found.headline),
        *said,
        element("div", chart_place(key, found), class_="stage"),
        element("p", f"{found.title} · {found.caption}", class_="muted"),
        class_="slide",
    )


def _explorers(material: Material) -> list[Html]:
    """Return a slide for each fusion among the runs, in which it is weighed again."""
    names = {run.id: run.name for run in material.runs}
    return [
        element(
            "section",
            element("h2", names[run]),
            Html(tool.place(f"explorer-{i}")),
            class_="slide weigh",
        )
        for i, (run, tool) in enumerate(material.tools.items(), start=1)
    ]
