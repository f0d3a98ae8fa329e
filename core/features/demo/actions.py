"""The simulated workspace that a new user sees first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.base.hashes import sha256_of
from core.base.types import Label, Pair, RowResult
from core.embeddings.space import make_space
from core.features.demo.debate import Library, debate
from core.features.demo.world import World, blinded_views, build_world, count_labels
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
            write_run(
                db,
                batch,
                id=sha256_of(f"{key} {run.name}")[:10],
                dataset=key[:8],
                name=run.name,
                method="debate",
                origin="simulated",
                spec={"method": "debate", "simulated": True, "split": run.split},
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


SAMPLE = 1_200  # labelled rows that the labelled runs are about
_RULE = "Simulated by rule, no language model: "
_LABELS = {1: Label.UP, -1: Label.DOWN, 0: Label.NONE}


class DemoRun(NamedTuple):
    """A simulated debate on rows of one split; every name starts with "simulated"."""

    name: str
    note: str
    split: str
    rows: tuple[RowResult, ...]


class Demo(NamedTuple):
    """A dataset, a gene space and three runs.

    pairs: 7,700 labelled rows of split "train" and 600 unlabelled of "test", sharing no symbol.
    embedding: shape (len(genes), 64), for the 95% of all symbols in `genes`. descriptions: a
    sentence or two for every symbol.
    """

    pairs: tuple[Pair, ...]
    genes: tuple[str, ...]
    embedding: NDArray[np.float32]
    runs: tuple[DemoRun, ...]
    descriptions: dict[str, str]


def simulate(seed: int = 0) -> Demo:
    """Return the demo of a seed, the same each time."""
    world_rng, library_rng, fold_rng = np.random.default_rng(seed).spawn(3)
    world = build_world(world_rng)
    library = Library(world, library_rng)
    (train, test), n = world.rows.values(), len(world.symbols)
    chosen = np.sort(fold_rng.choice(len(train.pert), SAMPLE, replace=False))
    views = blinded_views(train, chosen, n, fold_rng)
    all_labels = [count_labels("train", train, n)] * len(test.pert)
    sampled, unseen = (
        [
            library.dossier(*row)
            for row in zip(rows.pert.tolist(), rows.gene.tolist(), of_rows, strict=True)
        ]
        for rows, of_rows in ((train.take(chosen), views), (test, all_labels))
    )
    used = np.unique(np.concatenate([train.pert, train.gene, test.pert, test.gene]))
    covered = used[world.covered[used]]
    runs = (
        DemoRun(
            "simulated debate",
            f"{_RULE}both sides argue from a dossier that saw no label of the row's symbols.",
            "train",
            tuple(map(debate, sampled)),
        ),
        DemoRun(
            "simulated collapsed debate",
            f"{_RULE}the same rows; most advocates name an option instead.",
            "train",
            tuple(debate(dossier, collapsed=True) for dossier in sampled),
        ),
        DemoRun(
            "simulated debate test",
            f"{_RULE}the rules of the simulated debate on the unlabelled rows.",
            "test",
            tuple(map(debate, unseen)),
        ),
    )
    return Demo(
        tuple(_pairs(world)),
        tuple(world.symbols[i] for i in covered.tolist()),
        world.embedding[covered],
        runs,
        {world.symbols[i]: library.describe(i) for i in used.tolist()},
    )


def _pairs(world: World) -> Iterator[Pair]:
    for split, rows in world.rows.items():
        for p, g, sign in np.column_stack(rows).tolist():
            pert, gene = world.symbols[p], world.symbols[g]
            yield Pair(
                f"{pert}_{gene}", pert, gene, _LABELS[sign] if split == "train" else None, split
            )
