"""The report: one page with the finding, its abstract and answer, figures, rows in full, an
appendix, methods and provenance."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from core.base.environment import describe
from core.features.sharing.report.document import (
    Document,
    Html,
    chart_place,
    element,
    join,
    make_deck,
    show_words,
    table,
    theme_switch,
)
from core.features.sharing.report.material import Material
from core.features.sharing.report.methods import show_methods, show_provenance
from core.features.sharing.report.question import (
    Parts,
    answer_sentences,
    find_abstract,
    question_text,
)
from core.features.sharing.report.rows import show_row
from core.features.sharing.report.selection import PARTS
from core.features.sharing.report.walk import show_stop
from core.plots.printed import CaptionedFigure
from core.scoring.sentences import interval_text, scored_text
from core.store.runs import Run

DRAFT = "Draft, made from the verdicts below. Edit it before you send it."
Part = tuple[str, str, Html]  # id, title, content


def make_page(parts: Parts) -> Document:
    """Return the report: the finding first, then the answer and a few figures, then all else."""
    material = parts.material
    verdict, *rest = answer_sentences(material)
    answer = join(
        [
            element("p", element("strong", verdict)),
            *([element("p", " ".join(rest))] if rest else []),
        ]
    )
    stops = [show_stop(key, one, parts.base, "h3", "stop") for key, one in parts.stops.items()]
    sections = [
        ("abstract", "Abstract", show_abstract(parts)),
        ("answer", question_text(material), answer),
        ("figures", "Figures", join(_figure(key, found) for key, found in parts.figures)),
        *([("stops", "What to look at", join(stops))] if stops else []),
        ("runs", "Runs", table(pd.DataFrame([_run_line(material, run) for run in material.runs]))),
        *_debates(material),
        *(
            (f"weigh-{i}", f"{name}: change its weights", place)
            for i, (name, place) in enumerate(_tools(material), start=1)
        ),
        *_appendix(parts),
        ("methods", "Methods", show_methods(material)),
        ("provenance", "Provenance", show_provenance(material, parts.selection)),
    ]
    header = element(
        "header",
        element("h1", parts.title),
        element("p", parts.subtitle, class_="muted"),
        *show_marks(material),
    )
    body = [
        element("section", element("h2", title), content, id=key)
        for key, title, content in sections
    ]
    layout = element(
        "div", _contents(sections, material), element("main", header, *body), class_="layout"
    )
    drawn = {
        **parts.drawn_first,
        **dict(keyed for figures in parts.appendix.values() for keyed in figures),
    }
    return Document("report", parts.title, [layout], drawn, tools=[*material.tools.values()])


def show_abstract(parts: Parts) -> Html:
    """Return the abstract, paragraph by paragraph, marked as a draft until it is edited."""
    text, is_draft = find_abstract(parts.material, parts.selection)
    mark = [element("p", DRAFT, class_="draft")] if is_draft else []
    return join(
        [*mark, *(element("p", part.strip()) for part in text.split("\n\n") if part.strip())]
    )


def show_marks(material: Material) -> list[Html]:
    """Return the caveats about the labels, if there are any."""
    said = material.dataset.marks.sentence
    return [element("p", said, class_="caution")] if said else []


def _appendix(parts: Parts) -> list[Part]:
    """Return the figures that do not come first, by kind."""
    blocks = [
        join(
            [
                element("h3", PARTS[kind].title),
                *(_figure(key, found, "h4") for key, found in figures),
            ]
        )
        for kind, figures in parts.appendix.items()
    ]
    return [("appendix", "Appendix", join(blocks))] if blocks else []


def _contents(sections: Sequence[Part], material: Material) -> Html:
    names = [
        f"{found[0].numbers['pert']} ⟶ {found[0].numbers['gene']}"
        for found in material.chosen_rows.values()
    ]
    rows = [
        element("li", element("a", name, href=f"#{row_key(i)}"), class_="row")
        for i, name in enumerate(names)
    ]
    items = [
        join(
            [
                element("li", element("a", title, href=f"#{key}")),
                *(rows if key == "debates" else []),
            ]
        )
        for key, title, _ in sections
    ]
    return element("nav", theme_switch(), element("ol", *items), aria_label="Contents")


def row_key(place: int) -> str:
    """Return the id of a chosen row's place in the page."""
    return f"row-{place + 1}"


def _run_line(material: Material, run: Run) -> dict[str, object]:
    score = material.score(run.id)
    whole, headline = score.whole, score.headline
    known = whole.n_labelled > 0
    return {
        "run": run.name,
        "method": run.method.replace("_", " "),
        "rows": run.total,
        "labelled": whole.n_labelled,
        **{
            title: interval_text(part) if known else "no labels"
            for title, part in (
                ("DE", headline.de),
                ("DIR", headline.dir),
                (headline.name, headline.value),
            )
        },
        "scored": scored_text(whole.scored).removeprefix("scored ") if known else "–",
        "no answer": run.fallbacks,
        "failed": run.failed,
        "public score": "–" if run.public_score is None else f"{run.public_score:.3f}",
    }


def heading(tag: str, found: CaptionedFigure) -> Html:
    """Return a figure's message as a heading, with its topic and run below."""
    about = " · ".join(filter(None, (found.title, found.subject)))
    return join([element(tag, found.headline), element("p", about, class_="kind")])


def _figure(key: str, found: CaptionedFigure, tag: str = "h3") -> Html:
    """Return a figure with its sentence, caption and table; a sentence alone where there is nothing
    to draw."""
    said = [element("p", found.sentence)] if found.finding else []
    if found.drawn is None:
        return element("figure", heading(tag, found), *said)
    return element(
        "figure",
        heading(tag, found),
        *said,
        chart_place(key, found),
        element("figcaption", found.caption),
        element("details", element("summary", "Table"), table(found.table)),
    )


def _tools(material: Material) -> list[tuple[str, Html]]:
    """Return each fusion among the runs with the place in which it is weighed again."""
    names = {run.id: run.name for run in material.runs}
    tools = enumerate(material.tools.items(), start=1)
    return [(names[run], Html(tool.place(f"explorer-{i}"))) for i, (run, tool) in tools]


def _debates(material: Material) -> list[Part]:
    if not material.chosen_rows:
        return []
    audits = [audit for audit in (material.audits[run.id] for run in material.runs) if audit.roles]
    blocks = [
        join(element("p", f"{audit.run}: {audit.sentence}", *audit.caveats) for audit in audits)
    ]
    blocks += [show_row(row_key(i), found) for i, found in enumerate(material.chosen_rows.values())]
    return [("debates", "Rows in full", join(blocks))]


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
    more = sum(one.drawn is not None for found in parts.appendix.values() for _, one in found)
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
        *(_figure_slide(key, found) for key, found in parts.figures if found.drawn is not None),
        *(show_stop(key, shown, parts.base) for key, shown in parts.stops.items()),
        *(
            element("section", element("h2", name), place, class_="slide weigh")
            for name, place in _tools(material)
        ),
        show_words("end", "Sources of these numbers", sources),
    ]
    return make_deck(parts.title, slides, parts.drawn_first, tools=[*material.tools.values()])


def _figure_slide(key: str, found: CaptionedFigure) -> Html:
    said = [element("p", found.sentence, class_="sentence")] if found.finding else []
    return element(
        "section",
        element("h2", found.headline),
        *said,
        element("div", chart_place(key, found), class_="stage"),
        element("p", f"{found.title} · {found.caption}", class_="muted"),
        class_="slide",
    )
