"""Did a debate happen? What a whole run's briefs and verdicts amount to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from core.stats.ranks import round_for_ranks


@dataclass(frozen=True, slots=True)
class DebateAudit:
    """A run's audit.

    roles has one row a role: role, n (briefs), median_length (characters), and how many are short, option, against and
    cites (see audit.briefs.FINDINGS). The fallbacks are rows whose judge could not be read; distinct_p_de counts
    distinct values of P(DE), rounded to 9 decimals, among `rows` rows.
    """

    roles: pd.DataFrame
    rows: int
    collapsed: int
    de_fallbacks: int
    dir_fallbacks: int
    distinct_p_de: int

    def as_json(self) -> dict[str, Any]:
        """The shape that `audit debate --json` prints."""
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
    """The audit of a run from its briefs per role (store.traces.briefs), its flags' counts and its P(DE)."""
    known = p_de[~np.isnan(p_de)]
    return DebateAudit(
        roles=briefs,
        rows=len(p_de),
        collapsed=flag_counts.get("role_collapse", 0),
        de_fallbacks=flag_counts.get("de_fallback", 0),
        dir_fallbacks=flag_counts.get("dir_fallback", 0),
        distinct_p_de=len(np.unique(round_for_ranks(known))),
    )
