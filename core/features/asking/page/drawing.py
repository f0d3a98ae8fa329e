"""A row as HTML: its numbers, the cards of its dossier, and the texts of a stage side by side. All
text is escaped.

It is redrawn many times a second while words arrive, so each part is one element, sent only when it
changes.
"""

from __future__ import annotations

import html
import time
from collections.abc import Mapping
from typing import Any

from core.base.types import FLAG_NAMES
from core.evidence import render
from core.features.asking.page.live_row import JUDGE, LiveRow, Speech
from core.plots import theme
from core.scoring import row_trace
from core.ui.widgets import percent_text

_LONGEST_LINE = 160  # characters of a card's text: all of it is in Rows
_LONGEST_TEXT = 100_000  # characters of an answer
_SIMULATED = '<span class="ask-tag">simulated</span>'


def pair(row: LiveRow) -> str:
    """Return the pair, for a row of a dataset."""
    return _div("pair", f"<i>{html.escape(row.pert)}</i> ⟶ <i>{html.escape(row.gene)}</i>")


def numbers(row: LiveRow, simulated: bool) -> str:
    """Return the prediction so far, the time and the tokens."""
    ending = row.ending or {}
    p_de = ending.get("p_de", row.p_of("de"))
    p_up = ending.get("p_up_given_de", row.p_of("dir"))
    shown = _number("P(DE)", p_de, theme.EFFECT) + _number("P(up | DE)", p_up, theme.UP)
    seconds = (
        (row.at if row.ending is not None else time.time()) - row.begun_at if row.begun_at else 0.0
    )
    facts = [f"{seconds:.1f} s"] if seconds else []
    facts += [f"{row.tokens:,} tokens"] if row.tokens else []
    return _div(
        "numbers", shown, _outcome(ending), _div("facts", " · ".join(facts), _tag(simulated))
    )


def _number(name: str, p: float | None, colour: str) -> str:
    width = 0 if p is None or p != p else 100 * p
    bar = _div("bar", f'<div style="width:{width:.1f}%;background:{colour}"></div>')
    return _div("number", _div("name", name), _div("value", percent_text(p)), bar)


def _outcome(ending: Mapping[str, Any]) -> str:
    """Return up, down and none, once the row is complete."""
    if ending.get("up") is None:
        return ""
    up, down = ending["up"], ending["down"]
    shares = {"up": up, "down": down, "none": max(0.0, 1 - up - down)}
    signs = {name: _colour(theme.LABEL_SIGNS[name], theme.LABEL_COLOURS[name]) for name in shares}
    return _div(
        "outcome",
        *(_div("part", f"{signs[name]} {name} {percent_text(p)}") for name, p in shares.items()),
    )


def remarks(row: LiveRow) -> str:
    """Return the warnings about a complete row; "" if there are none."""
    ending = (row.ending or {}) if row.is_over else {}
    said = [f"This row failed: {ending['error']}"] if ending.get("error") else []
    said += [str(FLAG_NAMES.get(flag, flag)) for flag in ending.get("flags", ())]
    return "".join(map(_remark, said))


def _remark(text: str) -> str:
    return _div("remark", _colour("⚠", theme.WARNING), " ", html.escape(text))


def cards(row: LiveRow, simulated: bool) -> str:
    """Return the dossier: a card for each tool, in the order received, with its answer or why it
    has none."""
    drawn = [_card(item, simulated) for item in row.cards.values()]
    return _div("cards", *drawn) if drawn else ""


def _card(item: Mapping[str, Any], simulated: bool) -> str:
    is_ok = item["status"] == "ok"
    sign = _colour("✓", theme.CHOSEN) if is_ok else _colour("–", theme.NONE)
    head = _div("title", sign, f"<span>{html.escape(_title(item))}</span>", _tag(simulated))
    lines, lists = render.split_body(item["body"])
    found = " · ".join(
        [
            *(line for line in lines if line.strip()),
            *(f"{len(entries):,} entries" for entries in lists),
        ]
    )
    text = found if is_ok else "nothing found" if item["status"] == "empty" else item["status"]
    return _div(
        "card",
        head,
        _div(
            "line",
            html.escape(
                text if len(text) <= _LONGEST_LINE else f"{text[:_LONGEST_LINE].rstrip()} …"
            ),
        ),
    )


def _title(item: Mapping[str, Any]) -> str:
    """Return a tool and its query, without its label view."""
    return (
        render.card_title({**item, "key": str(item["key"]).partition(" @ ")[0]})
        .replace(" ⟶ *", "")
        .replace("* ⟶ ", "")
    )


def stage(row: LiveRow, name: str, simulated: bool) -> str:
    """Return the texts of a stage: two sides beside each other, the judge below; of other methods
    all in one column."""
    speeches = [speech for speech in row.speeches.values() if speech.stage == name]
    sides = row_trace.SIDES.get(name, ())
    parts = [_div("stage-title", html.escape(row_trace.stage_title(name)))]
    if any(speech.role in sides for speech in speeches):
        columns = (
            [_speech(speech, simulated) for speech in speeches if speech.role == side]
            for side in sides
        )
        parts.append(_div("sides", *(_div("side", *column) for column in columns)))
    parts += [_speech(speech, simulated) for speech in speeches if speech.role not in sides]
    return _div("stage", *parts)


def _speech(speech: Speech, simulated: bool) -> str:
    is_written = speech.ended_at is None
    content, n = speech.content, len(speech.content)
    text = html.escape(
        content if n <= _LONGEST_TEXT else f"{content[:_LONGEST_TEXT]}… ({n:,} characters in all)"
    )
    if is_written and not speech.content:
        waiting = "asked …" if speech.streams else "its answer will come in one piece …"
        thought = f"thinking: {speech.reasoning}" if speech.reasoning else waiting
        text = f'<span class="ask-thought">{html.escape(thought)}</span>'
    number = f": {percent_text(speech.p)}" if speech.p is not None else ""
    colour = theme.ROLE_COLOURS.get(speech.role, theme.NONE)
    role = "Judge" if speech.role == JUDGE else speech.role
    name = f"<span>{_colour('▌', colour)}<b>{html.escape(role)}{number}</b></span>"
    head = _div("title", name, _div("facts", _facts(speech)), _tag(simulated))
    return _div(
        "speech",
        head,
        _div("text", text, "▍" if is_written else ""),
        _remark(speech.error) if speech.error else "",
    )


def _facts(speech: Speech) -> str:
    if speech.failed:
        return "no answer"
    if speech.ended_at is None:
        return (
            f"{time.time() - speech.begun_at:.1f} s · {speech.pieces:,} tokens"
            if speech.pieces
            else ""
        )
    tokens = f"{speech.tokens or 0:,} tokens"
    return (
        f"{tokens} · from the cache"
        if speech.cached
        else f"{speech.ended_at - speech.begun_at:.1f} s · {tokens}"
    )


def _tag(simulated: bool) -> str:
    return _SIMULATED if simulated else ""


def _div(kind: str, *parts: str) -> str:
    return f'<div class="ask-{kind}">{"".join(parts)}</div>'


def _colour(sign: str, colour: str) -> str:
    return f'<span style="color:{colour}">{sign}</span>'
