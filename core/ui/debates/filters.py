"""The row of filters over a run's rows. Every one is in the address, under its widget's key."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

import streamlit as st

from core.audit.brief_checks import FINDINGS
from core.store.predictions import GENE_ROWS, Order, RowFilter
from core.ui.shared import loaders
from core.ui.shared.widgets import FLAG_NAMES

ROLES = ("EFFECT", "NULL", "UP", "DOWN")
FLAG_OF_NAME = {name: flag for flag, name in FLAG_NAMES.items()}
BRIEF_CHOICES = {f"{role}: {words}": (role, finding) for role in ROLES for finding, words in FINDINGS.items()}


def brief_choice(role: str, finding: str) -> str:
    """How a finding about a role's briefs stands in links."""
    return f"{role}: {FINDINGS[finding]}"


def show(run: str) -> tuple[RowFilter, Order]:
    """Draw the filters that make sense for a run; what they leave, and in which order."""
    there = loaders.filter_choices(run)
    labelled = there["label"] != ["unknown"]
    columns = st.columns([0.24, 0.13, 0.23, 0.22, 0.18] if labelled else [0.34, 0.36, 0.3], vertical_alignment="bottom")
    labels: list[str] = []
    outcome = None
    if labelled:
        labels = columns[0].multiselect("Label", there["label"], key="label", bind="query-params", placeholder="any")
        outcome = columns[1].selectbox(
            "Call",
            ["hit", "miss"],
            index=None,
            key="call",
            bind="query-params",
            placeholder="any",
            help="Hit: the most probable of up, down and none is the label.",
        )
    flags = columns[-3].multiselect(
        "Flags",
        [FLAG_NAMES[flag] for flag in there["flag"] if flag in FLAG_NAMES],
        key="flags",
        bind="query-params",
        placeholder="any",
    )
    text = columns[-2].text_input("Search", key="q", bind="query-params", placeholder="gene, word or phrase", type="search")
    with columns[-1].popover("More", width="stretch", icon=":material/tune:"):
        further, order = _further(there)
    wanted = replace(
        further,
        labels=tuple(labels),
        outcome=outcome or "",
        flags=tuple(FLAG_OF_NAME[name] for name in flags),
        text=text or "",
    )
    return wanted, order


def _further(there: dict[str, list[str]]) -> tuple[RowFilter, Order]:
    """The filters that are wanted less often, and the order."""
    order = st.selectbox("Order", get_args(Order), key="order", bind="query-params")
    wanted = RowFilter(
        p_de=st.slider("P(DE)", 0.0, 1.0, (0.0, 1.0), 0.05, key="p_de", bind="query-params"),
        p_up=st.slider("P(up | DE)", 0.0, 1.0, (0.0, 1.0), 0.05, key="p_up", bind="query-params"),
        pert=_one_of("Perturbation", there["pert"], "pert"),
        gene=_one_of("Target gene", there["gene"], "gene"),
        naming=_one_of("Gene's symbol", there["naming"], "symbol"),
        gene_rows=_one_of("Gene's rows in its split", list(GENE_ROWS), "gene_rows"),
        split=_one_of("Split", there["split"], "split"),
        finding=BRIEF_CHOICES.get(_one_of("A brief is", list(BRIEF_CHOICES), "brief")),
        noted=st.toggle("Only rows with notes", key="noted", bind="query-params"),
        failed=st.toggle("Only rows that failed", key="failed", bind="query-params"),
    )
    return wanted, order


def _one_of(label: str, options: list[str], key: str) -> str:
    chosen = st.selectbox(label, options, index=None, key=key, bind="query-params", placeholder="any")
    return chosen or ""
