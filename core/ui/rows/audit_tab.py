"""The Audit tab of Rows: did the advocates argue? Each number counts a rubric's yes answers and links to their rows."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from core.audit.brief_checks import SHORT
from core.audit.debate_audit import DebateAudit
from core.audit.rules.registry import rule_named
from core.report.results import captioned
from core.scoring.row_numbers import FLAG_HELP
from core.store.runs import Run
from core.types import FLAG_NAMES
from core.ui.shared import filters
from core.ui.shared.run_choice import method_text
from core.ui.shared.widgets import Number, as_text, flush, show_captioned, show_empty, show_numbers

# Finding → the title of its column.
_ANSWERS = {
    "answers": "answer the question",
    "answers_against": "…against their side",
    "bare": "a bare letter",
    "option": "letter and bracket",
    "against": "…against their side",
}
_ARGUMENTS = {
    "argues": "argue",
    "sentences": "3 sentences or more",
    "genes": "name both genes",
    "own_side": "conclude for their side",
    "other_side": "conclude for the other",
    "cites": "cite the dossier",
}
# Finding → details that its rubric's question omits.
_HELP = {
    "answers": "A, B or C at the start, perhaps after “Answer”, alone or before a bracket, a full stop or a colon.",
    "answers_against": "It contradicts EFFECT by C, NULL by A or B, UP by B or C, DOWN by A or C.",
    "option": "The narrower count: only A, B or C with a closing bracket.",
    "against": "The narrower count of contradictions.",
}


def show(run: Run, audit: DebateAudit) -> None:
    """Show a sentence on whether the advocates argued, the counts by role with links, and the lengths of briefs."""
    if not audit.roles:
        show_empty(f"This run's method is {method_text(run.method)}, which writes no briefs, so there is no debate to audit.")
        return
    st.markdown(f"**{audit.sentence}**")
    for caveat in audit.caveats:
        st.caption(f":orange[⚠] {caveat}")
    flush()
    _show_counts(audit, _ANSWERS)
    _show_rows_by_arguing(audit)
    st.markdown("### The briefs")
    _show_counts(audit, _ARGUMENTS)
    _show_rows_with_flags(audit)
    show_captioned(captioned(audit, run.name), "brief-lengths")


def _show_counts(audit: DebateAudit, titles: Mapping[str, str]) -> None:
    """Show one line per role and one for all: how many of its briefs have each finding, each with a link to the rows."""
    widths = [0.12, 0.1, *[0.78 / len(titles)] * len(titles)]
    head = st.columns(widths, vertical_alignment="bottom")
    head[0].caption("**role**")
    head[1].caption("**briefs**")
    for place, (finding, title) in zip(head[2:], titles.items(), strict=True):
        place.caption(f"**{title}**", help=_help(finding))
    for role, counts in audit.with_total.items():
        cells = st.columns(widths, vertical_alignment="center")
        cells[0].markdown(f"**{role}**")
        cells[1].markdown(f"{counts['n']:,}")
        for cell, finding in zip(cells[2:], titles, strict=True):
            with cell:
                _show_count(role, finding, counts[finding], counts["n"] or 0)


def _help(finding: str) -> str:
    """Return the question whose yes answers the column counts, and the name of its rubric."""
    return f"{rule_named(finding).question} {_HELP.get(finding, '')} Rubric: {as_text(finding)}."


def _show_count(role: str, finding: str, n: int | None, briefs: int) -> None:
    """Show a number of briefs with its share, as a link if possible; a dash if unknown."""
    choice = filters.ANY if role == "all" else role, finding
    text = "–" if n is None else f"{n:,} ({100 * n / briefs:.0f}%)"
    if n and choice in filters.BRIEF_CHOICES.values():
        filters.show_rows_button(text, brief=filters.brief_choice(*choice))
    else:
        st.markdown(text)


def _show_rows_by_arguing(audit: DebateAudit) -> None:
    """Show the number of rows in which no advocate, one, two, … wrote more than a line, with links to these rows."""
    rows = audit.rows_by_arguing
    st.markdown(f"### Rows by how many of their advocates wrote {SHORT} characters or more")
    for advocates, (place, n) in enumerate(zip(st.columns(len(rows)), rows, strict=True)):
        name = "nobody" if advocates == 0 else f"all {advocates}" if advocates == len(rows) - 1 else f"{advocates}"
        with place:
            st.caption(f"**{name}**")
            text = f"{n:,} ({100 * n / sum(rows):.0f}%)"
            if n:
                filters.show_rows_button(text, arguing=str(advocates))
            else:
                st.markdown(text)
    total = audit.totals
    long = total["n"] - total["short"]
    if long > total["argues"]:
        st.caption(f"Of the {long:,} long briefs, {long - total['argues']:,} still begin with an answer to the question.")


def _show_rows_with_flags(audit: DebateAudit) -> None:
    """Show how many rows collapsed or used a constant, and the number of distinct verdicts."""
    counts = {
        "role_collapse": ("rows with a role that did not argue its side", f"{audit.collapsed:,} of {audit.rows:,}"),
        "de_fallback": ("unreadable verdicts on the effect", f"{audit.de_fallbacks:,}"),
        "dir_fallback": ("unreadable verdicts on the direction", f"{audit.dir_fallbacks:,}"),
    }
    numbers = [Number(title, value, FLAG_HELP[flag]) for flag, (title, value) in counts.items()]
    numbers.append(Number("distinct values of P(DE)", f"{audit.distinct_p_de:,}", "Few distinct values mean many ties."))
    places = show_numbers("flags", numbers, len(numbers))
    for place, (flag, (_, value)) in zip(places, counts.items(), strict=False):
        if not value.startswith("0"):
            with place:
                filters.show_rows_button("see the rows", flags=[FLAG_NAMES[flag]])
