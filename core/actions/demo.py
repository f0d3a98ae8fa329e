"""The simulated workspace that a new user sees first."""

from __future__ import annotations

import hashlib

from core.actions import record, spaces
from core.actions.desk import Desk
from core.datasets.demo import simulate
from core.embeddings import make_space
from core.store import datasets, imports, pairs, runs, versions
from core.store.datasets import DEMO, Dataset
from core.store.imports import Import
from core.store.runs import Run

SEED = 0


def make_demo(desk: Desk, seed: int = SEED) -> list[Run]:
    """Make the simulated dataset with its runs and embedding; the existing runs when it is there already."""
    with desk.store.read() as db:
        there = next((d for d in datasets.all_of_them(db) if d.origin == "simulated"), None)
        if there is not None:
            return runs.all_of_them(db, there.id)
    desk.refuse_if_read_only("demo", DEMO)
    demo = simulate(seed)
    space = make_space("simulated", demo.genes, demo.embedding, "simulated by rules; no finding")
    batches = [record.audited(run.rows) for run in demo.runs]
    with desk.change("demo", DEMO) as (db, detail):
        key = hashlib.sha256(f"{DEMO} {seed}".encode()).hexdigest()
        datasets.add(db, Dataset(key[:8], DEMO, "ternary", "none", "simulated by rules; no finding", "simulated"))
        pairs.add(db, key[:8], demo.pairs, key[:12])
        symbols = [symbol for pair in demo.pairs for symbol in (pair.pert, pair.gene)]
        pairs.add_genes(db, symbols, demo.descriptions)
        entry = Import(key[:12], key, f"demo, seed {seed}", "demo", key[:8], None, len(demo.pairs), 0, desk.settings.author)
        imports.add(db, entry, ())
        for run, batch in zip(demo.runs, batches, strict=True):
            spec = {"method": run.method, "simulated": True, "seed": seed, "split": run.split}
            run_key = hashlib.sha256(f"{key} {run.name}".encode()).hexdigest()[:10]
            record.write(db, record.Origin(run_key, key[:8], run.name, run.method, "simulated", spec, note=run.note), batch)
        spaces.record_space(db, desk, space, "simulated", {"seed": seed}, key[:12])
        versions.bump(db, "datasets")
        detail |= {"seed": seed, "rows": len(demo.pairs), "runs": [run.name for run in demo.runs]}
        return runs.all_of_them(db, key[:8])
