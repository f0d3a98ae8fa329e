"""The texts of a row as they are read in a report and on a site: what its advocates did, its
evidence, and its trace."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from core.base.texts import count_text, number_text, replace_surrogates
from core.base.types import FLAG_NAMES
from core.evidence import render
from core.features.sharing.report.document import Html, element, join, table
from core.features.sharing.report.material import ChosenRow
from core.plots import drawing
from core.scoring import row_numbers, row_trace
from core.scoring.row_trace import (
    NO_TRACE,
    Event,
    Stage,
    Step,
    has_argued,
    stages_of,
    why_no_dossier,
)
from core.store.runs import Run

Row = dict[str, Any]


def row_texts(
    run: Run, row: Mapping[str, Any], events: Sequence[Event], cards: Sequence[Row]
) -> Row:
    """Return everything of one row that is read, as plain data.

    row: of `predictions.row`. events: of its trace. cards: `evidence_card` of each answer that it
    saw.
    """
    return {
        "error": row["error"] or "",
        "arithmetic": [] if row["error"] else row_numbers.arithmetic(run, row, events),
        "advocates": [_advocate(event) for event in events if event["kind"] == "brief"],
        "dossier": list(cards),
        "noDossier": "" if cards else why_no_dossier(events),
        "stages": list(map(_stage, stages_of(events))),
    }


def evidence_card(item: Mapping[str, Any]) -> Row:
    """Return an answer of a tool. item: the fields of `Evidence`."""
    lines, lists = render.split_body(item["body"])
    return {
        "title": render.card_title(item),
        "status": ""
        if item["status"] == "ok"
        else f"{item['status']}: the agents got no answer from this tool",
        "lines": "\n".join(lines),
        "tables": [_table(entries) for entries in lists],
        "source": render.source_line(item),
    }


def _table(entries: render.Entries) -> Row:
    names = list(dict.fromkeys(name for entry in entries for name in entry))
    cells = [[render.value_text(entry.get(name)) for name in names] for entry in entries]
    return {"columns": [name.replace("_", " ") for name in names], "rows": cells}


def _advocate(event: Event) -> Row:
    """Return what an advocate did: argued or not, by the audit's wide definition."""
    found = event["findings"]
    if "bare" in found and "answers" in found:
        words = "answered with a letter" + (
            ", against its own side" if "answers_against" in found else ""
        )
    else:
        warning = row_trace.warning_of(found, event["meta"])
        words = (
            ", ".join(filter(None, ["argued" if has_argued(event) else "", warning]))
            or "did not argue"
        )
    return {"role": event["role"], "argued": has_argued(event), "words": words}


def _stage(stage: Stage) -> Row:
    """Return one stage: in a debate the speeches of both sides, briefs first, then the judge; else
    one step after another."""
    rounds = [[list(map(_step, side)) for side in each] for each in stage.rounds]
    return {"title": stage.title, "rounds": rounds, "steps": list(map(_step, stage.steps))}


def _step(step: Step) -> Row:
    role = step.event["role"]
    return {
        "title": step.title,
        "role": role if role in drawing.ROLE_COLOURS else "",
        "p": step.p,
        "warning": step.warning,
        "text": replace_surrogates(step.event["content"]),
    }


_BOLD = re.compile(r"\*\*([^\s*](?:[^*\n]*[^\s*])?)\*\*")


def show_row(key: str, rows: Sequence[ChosenRow]) -> Html:
    """Return one row in each of the chosen runs that have it. key: of its place in the page."""
    numbers = rows[0].numbers
    title = [element("em", numbers["pert"]), " ⟶ ", element("em", numbers["gene"])]
    known = numbers["label"] or "unknown"
    label = (
        f"{numbers['pair_id']} · label: {drawing.LABEL_SIGNS[known]} {drawing.LABEL_WORDS[known]} ·"
        f" split {numbers['split']}"
    )
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
    values = {
        "P(DE)": "p_de",
        "P(up | DE)": "p_up_given_de",
        "up": "prediction_up",
        "down": "prediction_down",
    }
    rank = " (rank scores)" if row.run.has_rank_scores else ""
    return {
        "run": f"{row.run.name}{rank}",
        **{
            title: "–" if (value := numbers[column]) is None else number_text(value)
            for title, column in values.items()
        },
        "hit or miss": numbers["outcome"] or "–",
        "flags": ", ".join(FLAG_NAMES.get(flag, flag) for flag in numbers["flags"]) or "–",
    }


def _tell(row: ChosenRow) -> Iterable[Html]:
    """Yield a run's evidence for a row, the texts about it, and the origin of its numbers."""
    texts = row_texts(row.run, row.numbers, row.events, list(map(evidence_card, row.dossier)))
    if texts["error"]:
        yield element("p", f"This row failed: {texts['error']}")
        return
    yield element("pre", "\n".join(texts["arithmetic"]))
    if advocates := texts["advocates"]:
        argued = sum(each["argued"] for each in advocates)
        yield element("p", f"{argued} of {len(advocates)} advocates argued.")
        yield element(
            "ul",
            *(
                element("li", element("strong", each["role"]), f" {each['words']}")
                for each in advocates
            ),
        )
    if texts["noDossier"]:
        yield element("p", texts["noDossier"], class_="muted")
    if n := len(texts["dossier"]):
        summary = element("summary", f"Dossier: {count_text(n, 'answer')}")
        yield element("details", summary, *map(_card, texts["dossier"]))
    if not texts["stages"]:
        yield element("p", NO_TRACE, class_="muted")
    for stage in texts["stages"]:
        yield from _show_stage(stage)


def _card(card: Row) -> Html:
    """Return the answer of a tool, which the agents were given."""
    status = [element("p", card["status"])] if card["status"] else []
    tables = [table(pd.DataFrame(each["rows"], columns=each["columns"])) for each in card["tables"]]
    said = [element("p", card["lines"].strip(), class_="said")] if card["lines"] else []
    source = element("p", card["source"], class_="muted")
    return element(
        "div", element("strong", card["title"]), *status, *tables, *said, source, class_="card"
    )


def _show_stage(stage: Row) -> Iterable[Html]:
    """Yield one stage of a trace; the briefs of a debate stand side by side."""
    yield element("p", element("strong", stage["title"]))
    if not stage["rounds"]:
        yield from (_box(step, step["title"], whole=True) for step in stage["steps"])
        return
    spoken = [step for sides in stage["rounds"] for side in sides for step in side]
    boxes = [
        _box(
            step,
            step["title"] if step["p"] is None else f"{step['title']}: {100 * step['p']:.0f}%",
            whole=i >= len(spoken),
        )
        for i, step in enumerate([*spoken, *stage["steps"]])
    ]
    yield element("div", *boxes, class_="debate")


def _box(step: Row, title: str, *, whole: bool) -> Html:
    # tags by their meaning; every second part is bold
    parts = _BOLD.split(row_trace.spell_tags(step["text"]))
    remark = [" ", element("span", step["warning"], class_="warning")] if step["warning"] else []
    return element(
        "div",
        element("h5", title, *remark),
        element(
            "p",
            *(element("strong", part) if i % 2 else part for i, part in enumerate(parts)),
            class_="said",
        ),
        class_=" ".join(filter(None, ("speech", step["role"], "whole" if whole else ""))),
    )
