"""The audit of a debate run: findings in its briefs by role, rows in which an advocate argued, fallbacks and verdicts.

Except for the verdicts' distinct values, all are answers to rubrics of `core.audit.rules`. Import saves the rules' answers with
each brief, so the audit counts them without reading the brief again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from core.audit.brief_checks import FINDINGS, SHORT
from core.stats.ranks import round_for_ranks
from core.types import Flag


@dataclass(frozen=True, slots=True)
class DebateFacts:
    """The store's facts about a run's briefs and rows.

    briefs: `store.traces.briefs`. rows_by_arguing: `store.traces.rows_by_arguing`. flags: number of rows by flag. p_de: of
    every row, NaN if missing. has_dossier: whether the run saved its advocates' dossiers.
    """

    briefs: pd.DataFrame
    rows_by_arguing: Mapping[int, int]
    flags: Mapping[str, int]
    p_de: NDArray[np.float64]
    has_dossier: bool


@dataclass(frozen=True, slots=True)
class DebateAudit:
    """The audit of a run.

    roles: one row per role that wrote briefs; columns: role, n (briefs), and for each of `brief_checks.FINDINGS` the number of
    briefs whose rule of that name answers yes; NaN for cites unless has_dossier. rows_by_arguing: the answers of the rule
    `advocates_arguing`: the number of rows in which 0, 1, 2, … advocates wrote a brief of `brief_checks.SHORT` characters or
    more. collapsed, de_fallbacks, dir_fallbacks: number of rows with yes for `role_collapse` (a role did not argue its side),
    `de_fallback` and `dir_fallback` (the verdict was unreadable). distinct_p_de: distinct values of P(DE), rounded as for
    ranks, among `rows` rows.
    """

    roles: pd.DataFrame
    has_dossier: bool
    rows_by_arguing: list[int]
    rows: int
    collapsed: int
    de_fallbacks: int
    dir_fallbacks: int
    distinct_p_de: int

    @property
    def totals(self) -> dict[str, Any]:
        """The sums over roles of all columns of `roles` except the first."""
        return {column: self.roles[column].sum(min_count=1) for column in ("n", *FINDINGS)}

    def with_total(self) -> pd.DataFrame:
        """Return the rows of `roles`, followed by their sums as a role named "all"."""
        return pd.concat([self.roles, pd.DataFrame([{"role": "all", **self.totals}])], ignore_index=True)

    def summarize(self) -> str:
        """Return a sentence on whether the advocates argued."""
        total = self.totals
        briefs, answers, short = total["n"], total["answers"], total["short"]
        nobody = f"in {self.rows_by_arguing[0]:,} of {sum(self.rows_by_arguing):,} rows no advocate wrote {SHORT} characters"
        if answers:
            return (
                f"{answers:,} of {briefs:,} briefs ({100 * answers / briefs:.0f}%) answer the multiple-choice question instead "
                f"of arguing, {total['answers_against']:,} of them against their own side; {nobody}."
            )
        if short:
            return f"No brief of {briefs:,} answers the multiple-choice question, but {short:,} are short; {nobody}."
        turned = f"; {total['other_side']:,} conclude for the other side" if total["other_side"] else ""
        return (
            f"The advocates argued: all {briefs:,} briefs have {SHORT} characters or more, and none answers a question{turned}."
        )

    def as_json(self) -> dict[str, Any]:
        """Return the values that `audit debate --json` prints."""
        counts = self.roles.set_index("role")[["n", *FINDINGS]].to_dict("index")
        return {
            "roles": {str(role): {key: None if n != n else int(n) for key, n in of.items()} for role, of in counts.items()},
            "rows_by_arguing": self.rows_by_arguing,
            "rows": self.rows,
            "collapsed": self.collapsed,
            "de_fallbacks": self.de_fallbacks,
            "dir_fallbacks": self.dir_fallbacks,
            "distinct_p_de": self.distinct_p_de,
        }


def audit_debate(facts: DebateFacts) -> DebateAudit:
    """Return the audit of a run."""
    roles = facts.briefs.reindex(columns=["role", "n", *FINDINGS], fill_value=0)
    if not facts.has_dossier:
        roles["cites"] = np.nan
    return DebateAudit(
        roles=roles,
        has_dossier=facts.has_dossier,
        rows_by_arguing=[facts.rows_by_arguing.get(n, 0) for n in range(len(roles) + 1)],
        rows=len(facts.p_de),
        collapsed=facts.flags.get(Flag.ROLE_COLLAPSE, 0),
        de_fallbacks=facts.flags.get(Flag.DE_FALLBACK, 0),
        dir_fallbacks=facts.flags.get(Flag.DIR_FALLBACK, 0),
        distinct_p_de=len(np.unique(round_for_ranks(facts.p_de[~np.isnan(facts.p_de)]))),
    )


def debates_sentence(audits: Mapping[str, DebateAudit]) -> str:
    """Return a sentence on the number of debates in which most advocates argued; empty without debates. audits: by run name."""
    shares = {run: each.totals["answers"] / each.totals["n"] for run, each in audits.items() if each.totals["n"]}
    if not shares:
        return ""
    most = max(shares, key=lambda run: shares[run])
    share = f"{100 * shares[most]:.0f}%"
    if len(shares) == 1:
        return f"In {most}, {share} of the briefs answer the multiple-choice question instead of arguing."
    argued = sum(share < 0.5 for share in shares.values())
    return f"Most briefs argue in {argued or 'none'} of {len(shares)} debates; in {most}, {share} answer the question instead."
