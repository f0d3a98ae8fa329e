"""What stays in sight above a row of Debates: previous and next, the pair, its label, hit or miss, and the numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import streamlit as st

from core.plots import theme
from core.scoring.row_words import FLAG_HELP, score_name
from core.scoring.terms import PROBABILITY_HELP, RANK_HELP
from core.store.runs import Run
from core.texts import number_text
from core.types import ASKED, FLAG_NAMES, Flag
from core.ui.shared import links, run_browser
from core.ui.shared.loaders import RowDetails
from core.ui.shared.number_box import Number, show_numbers
from core.ui.shared.shell import PageContext
from core.ui.shared.widgets import (
    as_text,
    coloured_text,
    pair_text,
    percent_text,
    show_bar,
    symbol_text,
)

_WIDTHS = (0.2, 0.22, 0.58)  # of both probabilities, and of what belongs to them


def show(context: PageContext, run: Run, details: RowDetails, ids: Sequence[str]) -> list[str]:
    """Show the header of a row of those that are listed (ids), and its flags; return the ids of the runs to compare with.

    The style sheet keeps the container in sight while the page scrolls.
    """
    row = details.numbers
    with st.container(key="row-header", gap="small"):
        compare = run_browser.show_toolbar(context, run, ids, row["pair_id"], details.runs)
        _show_title(context, run, row)
        if not row["error"]:
            _show_numbers(run, row, run_browser.rank_sentence(run, row))
    if row["error"]:
        st.error(f"This row failed: {as_text(row['error'])}", icon=":material/error:")
        return compare
    for flag in row["flags"]:
        st.caption(f":orange[⚠ {FLAG_NAMES.get(flag, flag)}] – {FLAG_HELP.get(flag, '')}")
    return compare


def _show_numbers(run: Run, row: dict[str, Any], rank: str) -> None:
    if run.has_rank_scores:
        _show_rank_scores(run, row, rank)
    else:
        _show_probabilities(row, rank)


def _show_rank_scores(run: Run, row: dict[str, Any], rank: str) -> None:
    values = {"P(DE)": None if Flag.NO_DE in row["flags"] else row["p_de"], "P(up | DE)": row["p_up_given_de"]}
    numbers = [
        Number(score_name(run, name), number_text(math.nan if value is None else value, ".2f"), RANK_HELP)
        for name, value in values.items()
    ]
    *_, third = show_numbers("row", numbers, _WIDTHS)
    third.caption(rank, help=RANK_HELP)


def _show_probabilities(row: dict[str, Any], rank: str) -> None:
    numbers = (
        Number("P(DE)", percent_text(row["p_de"]), PROBABILITY_HELP["P(DE)"] + f" {rank}"),
        Number("P(up | DE)", percent_text(row["p_up_given_de"]), PROBABILITY_HELP["P(up | DE)"]),
    )
    *_, third = show_numbers("row", numbers, _WIDTHS)
    up, down = row["prediction_up"], row["prediction_down"]
    with third:
        show_bar(
            [
                (f"▲ up {percent_text(up)}", up, theme.UP),
                (f"▼ down {percent_text(down)}", down, theme.DOWN),
                (f"● none {percent_text(1 - up - down)}", 1 - up - down, theme.NONE),
            ]
        )


def _show_title(context: PageContext, run: Run, row: dict[str, Any]) -> None:
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.markdown(f"### {pair_text(row['pert'], row['gene'])}", width="content")
        with st.popover("", icon=":material/menu_book:", type="tertiary", help="Descriptions of both genes"):
            _show_genes(context, row)
        if row["split"] != ASKED:
            links.to_neighbours(run.dataset, row["pair_id"], "neighbours")
        st.markdown(describe_label(row), width="stretch", text_alignment="right")


def describe_label(row: dict[str, Any]) -> str:
    """The label of a row as Markdown, and whether it is a hit or a miss if that can be said."""
    known = row["label"] or "unknown"
    sign = coloured_text(theme.LABEL_SIGNS[known], theme.LABEL_COLOURS[known])
    outcome = row["outcome"]
    said = f"label: **{sign}** {as_text(row['label'])}" if row["label"] else f"{sign} {theme.LABEL_WORDS[known]}"
    return f"{said} · {theme.OUTCOME_SIGNS[outcome]} {outcome}" if outcome else said


def _show_genes(context: PageContext, row: dict[str, Any]) -> None:
    for role, name, description in (("pert", row["pert"], row["pert_description"]), ("gene", row["gene"], row["description"])):
        links.to_symbol(role, name, f"All rows of {symbol_text(name)}")
        if context.dataset is not None and links.is_at_ncbi(context.dataset):
            address = links.ncbi_gene_address(name, context.dataset.organism)
            st.markdown(f"[{symbol_text(name)} at NCBI]({address})")
        st.text(description or "No description of this gene is in the workspace.")
