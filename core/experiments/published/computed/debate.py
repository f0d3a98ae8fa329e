"""The contents of the published debate's briefs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from core.audit.debate_audit import DebateAudit, audit_debate
from core.experiments.published.sources import Computed, Sources
from core.store import findings


def compute(sources: Sources, wanted: Mapping[str, Any]) -> Computed:
    """Return one count: ROLE.FINDING (all.FINDING for the sum of the roles), arguing.N, or a field of `DebateAudit`."""
    run = sources.find("sharp").id
    audit = sources.once(("audit",), lambda: sources.read(lambda db: audit_debate(findings.debate_facts(db, run))))
    return Computed(float(_count(audit, *wanted["value"].split("."))))


def _count(audit: DebateAudit, what: str, which: str = "") -> float:
    if what == "arguing":
        return audit.rows_by_arguing[int(which)]
    if not which:
        return getattr(audit, what)  # type: ignore[no-any-return]
    counts = audit.with_total().set_index("role")[which]
    return float(counts.to_dict()[what])
