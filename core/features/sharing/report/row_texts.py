"""The texts of a row as they are read in a report and on a site: what its advocates did, its
evidence, and its trace."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from core.base.texts import replace_surrogates
from core.evidence import render
from core.plots import theme
from core.scoring import row_numbers, row_trace
from core.scoring.row_trace import Event, Stage, Step, has_argued, stages_of, why_no_dossier
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
        "role": role if role in theme.ROLE_COLOURS else "",
        "p": step.p,
        "warning": step.warning,
        "text": replace_surrogates(step.event["content"]),
    }
