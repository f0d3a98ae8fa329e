"""A small screen of two lines with a network and descriptions."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd

from core.base.types import Label, Pair
from core.evidence.packs import Packs, Source
from core.features.importing.actions import import_upload
from core.features.perturbqa.baselines.material import (
    AttentionGrid,
    Material,
    make_material,
    read_gene_knowledge,
)
from core.runs.workspace import Workspace
from core.store import changes, datasets, pairs
from core.store.datasets import Dataset
from core.transfer.row_index import RowIndex

N_PERTS, N_TEST, N_GENES = 24, 6, 10
PERTS = [f"PERT{i}" for i in range(N_PERTS)]
GENES = [f"GENE{i}" for i in range(N_GENES)]


def screen(seed: int = 0) -> pd.DataFrame:
    """Every perturbation with every gene: pair_id, pert, gene, label, split; the last N_TEST perturbations are the test split.

    Perturbations of the same parity change the same genes, so that what is known of one says something of the others.
    """
    rng = np.random.default_rng(seed)
    rows = []
    for p, pert in enumerate(PERTS):
        for g, gene in enumerate(GENES):
            changed = rng.random() < (0.8 if (p + g) % 2 == 0 else 0.2)
            label = (
                rng.choice(["up", "down"], p=[0.8, 0.2] if g % 2 else [0.2, 0.8])
                if changed
                else "none"
            )
            rows.append(
                (
                    f"{pert}_{gene}",
                    pert,
                    gene,
                    str(label),
                    "train" if p < N_PERTS - N_TEST else "test",
                )
            )
    return pd.DataFrame(rows, columns=["pair_id", "pert", "gene", "label", "split"])


def packs() -> Packs:
    """Perturbations of the same parity are joined, and share words; PERT23 is known under its mouse name, PERT22 is not known."""
    mouse = {**{pert: pert.capitalize() for pert in PERTS}, "PERT23": "Mouse23"}
    known = [pert for pert in PERTS if pert != "PERT22"]
    joined = [
        (a, b)
        for i, a in enumerate(known)
        for b in known[i + 1 :]
        if PERTS.index(a) % 2 == PERTS.index(b) % 2
    ]
    edges = [(mouse[a], mouse[b], 950) for a, b in joined] + [
        ("Pert20", "Gene0", 950),
        ("Pert21", "Gene1", 800),
    ]
    words = {
        mouse[pert]: f"factor of {'odd' if PERTS.index(pert) % 2 else 'even'} pathway kinase"
        for pert in known
    }
    sources = {
        name: Source(f"{name}.json", "0" * 64) for name in ("descriptions", "orthologs", "edges")
    }
    return Packs(descriptions=words, orthologs={"Mouse23": "PERT23"}, edges=edges, sources=sources)  # type: ignore[arg-type]


def material(
    frame: pd.DataFrame, knowledge: Packs, attention: AttentionGrid | None = None
) -> Material:
    """The test split of a screen, to be predicted from its training split."""
    index = RowIndex.of_frame(frame)
    genes = read_gene_knowledge(knowledge, index.symbols)
    return make_material(index, frame["split"].to_numpy(dtype=object), "test", genes, attention)


def fill(workspace: Workspace) -> None:
    """Make the datasets k562 and hepg2, which differ in the noise of their labels, and import the packs."""
    found = packs()
    contents = {
        "gene_desc.json": found.descriptions,
        "mouse_to_human_ortholog.json": found.orthologs,
        "string_edges.json": [list(edge) for edge in found.edges],
    }
    for name, content in contents.items():
        assert import_upload(workspace, json.dumps(content).encode(), name).kind != "failed"
    for name, seed in (("k562", 0), ("hepg2", 1)):
        rows = [
            Pair(row.pair_id, row.pert, row.gene, Label(row.label), row.split)
            for row in screen(seed).itertuples(index=False)
        ]
        with workspace.change("import", name) as (db, _):
            datasets.add(db, Dataset(f"id-{name}", name, "human", "", "imported"))
            pairs.add(db, f"id-{name}", rows, "")
            changes.bump(db, "datasets")
