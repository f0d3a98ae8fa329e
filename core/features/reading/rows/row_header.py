"""The fixed header above a row, in two or three lines: the pair, the answer, right or wrong, and
why."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import streamlit as st

from core.base.texts import number_text
from core.base.types import FLAG_NAMES, Flag
from core.features.reading.row_reason import find_reason
from core.plots import theme
from core.scoring.row_numbers import FLAG_HELP, score_name
from core.scoring.sentences import PROBABILITY_HELP, RANK_HELP
from core.store.runs import Run
from core.ui import links, run_browser
from core.ui.loaders.rows import RowDetails
from core.ui.shell import PageContext
from core.ui.widgets import as_text, coloured_text, percent_text, symbol_text

OUTCOMES = {"hit": "right", "miss": "wrong"}


def show(context: PageContext, run: Run, details: RowDetails, ids: Sequence[str]) -> list[str]:
    """Show the header of one of the listed rows (ids); return the ids of the runs to compare with.

    The style sheet fixes the container while the row scrolls.
    """
    row = details.numbers
    address = {"dataset": row["dataset"], **({"run": context.run.id} if context.run else {})}
    with st.container(key="row-header", gap=None):
        with st.container(
            key="row-line", horizontal=True, vertical_alignment="center", gap="small"
        ):
            names = (("perturbation", row["pert"]), ("gene", row["gene"]))
            pair = (
                f"[{symbol_text(name)}]({links.page_address(page, **address, name=name)})"
                for page, name in names
            )
            st.markdown(f"### {' ⟶ '.join(pair)}", width="content")
            if not row["error"]:
                st.markdown(
                    describe_answer(run, row), width="content", help=explain_numbers(run, row)
                )
            st.markdown(describe_label(row), width="content")
            compare = run_browser.show_toolbar(context, run, ids, row["pair_id"], details.runs)
        if not row["error"] and (why := describe_reason(details)):
            with st.container(key="row-why"):
                st.markdown(why)
    if row["error"]:
        st.error(f"This row failed: {as_text(row['error'])}", icon=":material/error:")
    return compare


def describe_answer(run: Run, row: dict[str, Any]) -> str:
    """Return a run's answer for a row, as Markdown: P(DE) and the shares of up, down and none, or
    its rank scores."""
    if run.has_rank_scores:
        values = {
            "P(DE)": None if Flag.NO_DE in row["flags"] else row["p_de"],
            "P(up | DE)": row["p_up_given_de"],
        }
        return " · ".join(
            f"{as_text(score_name(run, name))}"
            f" **{number_text(math.nan if value is None else value, '.2f')}**"
            for name, value in values.items()
        )
    up, down = row["prediction_up"], row["prediction_down"]
    shares = {"up": up, "down": down, "none": 1 - up - down}
    signs = " ".join(
        f"{coloured_text(theme.LABEL_SIGNS[name], theme.LABEL_COLOURS[name])}{percent_text(p)}"
        for name, p in shares.items()
    )
    return f"{as_text('P(DE)')} **{percent_text(row['p_de'])}**   {signs}"


def explain_numbers(run: Run, row: dict[str, Any]) -> str:
    """Return the meaning of a row's numbers and flags, for its help mark."""
    rank = run_browser.rank_sentence(run, row)
    if run.has_rank_scores:
        parts = [f"{rank} {RANK_HELP}"]
    else:
        up = percent_text(row["p_up_given_de"])
        parts = [
            f"P(DE): {PROBABILITY_HELP['P(DE)']} {rank}",
            f"P(up | DE) = {up}: {PROBABILITY_HELP['P(up | DE)']}",
            "▲ up, ▼ down and ● none: the submitted shares.",
        ]
    parts += [f"⚠ {FLAG_NAMES.get(flag, flag)}: {FLAG_HELP.get(flag, '')}" for flag in row["flags"]]
    return "\n\n".join(as_text(part) for part in parts)


def describe_label(row: dict[str, Any]) -> str:
    """Return the label of a row as Markdown, preceded by whether the run is right or wrong if that
    is defined."""
    known = row["label"] or "unknown"
    sign = coloured_text(theme.LABEL_SIGNS[known], theme.LABEL_COLOURS[known])
    outcome = row["outcome"]
    said = f"{sign} {as_text(theme.LABEL_WORDS[known])}"
    return f"**{theme.OUTCOME_SIGNS[outcome]} {OUTCOMES[outcome]}**: {said}" if outcome else said


def describe_reason(details: RowDetails) -> str:
    """Return the reason for the row's prediction, as Markdown: a sentence with its author, the
    advocates, and the row's flags."""
    row = details.numbers
    reason = find_reason(row, details.events, details.passages)
    said = []
    if reason is not None:
        alone = f"{reason.source[:1].upper()}{reason.source[1:]}"
        said = [
            (
                f"“{as_text(reason.quote)}” — {as_text(reason.source)}"
                if reason.quote
                else as_text(alone)
            )
        ]
    if reason is not None and reason.sides:
        said.append(as_text(reason.sides))
    # in the words of the sides
    shown = [flag for flag in row["flags"] if not (len(said) > 1 and flag == Flag.ROLE_COLLAPSE)]
    return " · ".join(
        [*said, *(f":orange[⚠ {as_text(FLAG_NAMES.get(flag, flag))}]" for flag in shown)]
    )
