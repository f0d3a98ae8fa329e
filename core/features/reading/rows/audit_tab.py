"""The Audit tab of Rows: did the advocates argue? Each number counts a rubric's yes answers and
links to their rows."""

from __future__ import annotations

import streamlit as st

from core.base.types import FLAG_NAMES
from core.methods.brief_checks import ALL, FINDINGS, SHORT
from core.methods.text_rules.text import rule_named
from core.plots.printed import captioned
from core.scoring.debate_audit import DebateAudit
from core.scoring.row_numbers import FLAG_HELP
from core.store.runs import Run
from core.ui import filters
from core.ui.sidebar import method_text
from core.ui.widgets import Number, as_text, flush, show_captioned, show_empty, show_numbers


def show(run: Run, audit: DebateAudit) -> None:
    """Show a sentence on whether the advocates argued, the counts by role with links, and the
    lengths of briefs."""
    if not audit.roles:
        show_empty(
            f"This run's method is {method_text(run.method)}, which writes no briefs, so there is"
            " no debate to audit."
        )
        return
    st.markdown(f"**{audit.sentence}**")
    for caveat in audit.caveats:
        st.caption(f":orange[⚠] {caveat}")
    flush()
    _show_findings(audit)
    rows = audit.rows_by_arguing  # in which no advocate, one, two, … wrote more than a line
    st.markdown(f"### Rows by how many of their advocates wrote {SHORT} characters or more")
    for advocates, (place, n) in enumerate(zip(st.columns(len(rows)), rows, strict=True)):
        with place:
            st.caption(f"**{advocates or 'nobody'}**")
            _show_count(n, sum(rows), arguing=str(advocates))
    _show_rows_with_flags(audit)
    show_captioned(captioned(audit, run.name), "brief-lengths")


def _show_findings(audit: DebateAudit) -> None:
    """Show one line per finding: in how many briefs of each role, and of all, it is, each with a
    link to the rows."""
    by_role = audit.with_total
    widths = [0.34, *[0.66 / len(by_role)] * len(by_role)]
    head = st.columns(widths)
    for place, (role, counts) in zip(head[1:], by_role.items(), strict=True):
        place.caption(f"**{role}**, {counts['n']:,} briefs")
    for finding, words in FINDINGS.items():
        cells = st.columns(widths, vertical_alignment="center")
        cells[0].caption(words, help=f"{rule_named(finding).question} Rubric: {as_text(finding)}.")
        for cell, (role, counts) in zip(cells[1:], by_role.items(), strict=True):
            with cell:
                choice = filters.ANY if role == ALL else role, finding
                has_filter = choice in filters.BRIEF_CHOICES.values()
                _show_count(
                    counts[finding],
                    counts["n"] or 0,
                    **({"brief": filters.brief_choice(*choice)} if has_filter else {}),
                )


def _show_count(n: int | None, of: int, **chosen: str) -> None:
    """Show a number with its share of all, as a button that filters the rows if there are any; a
    dash if unknown."""
    text = "–" if n is None else f"{n:,} ({100 * n / of:.0f}%)"
    if n and chosen:
        filters.show_rows_button(text, **chosen)
    else:
        st.markdown(text)


def _show_rows_with_flags(audit: DebateAudit) -> None:
    """Show how many rows collapsed or used a constant, with links to them, and the number of
    distinct verdicts."""
    counts = {
        "role_collapse": ("rows with a role that did not argue its side", audit.collapsed),
        "de_fallback": ("unreadable verdicts on the effect", audit.de_fallbacks),
        "dir_fallback": ("unreadable verdicts on the direction", audit.dir_fallbacks),
    }
    numbers = [
        Number(title, f"{n:,} of {audit.rows:,}", FLAG_HELP[flag])
        for flag, (title, n) in counts.items()
    ]
    numbers.append(
        Number(
            "distinct values of P(DE)",
            f"{audit.distinct_p_de:,}",
            "Few distinct values mean many ties.",
        )
    )
    places = show_numbers("flags", numbers, len(numbers))
    for place, (flag, (_, n)) in zip(places, counts.items(), strict=False):
        if n:
            with place:
                filters.show_rows_button("see the rows", flags=[FLAG_NAMES[flag]])
