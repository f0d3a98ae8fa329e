"""The audit of a debate run: the findings in its briefs by role, its fallbacks, and the variety of its verdicts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from core.stats.ranks import round_for_ranks


@dataclass(frozen=True, slots=True)
class DebateAudit:
    """The audit of a run.

    roles: one row for each role; columns: role, n (briefs), median_length (characters), and the numbers of briefs with the
    findings short, option, against and cites (see audit.brief_checks.FINDINGS). collapsed: rows with a collapsed role.
    de_fallbacks, dir_fallbacks: rows whose verdict could not be read. distinct_p_de: distinct values of P(DE), rounded to
    14 decimals, among `rows` rows.
    """

    roles: pd.DataFrame
    rows: int
    collapsed: int
    de_fallbacks: int
    dir_fallbacks: int
    distinct_p_de: int

    def as_json(self) -> dict[str, Any]:
        """The values that `audit debate --json` prints."""
        counts = self.roles.set_index("role")[["n", "short", "option", "against", "cites"]].astype(int)
        return {
            "roles": counts.to_dict("index"),
            "rows": self.rows,
            "collapsed": self.collapsed,
            "de_fallbacks": self.de_fallbacks,
            "dir_fallbacks": self.dir_fallbacks,
            "distinct_p_de": self.distinct_p_de,
        }


def audit_debate(briefs: pd.DataFrame, flag_counts: dict[str, int], p_de: NDArray[np.float64]) -> DebateAudit:
    """The audit of a run; briefs: its briefs by role (store.traces.briefs); p_de: of its rows, NaN if missing."""
    known = p_de[~np.isnan(p_de)]
    return DebateAudit(
        roles=briefs,
        rows=len(p_de),
        collapsed=flag_counts.get("role_collapse", 0),
        de_fallbacks=flag_counts.get("de_fallback", 0),
        dir_fallbacks=flag_counts.get("dir_fallback", 0),
        distinct_p_de=len(np.unique(round_for_ranks(known))),
    )
