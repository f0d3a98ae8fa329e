"""Scores of runs that the store keeps: computed when a run ends or is imported, so that nobody
waits for them.

A score is kept on a basis: the rows of the run, the labels of its dataset, and the code that
scores. On another basis it counts as not kept.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path

from core.base.hashes import sha256_of
from core.base.records import parse
from core.scoring.debate_audit import DebateAudit, load_audit
from core.scoring.run_scores import CONTROLS, load_scored_rows
from core.scoring.standing import Standing, standing_of
from core.store import Store, changes, datasets, kept_results, predictions, runs
from core.store.connection import Cursor

_NAME = "score"
_CODE = ("stats", "transfer", "scoring")  # the folders of core/ that decide a score


@dataclass(frozen=True, slots=True, eq=False)
class KeptScore:
    """What is kept of a run. debate: the audit of its briefs, if it has any. flags: numbers of rows
    by flag."""

    standing: Standing
    debate: DebateAudit
    flags: Mapping[str, int]


def compute_score(store: Store, run: str) -> KeptScore:
    """Compute what is kept of a run (id)."""
    with store.read() as db:
        rows, audit = load_scored_rows(db, run), load_audit(db, run)
        flags = predictions.flag_counts(db, run)
    # a million texts of pairs take 100 MB, and none of them is needed
    rows = replace(rows, frame=rows.frame[[*CONTROLS]])
    return KeptScore(standing_of(rows), audit, flags)


def find_kept(db: Cursor, dataset: str) -> dict[str, KeptScore]:
    """Return what is kept on the present basis of the runs of a dataset (id), by run."""
    kept = kept_results.find(db, _NAME, _bases(db, dataset))
    return {
        run: parse(KeptScore, record, f"the kept score of run {run}")
        for run, record in kept.items()
    }


def missing_scores(store: Store) -> tuple[str, list[tuple[str, str, str]]]:
    """Compute the scores of all finished runs that are not kept; return them as the hook
    `kept_results` does."""
    missing: dict[str, str] = {}
    with store.read() as db:
        for dataset in datasets.list_all(db):
            bases = _bases(db, dataset.id)
            kept = kept_results.find(db, _NAME, bases)
            missing |= {
                run.id: bases[run.id]
                for run in runs.list_predicting(db, dataset.id)
                if run.status == "done" and not run.is_asked and run.id not in kept
            }
    return _NAME, [
        (run, basis, json.dumps(asdict(compute_score(store, run))))
        for run, basis in missing.items()
    ]


def _bases(db: Cursor, dataset: str) -> Mapping[str, str]:
    """Return what the scores of a dataset's runs follow from now, by run."""
    counters, labels = changes.versions(db), kept_results.labels_basis(db, dataset)
    return {
        run.id: sha256_of(f"{_code_hash()} {labels} {counters.get(f'run:{run.id}', 0)}")
        for run in runs.list_predicting(db, dataset)
    }


@cache
def _code_hash() -> str:
    """Return the SHA-256 of the files that decide a score."""
    core = Path(__file__).parent.parent
    files = (file for folder in _CODE for file in sorted((core / folder).glob("*.py")))
    return sha256_of(b"".join(file.read_bytes() for file in files))
