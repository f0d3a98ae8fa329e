"""The texts about a row: a debate side by side, an agent's steps as a tree, anything else in
order."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import streamlit as st

from core.base.config import REPOSITORY
from core.base.texts import count_text, cut_at_word, number_text, parse_json
from core.features.reading.row_reason import REASON_KEYS
from core.features.reading.rows.marked_text import Marks, lines_of, to_markdown, without_emphasis
from core.methods.brief_checks import SHORT
from core.plots import drawing
from core.scoring.row_trace import NO_TRACE, Stage, Step, stages_of
from core.store.runs import Run
from core.store.traces import FAILED
from core.ui.loaders.records import RowDetails
from core.ui.widgets import as_text, coloured_text, percent_text

NARROW = 0.26  # share of the width for a side that only answers


def show(run: Run, details: RowDetails, marks: Marks, *, narrow: bool = False) -> None:
    """Show a row's trace stage by stage: a debate side by side, an agent's steps as a tree,
    anything else in order."""
    if not details.events:
        st.caption(NO_TRACE)
    for stage in stages_of(details.events):
        of_stage = [event for event in details.events if event["stage"] == stage.name]
        if has_steps(of_stage):
            drawn = content(of_stage, details.numbers["tokens"], marks.passages)
            about = {"sought": marks.sought.strip().lower(), "pages": dict(marks.pages)}
            _tree(key=f"trace-{run.id}-{stage.name}", data={**drawn, **about})
            continue
        st.markdown(f"**{as_text(stage.title)}**")
        if stage.rounds:
            _show_debate(stage, marks, narrow)
        else:
            for step in stage.steps:
                with st.container(border=True):
                    _show_text(step.title, step, marks)


def _show_debate(stage: Stage, marks: Marks, narrow: bool) -> None:
    """Show briefs and rebuttals of both sides, in one column if narrow, then the verdict."""
    for sides in stage.rounds:
        is_short = [
            all(len(step.event["content"]) < SHORT for step in speeches) for speeches in sides
        ]
        # A side of a line or less beside a longer one gets a narrow column.
        shares = (
            [0.5, 0.5]
            if is_short[0] == is_short[1]
            else [NARROW if short else 1 - NARROW for short in is_short]
        )
        columns = st.columns(1 if narrow else shares)
        for place, speeches in enumerate(sides):
            for step in speeches:
                with columns[place % len(columns)].container(border=True):
                    _show_speech(step, marks)
    for step in stage.steps:
        with st.container(border=True):
            _show_speech(step, marks)


def _show_speech(step: Step, marks: Marks) -> None:
    stated = "" if step.p is None else f": {percent_text(step.p)}"
    _show_text(f"{step.title}{stated}", step, marks, step.warning)


def _show_text(title: str, step: Step, marks: Marks, warning: str = "") -> None:
    colour = drawing.ROLE_COLOURS.get(step.event["role"], drawing.NONE)
    remark = (
        f"   {coloured_text('⚠', drawing.WARNING)} :small[{as_text(warning)}]" if warning else ""
    )
    st.markdown(
        f"{coloured_text('▌', colour)}**{as_text(title)}**{remark}\n\n"
        f"{to_markdown(step.event['content'], marks)}"
    )


Event = dict[str, Any]
AgentStep = list[Any]  # events, and lists of the events of the agents that the step called
Passages = Mapping[str, tuple[str, ...]]  # as `Marks.passages`
NO_PASSAGES: Passages = {}
STEP_KINDS = {"thought", "tool_call", "observation"}
WARNING_KINDS = {"cut short", "shortened", "rejected"}
ANSWER_KEYS = ("answer", "prediction", "label", "choice")  # of an agent's final answer
_SHORT_ARGUMENTS = 48  # characters
_FAILED = re.compile(FAILED, re.IGNORECASE)
_OPTION = re.compile(
    r"\b(?:answer|option|choose|submit)\b\W{0,4}(?:is\W{1,3}|with\W{1,3})?([ABC])\b", re.IGNORECASE
)
_CODE = re.compile(
    r"^\s*(?:Traceback \(|def |class |import |from \w+ import |SELECT |[{\[<])|Traceback \(most"
    r" recent"
)
_HERE = Path(__file__).parent
# draws text literally, with a few marks
_TEXT = REPOSITORY / "core" / "ui" / "text.js"
_tree = st.components.v2.component(
    "trace_tree",
    html='<div class="trace"></div>',
    css=(_HERE / "trace_tree.css").read_text("utf-8"),
    js=_TEXT.read_text("utf-8") + (_HERE / "trace_tree.js").read_text("utf-8"),
)


def has_steps(events: Sequence[Event]) -> bool:
    """Return whether any event is part of an agent's step."""
    return any(event["kind"] in STEP_KINDS for event in events)


