"""The audit of a debate run: findings in its briefs by role, rows in which an advocate argued,
fallbacks and verdicts.

Except for the verdicts' distinct values, all are answers of `core.methods.text_rules`. Import saves
these with each brief, so the audit counts them without reading the brief again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from core.base.result import Figure, Table
from core.base.types import Flag
from core.methods.brief_checks import ALL, FINDINGS, SHORT
from core.stats.ranks import round_for_ranks
from core.store import evidence, predictions, runs, traces
from core.store.connection import Cursor

BriefCounts = Mapping[str, int | None]


@dataclass(frozen=True, slots=True)
class DebateFacts:
    """The store's facts about a run's briefs and rows.

    briefs: `store.traces.briefs`. rows_by_arguing: `store.traces.rows_by_arguing`. flags: number of
    rows by flag. p_de: of every row, NaN if missing. has_dossier: whether the run saved its
    advocates' dossiers.
    """

    briefs: pd.DataFrame
    rows_by_arguing: Mapping[int, int]
    flags: Mapping[str, int]
    p_de: NDArray[np.float64]
    has_dossier: bool


@dataclass(frozen=True, slots=True)
class DebateAudit:
    """The audit of a run.

    roles: of each role that wrote briefs n (briefs), and of each of `brief_checks.FINDINGS` the
    number of briefs whose rule of that name answers yes; None for cites without a dossier.
    rows_by_arguing: the answers of the rule `advocates_arguing`: the number of rows in which 0, 1,
    2, … advocates wrote a brief of `brief_checks.SHORT` characters or more. collapsed,
    de_fallbacks, dir_fallbacks: number of rows with yes for `role_collapse` (a role did not argue
    its side), `de_fallback` and `dir_fallback` (the verdict was unreadable). distinct_p_de:
    distinct values of P(DE), rounded as for ranks, among `rows` rows.
    """

    run: str
    roles: Mapping[str, BriefCounts]
    rows_by_arguing: tuple[int, ...]
    rows: int
    collapsed: int
    de_fallbacks: int
    dir_fallbacks: int
    distinct_p_de: int
    title = "Lengths of the briefs"

    @property
    def totals(self) -> dict[str, int]:
        """The sums over roles, without what is unknown."""
        columns = (
            ("n", *FINDINGS)
            if self.has_dossier
            else ("n", *(name for name in FINDINGS if name != "cites"))
        )
        return {
            column: sum(of_role[column] or 0 for of_role in self.roles.values())
            for column in columns
        }

    @property
    def has_dossier(self) -> bool:
        """Whether the run saved its advocates' dossiers."""
        return all(of_role["cites"] is not None for of_role in self.roles.values())

    @property
    def with_total(self) -> dict[str, BriefCounts]:
        """The counts of each role, and their sums under "all"."""
        return {**self.roles, ALL: {"cites": None, **self.totals}}

    @property
    def scope(self) -> str:
        """The briefs and rows."""
        return (
            f"{self.run}: {self.totals['n']:,} briefs over {self.rows:,} rows; all are counted, so"
            " there is no interval"
        )

    @property
    def sentence(self) -> str:
        """Whether the advocates argued."""
        total = self.totals
        briefs, answers, short = total["n"], total["answers"], total["short"]
        nobody = (
            f"in {self.rows_by_arguing[0]:,} of {sum(self.rows_by_arguing):,} rows no advocate"
            f" wrote {SHORT} characters"
        )
        if answers:
            return (
                f"{answers:,} of {briefs:,} briefs answer the multiple-choice question instead of"
                f" arguing, {total['answers_against']:,} of them against their own side; {nobody}."
            )
        if short:
            return (
                f"No brief of {briefs:,} answers the multiple-choice question, but {short:,} are"
                f" short; {nobody}."
            )
        turned = (
            f"; {total['other_side']:,} conclude for the other side" if total["other_side"] else ""
        )
        return (
            f"The advocates argued: all {briefs:,} briefs have {SHORT} characters or more, and none"
            f" answers a question{turned}."
        )

    @property
    def caveats(self) -> tuple[str, ...]:
        """What could not be checked, and the rows that count with a constant."""
        missing = {"DE": self.de_fallbacks, "DIR": self.dir_fallbacks}
        rows = ", ".join(f"{name} in {n:,} rows" for name, n in missing.items() if n)
        return (
            *(
                []
                if self.has_dossier
                else ["This run kept no dossier, so citations cannot be checked."]
            ),
            *(
                [f"Verdicts that could not be read, which count as a constant: {rows}."]
                if rows
                else []
            ),
        )

    def tables(self) -> tuple[Table, ...]:
        """Return the lengths of the briefs, the findings in them, and the counts of rows."""
        titles = {"n": "briefs", **FINDINGS}
        by_role = self.with_total.items()
        findings = [
            {"": words, **{role: of[name] for role, of in by_role}}
            for name, words in titles.items()
        ]
        arguing = {f"{n} advocates": rows for n, rows in enumerate(self.rows_by_arguing)}
        rows = {
            "rows": self.rows,
            "with a role that did not argue its side": self.collapsed,
            "DE verdict unreadable": self.de_fallbacks,
            "DIR verdict unreadable": self.dir_fallbacks,
            "distinct values of P(DE)": self.distinct_p_de,
        }
        return (
            Table("Lengths of the briefs", tuple(self._lengths())),
            Table("Findings in the briefs", tuple(findings)),
            Table(
                f"Rows by how many of their advocates wrote {SHORT} characters or more", (arguing,)
            ),
            Table("Rows", (rows,)),
        )

    def _lengths(self) -> list[dict[str, str | int]]:
        lengths: list[dict[str, str | int]] = []
        for role, of_role in self.roles.items():
            n, bare, short = (of_role[name] or 0 for name in ("n", "bare", "short"))
            lengths.append(
                {"role": role, "a letter": bare, "one line": short - bare, "a paragraph": n - short}
            )
        return lengths

    def figure(self) -> Figure | None:
        """Return the lengths of each role's briefs; None without briefs."""
        return (
            Figure(
                "core.plots.brief_lengths:figure",
                {"lengths": self._lengths()},
                self.sentence,
            )
            if self.roles
            else None
        )


