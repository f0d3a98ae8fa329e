"""The JSON of `audit leakage`: plain numbers, their intervals, and what each check found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from core.audit.label_statements import TextCheck
from core.audit.shared_symbols import SplitOverlap
from core.scoring.json_shapes import shape_shown
from core.scoring.leak_power import LeakPower
from core.scoring.leakage import NOT_PROBED, LeakageAudit
from core.scoring.run_leaks import RunCheck
from core.scoring.space_leaks import TASKS, ProbedRows, SpaceCheck
from core.stats.delong import Estimate
from core.store.runs import Run


def leakage(audit: LeakageAudit, power: Sequence[LeakPower]) -> dict[str, Any]:
    """Return all parts of the audit; power: how weak a leak of a space is still found."""
    counts = audit.counts
    values: dict[str, Estimate] = {
        "count_only_de": counts.count_only_de,
        "count_only_de_without_singletons": counts.count_only_de_without_singletons,
        "rarer_up_dir": counts.rarer_up_dir,
    }
    return {
        **{name: value.value for name, value in values.items()},
        "shared_perts": audit.shared_perts,
        "shared_genes": audit.shared_genes,
        "singletons": counts.singletons,
        "singletons_none": counts.singletons_none,
        "intervals": {name: shape_shown(value) for name, value in values.items()},
        "splits": [_overlap(pair) for pair in audit.splits],
        "texts": [_text_json(text) for text in audit.texts],
        "spaces": [_probed_space(space) for space in audit.spaces],
        "runs": [_probed_run(run, check) for run, check in audit.runs],
        "findings": [{"kind": found.kind, "name": found.name, "what": found.what} for found in audit.findings],
        "power": [{**asdict(line), "what": line.describe()} for line in power],
        "not_probed": NOT_PROBED,
        "notes": list(audit.notes),
    }


def _overlap(pair: SplitOverlap) -> dict[str, Any]:
    roles = {"pert": pair.perts, "gene": pair.genes}
    return {
        "a": pair.a,
        "b": pair.b,
        "shared_perts": len(pair.perts),
        "shared_genes": len(pair.genes),
        "paralogs": [{"role": role, **asdict(group)} for role, symbols in roles.items() for group in symbols.paralogs],
    }


def _text_json(text: TextCheck) -> dict[str, Any]:
    return {**asdict(text), "findings": list(text.findings), "error": text.error or None}


def _probed_space(space: SpaceCheck) -> dict[str, Any]:
    cosines = {task.lower(): probe.within.cosine if (probe := space.probe_of("gene", task)) else None for task in TASKS}
    return {
        "name": space.name,
        "built_from": space.built_from,
        **cosines,
        "probes": [_probe(probe) for probe in space.probes],
        "twins": [list(pair) for pair in space.twins],
        "ties": space.ties,
        "error": space.error or None,
    }


def _probe(probe: ProbedRows) -> dict[str, Any]:
    return {
        "axis": probe.axis,
        "task": probe.task,
        "rows": probe.split,
        "shares": asdict(probe.shares),
        "within": [{**asdict(score), "value": score.value} for score in probe.within.scores],
        "has_seen_labels": probe.has_seen_labels,
    }


def _probed_run(run: Run, check: RunCheck) -> dict[str, Any]:
    return {"name": run.name, "probes": {name.lower(): asdict(probe) for name, probe in check.probes.items()}}