def content(
    events: Sequence[Event], tokens: int | None = None, passages: Passages = NO_PASSAGES
) -> dict[str, Any]:
    """Return what the component draws: answer, sums, unit, tools (name → calls) and steps (see
    `_draw_step`)."""
    steps = _draw_steps(events, passages)
    leaning = [(step, step["leaning"]) for step in steps if step["leaning"]]
    for (_, before), (step, now) in reversed([*pairwise(leaning)]):
        if before != now:  # open the step at which the agent changed to its final answer
            step["turn"], step["open"] = f"{now} named, before it {before}", True
            break
    every = list(_walk(steps))
    calls = Counter(step["tool"] for step in every if step["tool"])
    known = {
        name: [step[name] for step in every if step[name] is not None] for name in ("tokens", "ms")
    }
    n_steps = sum(step["tool"] != "" for step in steps)
    n_failed = sum(step["error"] != "" for step in every)
    n_tokens = tokens or sum(known["tokens"])
    sums = [count_text(n_steps, "step"), count_text(len(calls), "tool")]
    sums += [f"{n_failed} failed"] if n_failed else []
    sums += [f"{n_tokens:,} tokens" if n_tokens else "unknown tokens"]
    sums += [f"{number_text(sum(known['ms']) / 1000, '.1f')} s"] if known["ms"] else []
    return {
        "answer": _answer(events, passages),
        "sums": " · ".join(sums),
        "unit": "tokens" if known["tokens"] else "characters",
        "tools": sorted(calls.items()),
        "steps": steps,
    }


def _answer(events: Sequence[Event], passages: Passages) -> dict[str, Any]:
    """Return the final answer: title, text, and its marked lines. Texts are empty if the trace has
    none."""
    for event in reversed(events):
        if event["kind"] == "tool_call" and (handed_in := _object(event["content"])):
            answer = next((str(handed_in[key]) for key in ANSWER_KEYS if key in handed_in), "")
            reason = next((str(handed_in[key]) for key in REASON_KEYS if key in handed_in), "")
            if answer or reason:
                return {
                    "title": cut_at_word(answer, 80),
                    "text": reason,
                    "passages": _marked_lines(event, passages),
                }
        if event["kind"] == "answer" and event["meta"].get("depth", 0) == 0:
            title, lines = _numbers(event).strip(" ()"), _marked_lines(event, passages)
            return {"title": title, "text": event["content"], "passages": lines}
    return {"title": "", "text": "", "passages": []}


def _marked_lines(event: Event, passages: Passages) -> list[str]:
    """Return the lines that readings marked in an event, without Markdown."""
    return [without_emphasis(line) for line in lines_of(passages.get(event["content"], ()))]


def split_into_steps(events: Sequence[Event], depth: int = 0) -> list[AgentStep]:
    """Return one agent's events as a list of steps.

    The events of an agent that it called are a list within the step that called it.
    """
    steps: list[AgentStep] = []
    for event in events:
        if event["meta"].get("depth", 0) > depth and steps:
            last = steps[-1][-1]
            if isinstance(last, list):
                last.append(event)
            else:
                steps[-1].append([event])
        elif (asking := _asking_step(event, steps)) is not None:
            asking.append(event)
        elif steps and not _starts_step(event, steps[-1]):
            steps[-1].append(event)
        else:
            steps.append([event])
    return steps


def _asking_step(event: Event, steps: Sequence[AgentStep]) -> AgentStep | None:
    """Return the earlier step that waits for this tool's answer: an agent may call several tools at
    once."""
    if event["kind"] != "observation" or not steps or isinstance(steps[-1][-1], list):
        return None
    waiting = [
        step for step in steps if isinstance(step[-1], dict) and step[-1]["kind"] == "tool_call"
    ]
    return next(
        (step for step in waiting if step[-1]["role"].lower() == event["role"].lower()), None
    )


def _starts_step(event: Event, step: AgentStep) -> bool:
    """Return whether an event starts a new step: a thought, its tool call and the observation after
    it are one step."""
    last = next((piece["kind"] for piece in reversed(step) if isinstance(piece, dict)), "")
    joined = {"observation": ("tool_call",), "tool_call": ("thought", "said"), "said": ("thought",)}
    return last not in joined.get(event["kind"], ())


def _draw_steps(
    events: Sequence[Event], passages: Passages, depth: int = 0
) -> list[dict[str, Any]]:
    # An answer that is followed by a tool's call is an intermediate remark.
    after = [*events[1:], None]
    with_said = [
        (
            {**event, "kind": "said"}
            if event["kind"] == "answer" and other is not None and other["kind"] == "tool_call"
            else event
        )
        for event, other in zip(events, after, strict=True)
    ]
    return [_draw_step(step, passages, depth) for step in split_into_steps(with_said, depth)]