def audit_debate(facts: DebateFacts, run: str) -> DebateAudit:
    """Return the audit of a run. run: its name."""
    counts = facts.briefs.reindex(columns=["role", "n", *FINDINGS], fill_value=0)
    unknown = {} if facts.has_dossier else {"cites": None}
    roles = {
        role_counts["role"]: {name: int(role_counts[name]) for name in ("n", *FINDINGS)} | unknown
        for role_counts in counts.to_dict("records")
    }
    return DebateAudit(
        run=run,
        roles=roles,
        rows_by_arguing=tuple(facts.rows_by_arguing.get(n, 0) for n in range(len(roles) + 1)),
        rows=len(facts.p_de),
        collapsed=facts.flags.get(Flag.ROLE_COLLAPSE, 0),
        de_fallbacks=facts.flags.get(Flag.DE_FALLBACK, 0),
        dir_fallbacks=facts.flags.get(Flag.DIR_FALLBACK, 0),
        distinct_p_de=len(np.unique(round_for_ranks(facts.p_de[~np.isnan(facts.p_de)]))),
    )


def debates_sentence(audits: Iterable[DebateAudit]) -> str:
    """Return a sentence on the number of debates in which most advocates argued; empty without
    debates."""
    shares = {}
    for audit in audits:
        if audit.roles and (n := sum(of_role["n"] or 0 for of_role in audit.roles.values())):
            answers = sum(of_role["answers"] or 0 for of_role in audit.roles.values())
            shares[audit.run] = answers / n
    if not shares:
        return ""
    most = max(shares, key=shares.__getitem__)
    share = f"{100 * shares[most]:.0f}%"
    if len(shares) == 1:
        return (
            f"In {most}, {share} of the briefs answer the multiple-choice question instead of"
            " arguing."
        )
    argued = sum(share < 0.5 for share in shares.values())
    return (
        f"Most briefs argue in {argued or 'none'} of {len(shares)} debates; in {most}, {share}"
        " answer the question instead."
    )


def load_audit(cursor: Cursor, run: str) -> DebateAudit:
    """Return the audit of a run (id)."""
    facts = DebateFacts(
        briefs=traces.briefs(cursor, run),
        rows_by_arguing=traces.rows_by_arguing(cursor, run),
        flags=predictions.flag_counts(cursor, run),
        p_de=predictions.p_de_of(cursor, run),
        has_dossier=evidence.has_evidence(cursor, run),
    )
    return audit_debate(facts, runs.find(cursor, run).name)
