"""The Audit tab of Debates: did the advocates argue? Each number links to its rows."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from core.audit.brief_checks import FINDINGS, SHORT
from core.audit.debate_audit import DebateAudit
from core.plots import brief_lengths
from core.store.runs import Run
from core.ui.debates import filters
from core.ui.shared import links
from core.ui.shared.widgets import FLAG_HELP, FLAG_NAMES, show_empty, show_figure


def show(run: Run, audit: DebateAudit, lengths: pd.DataFrame, has_dossier: bool) -> None:
    """Show the verdict in a sentence, the findings by role with links, and the lengths of briefs."""
    if audit.roles.empty:
        show_empty(
            f"This run's method is {run.method.replace('_', ' ')}: its traces hold no briefs, so there is no debate to audit."
        )
        return
    st.markdown(_verdict(audit))
    first, second, third, fourth = st.columns(4)
    first.metric("rows with a collapsed role", f"{audit.collapsed:,} of {audit.rows:,}", help=FLAG_HELP["role_collapse"])
    second.metric("DE fallbacks", f"{audit.de_fallbacks:,}", help=FLAG_HELP["de_fallback"])
    third.metric("DIR fallbacks", f"{audit.dir_fallbacks:,}", help=FLAG_HELP["dir_fallback"])
    fourth.metric("distinct values of P(DE)", f"{audit.distinct_p_de:,}", help="Few distinct values mean many ties.")
    for place, flag in zip((first, second, third), ("role_collapse", "de_fallback", "dir_fallback"), strict=True):
        with place:
            links.to_rows(run, "see the rows", flags=FLAG_NAMES[flag])
    _show_findings_by_role(run, audit, has_dossier)
    table = brief_lengths.length_classes(lengths, SHORT)
    caption = (
        f"{run.name} · {int(audit.roles['n'].sum()):,} briefs over {audit.rows:,} rows · one line: under {SHORT} characters · "
        "counts of all briefs, so no interval"
    )
    show_figure(brief_lengths.figure(table), table, "brief-lengths", caption)


def _verdict(audit: DebateAudit) -> str:
    """The result of the audit in a sentence."""
    briefs, options = int(audit.roles["n"].sum()), int(audit.roles["option"].sum())
    if options == 0:
        return f"No brief of {briefs:,} opens with a multiple-choice option: the advocates argued."
    share = 100 * options / briefs
    return (
        f"{options:,} of {briefs:,} briefs ({share:.0f}%) open with a multiple-choice option: "
        f"there the advocates answered the question instead of arguing their side."
    )


def _show_findings_by_role(run: Run, audit: DebateAudit, has_dossier: bool) -> None:
    columns = ["short", "option", "against", *(["cites"] if has_dossier else [])]
    widths = [0.16, 0.12, 0.14, *[0.2] * len(columns)]
    for place, title in zip(st.columns(widths), ("role", "briefs", "median length", *columns), strict=True):
        place.caption(f"**{title}**", help=FINDINGS.get(title))
    for role in audit.roles.to_dict("records"):
        cells = st.columns(widths, vertical_alignment="center")
        cells[0].markdown(f"**{role['role']}**")
        cells[1].markdown(f"{role['n']:,}")
        cells[2].markdown(f"{role['median_length']:,.0f}")
        for cell, finding in zip(cells[3:], columns, strict=True):
            with cell:
                text = f"{role[finding]:,} ({100 * role[finding] / role['n']:.0f}%)"
                if role[finding] and role["role"] in filters.ROLES:
                    links.to_rows(run, text, brief=filters.brief_choice(role["role"], finding))
                else:
                    st.markdown(text)
    if not has_dossier:
        st.caption("This file kept no dossier, so whether briefs cite it cannot be checked.")
