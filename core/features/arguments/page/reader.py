"""The reader: one text of a sample after the other, answered by keys.

It is a custom component, since running the script for each key would be too slow. The browser has
the next few texts, and answers are stored as they arrive. Of each text it receives the pair, role,
stage and content. The text's sampling probability would reveal the judge's answer, so it is not
sent; the row of the previous text, with label and prediction, opens where the person asks for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import streamlit as st

from core.base import log
from core.base.errors import DeskError
from core.base.hashes import sha256_of
from core.features.arguments import labels
from core.features.arguments.page import choices
from core.features.arguments.rubric import Rubric
from core.features.arguments.rubric_tables import Sample, TextLabel
from core.runs.workspace import Workspace
from core.store.runs import Run
from core.ui import links

# most texts in the browser: enough for the store to keep up with fast typing
AHEAD, AHEAD_CHARACTERS = 60, 200_000
_HERE = Path(__file__)
_HTML = """<div class="reader"><div class="bar"><span class="progress" role="status"></span>
<span class="line"><span></span></span><span class="state"></span>
<button class="help" type="button" aria-label="Keys" title="Keys">?</button></div>
<div class="keys" hidden></div><div class="question"></div>
<div class="bar"><div class="answers"></div><div class="tools"><button class="back"
type="button"><kbd>u</kbd>back</button>
<button class="skip" type="button"><kbd>s</kbd>skip</button>
<button class="reveal" type="button"><kbd>p</kbd>the row before</button></div></div>
<div class="problem" role="alert" hidden><span class="said"></span><button class="again"
type="button">Try again</button></div>
<div class="about"></div>
<div class="text" tabindex="0" role="document" aria-label="Text"></div></div>"""
_reader = st.components.v2.component(
    "reader",
    html=_HTML,
    css=_HERE.with_suffix(".css").read_text("utf-8"),
    js=_HERE.with_suffix(".js").read_text("utf-8"),
)
Key = tuple[str, int]  # of a text: pair_id, seq


@dataclass(slots=True)
class Progress:
    """A person's progress in a sample. acknowledged: the number of their last stored action.

    skipped: texts that are shown again at the end; first: a text whose answer was taken back.
    error: why the next action cannot be stored.
    """

    acknowledged: int = 0
    skipped: list[Key] = field(default_factory=list)
    first: Key | None = None
    error: str = ""


@dataclass(frozen=True, slots=True)
class Reading:
    """The reader and the sample."""

    workspace: Workspace
    rubric: Rubric
    run: Run
    sample: Sample
    author: str

    @property
    def token(self) -> str:
        """The id of a person's reading of a sample, also used in the browser."""
        return f"{self.sample.id}-{sha256_of(self.author)[:8]}"


def show(reading: Reading) -> None:
    """Show the next text that the person has not answered."""
    key = f"reader-{reading.token}"
    progress: Progress = st.session_state.setdefault(f"_progress-{reading.token}", Progress())

    def take() -> None:
        apply(reading, progress, st.session_state[key]["items"] or [])

    with st.container(key="reader"):
        _reader(key=key, data=content(reading, progress), on_items_change=take)


def content(reading: Reading, progress: Progress) -> dict[str, Any]:
    """Return what the browser gets: plain data."""
    # What the person answered about the run's texts, in this sample or another, in the order of
    # answering
    labels_of_run = choices.labels_of(reading.rubric, reading.run.id)
    answered = {
        (label.pair_id, label.seq): label
        for label in labels_of_run
        if label.author == reading.author
    }
    texts = choices.texts_by_place(
        reading.run.id, reading.rubric, tuple(sorted({t.pair_id for t in reading.sample.texts}))
    )
    sampled = [(text.pair_id, text.seq) for text in reading.sample.texts]
    # The remaining texts in reading order: a text taken back first, skipped texts last
    left = [key for key in sampled if key not in answered]
    first = [key for key in left if key == progress.first]
    skipped = [key for key in progress.skipped if key in left and key not in first]
    left = [*first, *(key for key in left if key not in first and key not in skipped), *skipped]
    ahead = [_as_json(reading.run, key, texts[key]) for key in left[:AHEAD]]
    ends = np.cumsum([len(text["content"]) for text in ahead])
    last = next((key for key in reversed(answered) if key in set(sampled)), None)
    return {
        "reader": reading.token,
        "acknowledged": progress.acknowledged,
        "error": progress.error,
        "question": reading.rubric.question,
        "answers": list(reading.rubric.answers),
        "done": len(sampled) - len(left),
        "total": len(sampled),
        "texts": ahead[: max(2, int((ends <= AHEAD_CHARACTERS).sum()))],
        "last": _as_json(reading.run, last, texts[last]) if last else None,
    }


def _as_json(run: Run, key: Key, text: Mapping[str, str]) -> dict[str, str]:
    shown = {name: text[name] for name in ("pert", "gene", "role", "stage", "content")}
    return {"key": name_of(key), "row": links.row_address(run, key[0]), **shown}


def name_of(key: Key) -> str:
    """Return the key of a text in the browser."""
    return f"{key[0]}/{key[1]}"


def apply(reading: Reading, progress: Progress, items: Sequence[Mapping[str, Any]]) -> None:
    """Apply a person's new actions: store answers, and delete the last one for a step back.

    items: n, key, act (answer, skip, back), answer. Repeated actions are applied once. If
    an action cannot be stored, `progress.error` says why, and the browser sends it and all later
    ones again.
    """
    progress.error = ""
    by_name = {name_of((text.pair_id, text.seq)): text for text in reading.sample.texts}
    for item in sorted(items, key=lambda item: int(item["n"])):
        text = by_name.get(str(item["key"]))
        if item["n"] <= progress.acknowledged or text is None:
            continue
        key = (text.pair_id, text.seq)
        label = TextLabel(
            *key, text.role, str(item.get("answer", "")), reading.author, sample=reading.sample.id
        )
        try:
            if item["act"] == "answer":
                labels.give_labels(reading.workspace, reading.rubric, reading.run.id, [label])
            elif item["act"] == "back":
                labels.take_back(reading.workspace, reading.rubric, reading.run.id, label)
        except DeskError as error:
            log.record_error("page arguments, tab Label", error)
            progress.error = str(error)
            return
        act = str(item["act"])
        progress.skipped = [each for each in progress.skipped if each != key]
        progress.skipped += [key] if act == "skip" else []
        progress.first = key if act == "back" else None if progress.first == key else progress.first
        progress.acknowledged = int(item["n"])
