"""The report: one page with contents, runs, figures with their tables, comparisons, debates, methods and provenance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from core.report.captioned import CaptionedFigure
from core.report.debates import pair_name, show_row
from core.report.document import Document, chart_place, explorer_place, theme_switch
from core.report.figures.registry import KINDS
from core.report.markup import Html, element, join
from core.report.material import Material
from core.report.methods import show_methods
from core.report.provenance import show_provenance
from core.report.selection import ReportSelection
from core.report.tables import table
from core.scoring.comparison_words import comparison_sentences
from core.scoring.sentences import interval_text, scored_text
from core.store.runs import Run

Sections = Mapping[str, Sequence[tuple[str, CaptionedFigure]]]  # kind of figure → the figures by their keys
Part = tuple[str, str, Html]  # id, title, content


def make_page(name: str, material: Material, selection: ReportSelection, sections: Sections) -> Document:
    """The report of a name."""
    parts = [
        ("runs", "Runs", _runs(material)),
        *((f"part-{kind}", KINDS[kind].title, _figures(kind, figures)) for kind, figures in sections.items()),
        *_explorers(material),
        *_comparisons(material),
        *_debates(material),
        ("methods", "Methods", show_methods(material)),
        ("provenance", "Provenance", show_provenance(material, selection)),
    ]
    header = element(
        "header",
        element("h1", name),
        element("p", subtitle(material), class_="muted"),
    )
    body = [element("section", element("h2", title), content, id=key) for key, title, content in parts]
    layout = element("div", _contents(parts, material), element("main", header, *body), class_="layout")
    drawn = {key: one for figures in sections.values() for key, one in figures}
    return Document("report", name, [layout], drawn, explores=bool(material.explorers))


def subtitle(material: Material) -> str:
    """The dataset, and how many runs and rows are shown."""
    n, rows = len(material.runs), len(material.chosen_rows)
    shown = f" · {rows:,} row{'s' * (rows != 1)} in full" if rows else ""
    return f"{material.dataset.name} · {n:,} run{'s' * (n != 1)}: {', '.join(run.name for run in material.runs)}{shown}"


def caption_of(material: Material, found: CaptionedFigure) -> str:
    """A figure's caption, which names the dataset first."""
    name = material.dataset.name
    return found.caption if found.caption.startswith(f"{name} ·") else f"{name} · {found.caption}"


def _contents(parts: Sequence[Part], material: Material) -> Html:
    rows = [
        element("li", element("a", pair_name(found[0]), href=f"#{row_key(i)}"), class_="row")
        for i, found in enumerate(material.chosen_rows.values())
    ]
    items = [
        join([element("li", element("a", title, href=f"#{key}")), *(rows if key == "debates" else [])]) for key, title, _ in parts
    ]
    return element("nav", theme_switch(), element("ol", *items), aria_label="Contents")


def row_key(place: int) -> str:
    """The id of a chosen row's place in the page."""
    return f"row-{place + 1}"


def _runs(material: Material) -> Html:
    return table(pd.DataFrame([_run_line(material, run) for run in material.runs]))


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
            for title, part in (("DE", headline.de), ("DIR", headline.dir), (headline.name, headline.value))
        },
        "scored": scored_text(whole.scored).removeprefix("scored ") if known else "–",
        "no answer": run.fallbacks,
        "failed": run.failed,
        "public score": "–" if run.public_score is None else f"{run.public_score:.3f}",
    }


def _figures(kind: str, figures: Sequence[tuple[str, CaptionedFigure]]) -> Html:
    return join([element("p", KINDS[kind].about, class_="muted"), *(_figure(key, found) for key, found in figures)])


def heading(tag: str, found: CaptionedFigure) -> Html:
    """A figure's title, and which run it is of."""
    subject = [" ", element("span", found.subject, class_="subject")] if found.subject else []
    return element(tag, found.title, *subject)


def _figure(key: str, found: CaptionedFigure) -> Html:
    """A figure with its sentence, caption and table; a sentence alone where there is nothing to draw."""
    if found.chart is None:
        return element("figure", heading("h3", found), element("p", found.sentence))
    return element(
        "figure",
        heading("h3", found),
        element("p", found.sentence),
        chart_place(key, found),
        element("figcaption", found.caption),
        element("details", element("summary", "Table"), table(found.table)),
    )


def _explorers(material: Material) -> list[Part]:
    """Each fusion among the runs, to weigh anew in the page."""
    return [
        (f"weigh-{i}", f"{names[run]}: weigh it", explorer_place(f"explorer-{i}", data))
        for names in ({run.id: run.name for run in material.runs},)
        for i, (run, data) in enumerate(material.explorers.items(), start=1)
    ]


def _comparisons(material: Material) -> list[Part]:
    if not material.comparisons:
        return []
    blocks = []
    for a, b in material.comparisons:
        verdict, *rest = comparison_sentences(material.comparison(a.id, b.id), a.name, b.name)
        blocks.append(join([element("p", element("strong", verdict)), element("p", " ".join(rest))]))
    return [("comparisons", "Comparisons in words", join(blocks))]


def _debates(material: Material) -> list[Part]:
    if not material.chosen_rows:
        return []
    blocks = [_audit(material)]
    blocks += [show_row(row_key(i), found) for i, found in enumerate(material.chosen_rows.values())]
    return [("debates", "Rows in full", join(blocks))]


def _audit(material: Material) -> Html:
    """Whether the advocates of each debate argued, in a sentence and by role."""
    found = [(run, material.audits[run.id][0]) for run in material.runs]
    blocks = [
        join([element("p", f"{run.name}: {audit.summarize()}"), _roles(audit.with_total())])
        for run, audit in found
        if not audit.roles.empty
    ]
    return join(blocks)


def _roles(frame: pd.DataFrame) -> Html:
    titles = {
        "role": "role",
        "n": "briefs",
        "argues": "argue",
        "answers": "answer the question",
        "answers_against": "… against their side",
        "bare": "a bare letter",
        "short": "one line",
    }
    return element("details", element("summary", "Counts by role"), table(frame[list(titles)].rename(columns=titles)))
