"""The simulated workspace that a new user sees first."""

from __future__ import annotations

from dataclasses import replace

from core.actions import derived_runs, launch
from core.actions.workspace import Workspace
from core.datasets.demo import simulate
from core.embeddings import make_space
from core.hashes import sha256_of
from core.importing import run_writer, space_files
from core.importing.audited_rows import audit_rows
from core.methods.fusion_settings import FusionSettings
from core.store import changes, datasets, imports, pairs, runs
from core.store.datasets import DEMO, Dataset
from core.store.imports import Import
from core.store.runs import Run
from core.transfer.knn_settings import KnnSettings
from core.transfer.protocols import EvaluationProtocol

SEED = 0


def make_demo(workspace: Workspace, seed: int = SEED) -> list[Run]:
    """Make the simulated dataset with its runs and embedding; return its runs, which may be there already."""
    with workspace.store.read() as db:
        existing = next((d for d in datasets.list_all(db) if d.origin == "simulated"), None)
        if existing is not None:
            return runs.list_all(db, existing.id)
    workspace.refuse_if_read_only("demo", DEMO)
    demo = simulate(seed)
    space = make_space("simulated", demo.genes, demo.embedding, "simulated by rules; no finding")
    key = sha256_of(f"{DEMO} {seed}")
    dataset = Dataset(key[:8], DEMO, "none", "simulated by rules; no finding", "simulated")
    batches = [audit_rows(run.rows) for run in demo.runs]
    with workspace.change("demo", DEMO) as (db, detail):
        datasets.add(db, dataset)
        pairs.add(db, key[:8], demo.pairs, key[:12])
        symbols = [symbol for pair in demo.pairs for symbol in (pair.pert, pair.gene)]
        pairs.add_genes(db, symbols, demo.descriptions)
        entry = Import(key[:12], key, f"demo, seed {seed}", "demo", key[:8], None, len(demo.pairs), 0, workspace.settings.author)
        imports.add(db, entry, ())
        for run, batch in zip(demo.runs, batches, strict=True):
            spec = {"method": run.method, "simulated": True, "seed": seed, "split": run.split}
            run_key = sha256_of(f"{key} {run.name}")[:10]
            run_writer.write_run(
                db, run_writer.RunMetadata(run_key, key[:8], run.name, run.method, "simulated", spec, note=run.note), batch
            )
        space_files.record_space(db, workspace.settings, space, "simulated", {"seed": seed}, key[:12])
        changes.bump(db, "datasets")
        detail |= {"seed": seed, "rows": len(demo.pairs), "runs": [run.name for run in demo.runs]}
        debate = runs.find(db, demo.runs[0].name)
    neighbours = KnnSettings((space.name,), EvaluationProtocol("folds"))
    rows = tuple(row.prediction.pair_id for row in demo.runs[0].rows)
    request = replace(derived_runs.knn_request(dataset, neighbours, "simulated kNN"), rows=rows)
    knn = launch.start(workspace, request)
    fusion = FusionSettings(base=debate.id, others=(knn.id,))
    launch.start(workspace, derived_runs.fusion_request(DEMO, fusion, "simulated fusion"))
    with workspace.store.read() as db:
        return runs.list_all(db, key[:8])
