"""The chosen rows in full: numbers, dossier, texts, and the audit of the arguments."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import pandas as pd

from core.audit.brief_checks import FINDINGS
from core.evidence import describe
from core.plots import theme
from core.report.markup import Html, element, join
from core.report.material import ChosenRow
from core.report.tables import table
from core.scoring import row_numbers, row_trace
from core.scoring.row_trace import NO_TRACE, Event, Stage, Step, has_argued, stages_of, why_no_dossier
from core.texts import number_text
from core.types import FLAG_NAMES

_BOLD = re.compile(r"\*\*([^\s*](?:[^*\n]*[^\s*])?)\*\*")
_FOUND = {finding: words for finding, words in FINDINGS.items() if finding != "argues"}  # which has a column of its own


def pair_name(row: ChosenRow) -> str:
    """Return perturbation ⟶ target gene."""
    return f"{row.numbers['pert']} ⟶ {row.numbers['gene']}"


def show_row(key: str, rows: Sequence[ChosenRow]) -> Html:
    """Return one row in each of the chosen runs that have it. key: of its place in the page."""
    numbers = rows[0].numbers
    title = [element("em", numbers["pert"]), " ⟶ ", element("em", numbers["gene"])]
    known = numbers["label"] or "unknown"
    label = f"{numbers['pair_id']} · label: {theme.LABEL_SIGNS[known]} {theme.LABEL_WORDS[known]} · split {numbers['split']}"
    return element(
        "section",
        element("h3", *title),
        element("p", label, class_="muted"),
        table(pd.DataFrame([_numbers(row) for row in rows])),
        *(join([element("h4", row.run.name), *_tell(row)]) for row in rows),
        id=key,
    )


def _numbers(row: ChosenRow) -> dict[str, object]:
    """Return the numbers of a row in one run; rank scores are named as such."""
    numbers = row.numbers
    values = {"P(DE)": "p_de", "P(up | DE)": "p_up_given_de", "up": "prediction_up", "down": "prediction_down"}
    rank = " (rank scores)" if row.run.has_rank_scores else ""
    return {
        "run": f"{row.run.name}{rank}",
        **{title: "–" if (value := numbers[column]) is None else number_text(value) for title, column in values.items()},
        "hit or miss": numbers["outcome"] or "–",
        "flags": ", ".join(FLAG_NAMES.get(flag, flag) for flag in numbers["flags"]) or "–",
    }


def _tell(row: ChosenRow) -> Iterable[Html]:
    """Yield a run's evidence for a row, the texts about it, and the origin of its numbers."""
    if row.numbers["error"]:
        yield element("p", f"This row failed: {row.numbers['error']}")
        return
    yield element("pre", "\n".join(row_numbers.arithmetic(row.run, row.numbers, row.events)))
    yield from _audit(row.events)
    yield from _dossier(row)
    if not row.events:
        yield element("p", NO_TRACE, class_="muted")
    for stage in stages_of(row.events):
        yield from _stage(stage)


def _audit(events: Sequence[Event]) -> Iterable[Html]:
    """Yield who argued and who answered with a letter, one line per brief."""
    briefs = [event for event in events if event["kind"] == "brief"]
    if not briefs:
        return
    lines = [
        {
            "role": event["role"],
            "characters": len(event["content"]),
            "argued": has_argued(event),
            "found": "; ".join(words for finding, words in _FOUND.items() if finding in event["findings"]) or "–",
        }
        for event in briefs
    ]
    argued = sum(bool(line["argued"]) for line in lines)
    yield element("p", f"{argued} of {len(lines)} advocates argued.")
    yield element("details", element("summary", "Audit of each brief"), table(pd.DataFrame(lines)))


def _dossier(row: ChosenRow) -> Iterable[Html]:
    """Yield the evidence that the agents were given, a card for each answer of a tool."""
    if not row.dossier:
        if why := why_no_dossier(row.events):
            yield element("p", why, class_="muted")
        return
    cards = [_card(item) for item in row.dossier]
    n = len(cards)
    yield element("details", element("summary", f"Dossier: {n} answer{'s' * (n != 1)}"), *cards)


def _card(item: Event) -> Html:
    lines, lists = describe.split_body(item["body"])
    status = [] if item["status"] == "ok" else [element("p", f"{item['status']}: the agents got no answer from this tool")]
    tables = [table(pd.DataFrame(entries).map(describe.value_text)) for entries in lists]
    source = element("p", describe.source_line(item), class_="muted")
    said = [element("p", "\n".join(lines).strip(), class_="said")] if lines else []
    return element("div", element("strong", describe.card_title(item)), *status, *tables, *said, source, class_="card")


def _stage(stage: Stage) -> Iterable[Html]:
    """Yield one stage of a trace; the briefs of a debate stand side by side."""
    yield element("p", element("strong", stage.title))
    if not stage.rounds:
        yield from (_box(step.title, step, whole=True) for step in stage.steps)
        return
    spoken = (step for each in stage.rounds for side in each for step in side)
    yield element("div", *(_speech(step) for step in (*spoken, *stage.steps)), class_="debate")


def _speech(step: Step) -> Html:
    stated = "" if step.p is None else f": {100 * step.p:.0f}%"
    return _box(f"{step.title}{stated}", step, whole=not step.is_speech)


def _box(title: str, step: Step, *, whole: bool) -> Html:
    remark = [" ", element("span", step.warning, class_="warning")] if step.warning else []
    role = step.event["role"] if step.event["role"] in theme.ROLE_COLOURS else ""
    return element(
        "div",
        element("h5", title, *remark),
        element("p", *_mark_speech(step.event["content"]), class_="said"),
        class_=" ".join(filter(None, ("speech", role, "whole" if whole else ""))),
    )


def _mark_speech(text: str) -> Iterable[Html | str]:
    """Yield a model's text with tags by their meaning and bold words; everything else is literal."""
    for i, part in enumerate(_BOLD.split(row_trace.spell_tags(text))):
        yield element("strong", part) if i % 2 else part
