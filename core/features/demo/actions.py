"""The simulated workspace that a new user sees first."""

from __future__ import annotations

from dataclasses import replace

from core.base.hashes import sha256_of
from core.embeddings.space import make_space
from core.features.demo.files import simulate
from core.features.importing.spaces import space_files
from core.methods.fusion_settings import FusionSettings
from core.runs import component_loader, launch
from core.runs.audited_rows import audit_rows, write_run
from core.runs.workspace import Workspace
from core.store import changes, datasets, imports, pairs, runs
from core.store.datasets import DEMO, Dataset
from core.store.imports import Import
from core.store.runs import Run
from core.transfer.knn_settings import KnnSettings
from core.transfer.protocols import EvaluationProtocol


def make_demo(workspace: Workspace) -> list[Run]:
    """Make the simulated dataset with its runs and embedding; return its runs, which may be there
    already."""
    with workspace.store.read() as db:
        for existing in datasets.list_all(db):
            if existing.origin == "simulated":
                return runs.list_all(db, existing.id)
    workspace.refuse_if_read_only("demo", DEMO)
    demo = simulate()
    space = make_space("simulated", demo.genes, demo.embedding, "simulated by rules; no finding")
    key = sha256_of(DEMO)
    dataset = Dataset(key[:8], DEMO, "none", "simulated by rules; no finding", "simulated")
    batches = [audit_rows(run.rows) for run in demo.runs]
    with workspace.change("demo", DEMO) as (db, detail):
        datasets.add(db, dataset)
        pairs.add(db, key[:8], demo.pairs, key[:12])
        symbols = [symbol for pair in demo.pairs for symbol in (pair.pert, pair.gene)]
        pairs.add_genes(db, symbols, demo.descriptions)
        author = workspace.settings.author
        imports.add(
            db, Import(key[:12], key, DEMO, "demo", key[:8], None, len(demo.pairs), 0, author), ()
        )
        for run, batch in zip(demo.runs, batches, strict=True):
            spec = {"method": run.method, "simulated": True, "split": run.split}
            write_run(
                db,
                batch,
                id=sha256_of(f"{key} {run.name}")[:10],
                dataset=key[:8],
                name=run.name,
                method=run.method,
                origin="simulated",
                spec=spec,
                note=run.note,
            )
        space_files.record_space(db, workspace.settings, space, "simulated", {}, key[:12])
        changes.bump(db, "datasets")
        detail |= {"rows": len(demo.pairs), "runs": [run.name for run in demo.runs]}
        debate = runs.find(db, demo.runs[0].name)
    neighbours = KnnSettings((space.name,), EvaluationProtocol("folds"))
    rows = tuple(row.prediction.pair_id for row in demo.runs[0].rows)
    request = replace(component_loader.knn_request(dataset, neighbours, "simulated kNN"), rows=rows)
    fusion = FusionSettings(base=debate.id, others=(launch.start(workspace, request).id,))
    launch.start(workspace, component_loader.fusion_request(DEMO, fusion, "simulated fusion"))
    with workspace.store.read() as db:
        return runs.list_all(db, key[:8])
