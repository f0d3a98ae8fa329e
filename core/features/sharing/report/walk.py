"""A walk-through: its stops as slides and as a part of the report, each with its sentence and a
link to the view."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from core.base.errors import NotFound
from core.base.texts import count_text, cut_at_word, number_text
from core.features import hooks
from core.features.sharing import walks
from core.features.sharing.report.document import (
    Html,
    chart_place,
    element,
    make_deck,
    render,
    show_words,
)
from core.features.sharing.report.material import Byline, ChosenRow, load_row
from core.features.sharing.walks import Stop
from core.plots import drawing, printed
from core.plots.printed import CaptionedFigure
from core.scoring import row_trace
from core.store import Cursor, datasets, predictions, runs

AT_HOME = "http://localhost:8501"  # where the app is for whoever started it
_EXCERPT = 300  # characters of a brief on a slide
_MOST_TEXTS = 4  # texts on a slide


@dataclass(frozen=True, slots=True, eq=False)
class ShownStop:
    """A stop with its content. row: None unless it is about a row of an existing run; reason: of
    its prediction, in words, "" for none; figure: as saved."""

    stop: Stop
    row: ChosenRow | None = None
    reason: str = ""
    figure: CaptionedFigure | None = None


def load_stops(db: Cursor, stops: Sequence[Stop]) -> list[ShownStop]:
    """Return the content of stops."""
    rows = [_load_row(db, stop) for stop in stops]
    return [
        ShownStop(stop, row, "" if row is None else _find_reason(db, row), _read_figure(stop))
        for stop, row in zip(stops, rows, strict=True)
    ]


def _load_row(db: Cursor, stop: Stop) -> ChosenRow | None:
    if stop.run is None or stop.pair_id is None:
        return None
    try:
        run = runs.find(db, stop.run)
        numbers = predictions.row(db, run.id, stop.pair_id)
    except NotFound:  # the run was deleted since
        return None
    return load_row(db, run, stop.pair_id, numbers)


def _find_reason(db: Cursor, row: ChosenRow) -> str:
    found = (tell(db, row.run, row.numbers, row.events, _EXCERPT) for tell in hooks("row_reasons"))
    return next(filter(None, found), "")


def keep_figure(found: CaptionedFigure) -> dict[str, object]:
    """Return a figure as a stop keeps it."""
    assert found.chart is not None
    chart = printed.as_data(found.chart)
    return {
        "title": found.title,
        "sentence": found.sentence,
        "caption": found.caption,
        "chart": chart,
    }


def _read_figure(stop: Stop) -> CaptionedFigure | None:
    kept = stop.figure
    if kept is None:
        return None
    return CaptionedFigure(
        kept["title"],
        "",
        kept["sentence"],
        kept["caption"],
        go.Figure(kept["chart"], skip_invalid=True),
    )


def walk_file(db: Cursor, dataset: str, name: str, base: str = AT_HOME) -> bytes:
    """Return the slides of a walk-through of a dataset (id) as one file: the same stops give the
    same bytes. base: the address of the app, to which its links lead."""
    stops = walks.of_walk(db, dataset, name)
    keyed = {f"stop-{i}": one for i, one in enumerate(load_stops(db, stops), start=1)}
    days = [stop.added_at.date() for stop in stops if stop.added_at is not None]
    byline = Byline(
        ", ".join(dict.fromkeys(stop.author for stop in stops)), max(days, default=None)
    )
    n = len(stops)
    known = (byline.words, f"dataset {datasets.find(db, dataset).name}", count_text(n, "stop"))
    slides = [
        show_words("title", name, [element("p", " · ".join(filter(None, known)))]),
        *(show_stop(key, one, base) for key, one in keyed.items()),
    ]
    return render(make_deck(name, slides, figures_of(keyed)))


def figures_of(keyed: Mapping[str, ShownStop]) -> dict[str, CaptionedFigure]:
    """Return the figures of some stops, by the keys of their places."""
    return {key: one.figure for key, one in keyed.items() if one.figure is not None}


def show_stop(
    key: str, shown: ShownStop, base: str, tag: str = "h2", kind: str = "slide stop"
) -> Html:
    """Return a stop as a slide, or as a part of the report: its sentence as the title, then its
    content.

    base: of the address of its view. tag: of the title. kind: of the part, for the style sheet.
    """
    stop = shown.stop
    address = f"{base.rstrip('/')}/{stop.address.removeprefix('./')}"
    said = stop.sentence or stop.title
    below = [element("span", stop.title), " · "] if stop.sentence else []
    if shown.figure is not None:
        below += [shown.figure.caption, " · "]
    link = element(
        "p",
        *below,
        element("a", "Open in PerturbDesk", href=address, target="_blank", rel="noopener"),
        class_="muted",
    )
    return element("section", element(tag, said), *_stop_content(key, shown), link, class_=kind)


def _stop_content(key: str, shown: ShownStop) -> list[Html]:
    if shown.figure is not None:
        return [element("div", chart_place(key, shown.figure), class_="stage")]
    if shown.row is not None:
        return list(_row(shown.row, shown.reason))
    gone = "Its run was deleted from this workspace." if shown.stop.pair_id else shown.stop.title
    return [element("p", gone, class_="sentence")]


def _row(row: ChosenRow, reason: str) -> Iterator[Html]:
    """Yield a row on a slide: the pair, the answer, why, and how each side began."""
    numbers = row.numbers
    pair = [element("em", numbers["pert"]), " ⟶ ", element("em", numbers["gene"])]
    known = numbers["label"] or "unknown"
    answer = [
        f"P(DE) {number_text(numbers['p_de'], '.2f')}"
        if numbers["p_de"] is not None
        else "no answer",
        f"P(up | DE) {number_text(numbers['p_up_given_de'], '.2f')}"
        if numbers["p_up_given_de"] is not None
        else "",
        f"{drawing.LABEL_SIGNS[known]} {drawing.LABEL_WORDS[known]}",
        {"hit": "right", "miss": "wrong"}.get(numbers["outcome"] or "", ""),
        row.run.name,
    ]
    yield element(
        "p", element("strong", *pair), " · ", " · ".join(filter(None, answer)), class_="sentence"
    )
    if reason:
        yield element("p", reason, class_="reason")
    briefs = [event for event in row.events if event["kind"] == "brief"]
    columns = [
        _brief(event) for stage in row_trace.SIDES for event in briefs if event["stage"] == stage
    ]
    if columns:
        yield element("div", *columns[:_MOST_TEXTS], class_="briefs")


def _brief(event: Mapping[str, object]) -> Html:
    role = str(event["role"])
    text = cut_at_word(row_trace.spell_tags(str(event["content"])).replace("**", ""), _EXCERPT)
    return element(
        "div",
        element("h3", role),
        element("p", text),
        class_=f"speech {role if role in drawing.ROLE_COLOURS else ''}",
    )
