"""The list of a run's rows: a custom component, since the built-in table opens a row only by its
checkbox."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import streamlit as st

from core.base.hashes import sha256_of
from core.plots import drawing
from core.store.predictions import Order
from core.ui.loaders.cache import cache_by
from core.ui.loaders.records import list_rows

_HERE = Path(__file__)
_HTML = """<div class="row-list"><div class="head"><span class="count"></span>
<button class="help" type="button" aria-label="Keys" aria-expanded="false"
title="Keys (?)">?</button>
<div class="keys" hidden></div></div>
<div class="titles" aria-hidden="true"><span class="pair">pair</span><span class="value"></span>
<span class="sign" title="label">○</span>
<span class="marks" title="✓ right, ✗ wrong, ⚠ flags, ✎ notes">✓✗</span></div>
<div class="rows" role="listbox" tabindex="0" aria-label="Rows"><div
class="space"></div></div></div>"""
# The component that sets the open row: a few bytes for each step, whereas the list may be a
# megabyte.
_SAY_OPENED = """export default ({ data }) => {
  globalThis.openedRow = data.row;
  document.dispatchEvent(new CustomEvent("row-opened", { detail: data.row }));
};"""
_SIGNS = {**drawing.OUTCOME_SIGNS, "flags": "⚠", "notes": "✎"}
HASH_BYTES = 64  # row_list.js reads as many
_NO_LABEL = "unknown"
_LABELS = [*drawing.LABEL_SIGNS]

_list = st.components.v2.component(
    "row_list",
    html=_HTML,
    css=_HERE.with_suffix(".css").read_text("utf-8"),
    js=_HERE.with_suffix(".js").read_text("utf-8"),
)
_opened = st.components.v2.component("opened_row", html="<div></div>", js=_SAY_OPENED)


@dataclass(frozen=True, slots=True)
class Quantity:
    """A quantity beside each row of a list: its short name, its meaning, and its decimals."""

    name: str
    meaning: str = ""
    decimals: int = 2


@dataclass(frozen=True, slots=True)
class ListedRows:
    """The rows of a list: their ids in order, the order, and its quantity."""

    ids: list[str]
    order: Order
    quantity: Quantity


@cache_by("run:{0}", "datasets", "notes", entries=20, shared=True)
def load(
    run: str, pair_ids: tuple[str, ...], order: Order, quantity: Quantity, count: str
) -> bytes:
    """Return the component's content for the named rows of a run (id). order, quantity: see
    `ListedRows`.

    count: the number of these rows.
    """
    return content(list_rows(run, pair_ids, order), quantity, count)


def content(rows: pd.DataFrame, quantity: Quantity, count: str) -> bytes:
    """Return the component's content for the rows of `predictions.list_rows`. count: as in `load`.

    It is JSON after its hash of `HASH_BYTES` characters, by which the browser recognises content
    that it has drawn. Bytes need no new serialisation and hash at every step to another row.
    """
    labels = [label if isinstance(label, str) else _NO_LABEL for label in rows["label"]]
    facts = [
        _facts(*row) for row in zip(rows["outcome"], rows["flags"], rows["notes"], strict=True)
    ]
    found = {
        "name": quantity.name,
        "meaning": quantity.meaning,
        "decimals": quantity.decimals,
        "count": count,
        "ids": rows["pair_id"].tolist(),
        "perts": rows["pert"].tolist(),
        "genes": rows["gene"].tolist(),
        "values": [
            None if value != value else round(value, 4)
            for value in rows["quantity"].astype(float).tolist()
        ],
        "labels": [_LABELS.index(label) for label in labels],
        "marks": [" ".join(_SIGNS[fact] for fact in each) for each in facts],
        "says": [", ".join(each) for each in facts],
        "kinds": [
            {
                "name": drawing.LABEL_WORDS[label],
                "sign": sign,
                "colour": drawing.LABEL_COLOURS[label],
            }
            for label, sign in drawing.LABEL_SIGNS.items()
        ],
    }
    packed = json.dumps(found).encode()
    return sha256_of(packed).encode() + packed


def _facts(outcome: object, flags: Sequence[str], notes: int) -> list[str]:
    """Return the marks of a row: its outcome, if any, and whether it has flags and notes."""
    told = [outcome] if isinstance(outcome, str) else []
    return [*told, *(["flags"] if len(flags) else []), *(["notes"] if notes else [])]


def show(drawn: bytes, opened: str, key: str, on_open: Callable[[str], None]) -> None:
    """Show the rows of `content` with one of them open; `on_open` gets the id of a chosen row."""

    def open_row() -> None:
        chosen = st.session_state[key]["row"]
        if chosen:
            on_open(chosen)

    _list(key=key, data=drawn, on_row_change=open_row)
    _opened(key=f"{key}-opened", data={"row": opened})
