"""Arguments, tab Kinds: kinds of arguments in the texts of a run, their rows' hit rates, and typical texts."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from core.audit.argument_kinds import METHODS
from core.audit.kind_settings import KindsRequest
from core.fields.record import make, options_of
from core.report.figures import argument_kinds as figures
from core.scoring.argument_kinds import (
    TEXT_NAMES,
    Kind,
    RunKinds,
    describe_kinds,
    describe_masking,
    describe_stability,
    find_kinds,
    load_texts,
)
from core.scoring.sentences import interval_text
from core.store.runs import Run
from core.texts import estimate_text
from core.ui.shared import links, loaders, tables
from core.ui.shared.background import Result, background
from core.ui.shared.option_controls import choose_setting, show_more, show_settings
from core.ui.shared.run_choice import method_text
from core.ui.shared.server_workspace import read_workspace
from core.ui.shared.shell import draw_until_ready
from core.ui.shared.widgets import as_text, pair_text, show_captioned, show_empty

_KINDS = {option.name: option for option in options_of(KindsRequest)}
_BY_RULE = 0  # the number of kinds that the rule chooses
_LONGEST = 700  # characters of a typical text


def show(run: Run) -> None:
    """Show the choice of texts and of the sorting, and the kinds once they are found."""
    counts = loaders.text_counts(run.id)
    if not counts:
        show_empty(
            f"This run's method is {as_text(method_text(run.method))}, which writes no texts, so there are no arguments to sort."
        )
        return
    asked = _choose(counts)
    draw_until_ready(lambda: _draw(run, asked), lambda: _ask(run, asked).ready)


def _choose(counts: dict[str, dict[str, int]]) -> KindsRequest:
    """Show one row of controls."""
    texts, role, method, number, seed = st.columns([0.22, 0.2, 0.22, 0.2, 0.16])
    names = {kind: f"{TEXT_NAMES[kind]} ({sum(roles.values()):,})" for kind, roles in counts.items()}
    kind = choose_setting(texts.selectbox, _KINDS["texts"], "", names, next(iter(names))) or next(iter(names))
    by = ""
    if len(counts[kind]) > 1:
        roles = {"": "all", **{name: f"{name} ({n:,})" for name, n in counts[kind].items()}}
        by = choose_setting(role.selectbox, _KINDS["role"], "", roles, "") or ""
    how = choose_setting(method.selectbox, _KINDS["method"], "", METHODS, "kmeans") or "kmeans"
    k = _BY_RULE
    if how == "kmeans":
        choices = {str(_BY_RULE): "the most that are stable", **{str(n): f"{n}" for n in _KINDS["k"].offered}}
        k = int(choose_setting(number.selectbox, _KINDS["k"], "", choices, str(_BY_RULE)) or _BY_RULE)
    with seed:
        chosen = show_settings(KindsRequest, "", ["seed"])
    chosen |= show_more(KindsRequest, "", ("texts", "role", "method", "k", *chosen))
    return make(KindsRequest, {**chosen, "texts": kind, "role": by, "method": how, "k": k or None})


def _ask(run: Run, asked: KindsRequest) -> Result:
    def compute(_progress: Callable[[float], object]) -> RunKinds:
        with read_workspace().store.read() as db:
            texts = load_texts(db, run.id, asked.texts, asked.role)
        return find_kinds(texts, asked.settings)

    return background().ask(("kinds", run.id, asked, loaders.run_version(run.id)), compute)


def _draw(run: Run, asked: KindsRequest) -> None:
    found = _ask(run, asked)
    if not found.ready:
        st.caption("Sorting the texts. Some thousand texts take about 15 seconds.")
    elif found.value is None:
        st.error("The texts could not be sorted: the log says why.")
    else:
        _show(run, found.value)


def _show(run: Run, found: RunKinds) -> None:
    holds = found.stability.holds and found.by_rows.holds
    st.markdown(f"{'' if holds else ':material/warning: '}**{as_text(describe_stability(found))}**")
    st.markdown(as_text(describe_kinds(found)))
    if found.hit is None:
        st.markdown(figures.NO_RATE)
    else:
        show_captioned(figures.of_run(found), "argument-kinds")
    _show_table(found)
    st.markdown("### Typical texts")
    st.caption(f"The texts nearest to the mean of their kind, from different rows. {as_text(describe_masking())}")
    for place, kind in enumerate(found.kinds):
        if kind.typical:
            _show_typical(run, kind, place)


def _show_table(found: RunKinds) -> None:
    table = figures.kinds_table(found)
    numbers = table[["estimate", "low", "high"]].to_numpy(dtype=float).tolist()
    rates = [estimate_text(estimate, low, high, ".2f") for estimate, low, high in numbers]
    shown = table.assign(rate=rates)[["kind", "n", "share", *([] if found.hit is None else ["rows", "rate"])]]
    column = st.column_config
    tables.show_table(
        shown,
        "kinds of arguments",
        {
            "kind": column.TextColumn("kind, by its typical words"),
            "n": column.NumberColumn("texts", format="localized"),
            "share": column.NumberColumn("share", format="percent"),
            "rows": column.NumberColumn("rows with a label", format="localized", help="Each row counts once in a kind."),
            "rate": column.TextColumn("hit rate", help="Share of these rows whose most probable outcome equals the label."),
        },
        alt="Kinds of arguments",
    )


def _show_typical(run: Run, kind: Kind, place: int) -> None:
    rate = "" if kind.hit is None else f", hit rate {interval_text(kind.hit.shown)}"
    with st.expander(as_text(f"{kind.name}: {kind.n:,} texts{rate}"), expanded=place == 0):
        for text in kind.typical:
            who = " · ".join(filter(None, (text.role, text.stage, text.outcome)))
            with st.container(horizontal=True, vertical_alignment="center"):
                st.markdown(f"{pair_text(text.pert, text.gene)} :small[{as_text(who)}]", width="content")
                links.to_row(run, text.pair_id, "open in Rows")
            st.text(text.content if len(text.content) <= _LONGEST else f"{text.content[: _LONGEST - 1]}…")