def _draw_step(step: AgentStep, passages: Passages, depth: int) -> dict[str, Any]:
    """Return agent, tool, arguments, error, tokens, ms (None if unknown), size in characters, turn,
    marked, open, parts."""
    events = [piece for piece in step if isinstance(piece, dict)]
    call = next((event for event in events if event["kind"] == "tool_call"), None)
    error = next((found for event in events if (found := _error(event))), "")
    first = events[0] if events else None
    within = [event for piece in step for event in (piece if isinstance(piece, list) else [piece])]
    is_marked = any(event["content"] in passages for event in within)
    return {
        "agent": _agent_name(first) if first else "",
        "kind": "" if call else str(first["kind"]) if first else "",
        "tool": call["role"] if call else "",
        "arguments": _short_arguments(call["content"]) if call else "",
        "says": "" if call or not first else cut_at_word(first["content"], 90),
        "error": error,
        "tokens": _total([event["tokens"] for event in events]),
        "ms": _total([event.get("latency_ms") for event in events]),
        "size": sum(len(event["content"]) for event in events),
        "turn": "",
        "marked": is_marked,
        "open": error != "" or is_marked,
        "leaning": _leaning(events),
        "parts": [
            (
                _draw_agent(piece, passages, depth)
                if isinstance(piece, list)
                else {**_draw_part(piece), "passages": _marked_lines(piece, passages)}
            )
            for piece in step
        ],
    }


def _draw_agent(events: Sequence[Event], passages: Passages, depth: int) -> dict[str, Any]:
    """Return another agent's steps within the step that called it."""
    calls = sum(event["kind"] == "tool_call" for event in events)
    tokens = _total([event["tokens"] for event in events])
    usage = f", {tokens:,} tokens" if tokens else ""
    title = f"{_agent_name(events[0])}: {count_text(calls, 'tool call')}{usage}"
    return {"kind": "agent", "title": title, "steps": _draw_steps(events, passages, depth + 1)}


def _draw_part(event: Event) -> dict[str, Any]:
    kind, text = event["kind"], event["content"]
    if kind in WARNING_KINDS:
        return {"kind": "warning", "title": kind, "text": text}
    if kind == "thought":
        return {"kind": "reasoning", "title": "", "text": text}
    if kind in ("tool_call", "observation"):
        formatted, form = _format(text)
        title = "" if kind == "tool_call" else (_error(event) and "failed") or "answered"
        return {"kind": kind, "title": title, "text": formatted, "format": form}
    return {
        "kind": "text",
        "title": "" if kind == "said" else f"{_agent_name(event)}: {kind}{_numbers(event)}",
        "text": text,
    }


def _format(text: str) -> tuple[str, str]:
    """Return a tool's readable text and its kind: JSON on several lines ("code"), code unchanged,
    else lines ("text")."""
    try:
        value = parse_json(text)
        if isinstance(value, dict | list):
            return json.dumps(value, indent=2, ensure_ascii=False), "code"
    except (ValueError, RecursionError):
        pass
    return text, "code" if _CODE.search(text) else "text"


def _object(text: str) -> dict[str, Any]:
    try:
        value = parse_json(text)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _short_arguments(text: str) -> str:
    values = _object(text)
    return cut_at_word(
        ", ".join(map(str, values.values())) if values else "" if text.strip() == "{}" else text,
        _SHORT_ARGUMENTS,
    )


def _error(event: Event) -> str:
    """Return why a tool's call failed: its mark, or the first line of an answer that reports an
    error; "" if it did not."""
    if event["kind"] != "observation":
        return ""
    if marked := event["meta"].get("error"):
        return str(marked)
    return cut_at_word(event["content"], 90) if _FAILED.match(event["content"]) else ""


def _leaning(events: Sequence[Event]) -> str:
    """Return the last option A, B or C in a step's thought or answer; "" for none."""
    said = [event for event in events if event["kind"] in ("thought", "said", "answer")]
    named = [letter for event in said for letter in _OPTION.findall(event["content"])]
    handed_in = [
        str(_object(e["content"]).get("answer", "")) for e in events if e["kind"] == "tool_call"
    ]
    return next(
        (
            letter.upper()
            for letter in [*handed_in[::-1], *named[::-1]]
            if letter.upper() in ("A", "B", "C")
        ),
        "",
    )


def _walk(steps: Sequence[dict[str, Any]]) -> Sequence[dict[str, Any]]:
    """Return all steps, those of called agents included."""
    return [
        each
        for step in steps
        for each in (
            step,
            *(deep for part in step["parts"] for deep in _walk(part.get("steps", ()))),
        )
    ]


def _total(values: Sequence[Any]) -> Any:
    """Return the sum of the known values; None if there are none. A text with 0 tokens has an
    unknown number."""
    known = [value for value in values if value]
    return sum(known) if known else None


def _agent_name(event: Event) -> str:
    """Return the name of the agent that an event belongs to."""
    return str(event["meta"].get("agent") or event["role"]).replace("_", " ")


def _numbers(event: Event) -> str:
    """Return the probabilities in an event, and whether base rates replace them; empty if it has
    none."""
    p_de, p_up = event["meta"].get("p_de"), event["meta"].get("p_up_given_de")
    numbers = [
        f"{name} {percent_text(p)}"
        for name, p in (("P(DE)", p_de), ("P(up | DE)", p_up))
        if p is not None
    ]
    fallback = " – base rates replace unreadable answers" if event["meta"].get("fallback") else ""
    return f" ({', '.join(numbers)}){fallback}" if numbers else fallback
