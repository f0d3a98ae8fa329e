"""The simulated demo, which a new user sees first. None of it comes from real data, and no language model was asked.

One seed gives one demo. Symbols are invented and look it (Simvoka2, 0000042K07Rik); passages are SIM-000123.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.datasets import demo_debate, demo_evidence, demo_world
from core.datasets.demo_world import Rows, World
from core.types import Label, Pair, RowResult

SAMPLE = 2_400  # labelled rows that the two labelled runs are about

_LABELS = {1: Label.UP, -1: Label.DOWN, 0: Label.NONE}
_NOTE = "Simulated by rule, no language model: "
_NOTES = {
    "simulated debate": _NOTE + "both sides argue from a dossier that saw no label of the row's perturbation or gene.",
    "simulated collapsed debate": _NOTE + "the same rows, but most advocates answer the multiple-choice question.",
    "simulated debate test": _NOTE + "the rules of the simulated debate on the unlabelled rows.",
}


@dataclass(frozen=True)
class DemoRun:
    """A simulated run on rows of one split; every name starts with "simulated"."""

    name: str
    method: str
    note: str
    split: str
    rows: tuple[RowResult, ...]


@dataclass(frozen=True)
class Demo:
    """A dataset, a gene space and three debates.

    pairs: 7,700 labelled rows of split "train" and 1,800 unlabelled of "test", sharing no perturbation and no gene.
    embedding: shape (len(genes), 64), finite, for the 95% of all perturbations and genes that stand in `genes`.
    descriptions: a sentence or two for every perturbation and gene.
    """

    pairs: tuple[Pair, ...]
    genes: tuple[str, ...]
    embedding: NDArray[np.float32]
    runs: tuple[DemoRun, ...]
    descriptions: dict[str, str]


def simulate(seed: int = 0) -> Demo:
    """Return the demo of a seed, the same each time."""
    world_rng, library_rng, fold_rng, row_rng, *run_rngs = np.random.default_rng(seed).spawn(7)
    world = demo_world.build_world(world_rng)
    library = demo_evidence.build_library(world, library_rng)
    train, test = world.rows["train"], world.rows["test"]
    n = len(world.symbols)
    chosen = np.sort(fold_rng.choice(len(train.pert), SAMPLE, replace=False))
    sample = Rows(train.pert[chosen], train.gene[chosen], train.sign[chosen])
    blinded = demo_world.blinded_labels(train, chosen, n, fold_rng)
    sampled = demo_evidence.build_dossiers(library, sample, blinded, row_rng)
    unlabelled = demo_evidence.build_dossiers(library, test, demo_world.all_labels(train, n, len(test.pert)), row_rng)
    used = np.unique(np.concatenate([train.pert, train.gene, test.pert, test.gene]))
    covered = used[world.covered[used]]
    return Demo(
        pairs=(*_pairs(world, "train"), *_pairs(world, "test")),
        genes=tuple(world.symbols[i] for i in covered.tolist()),
        embedding=world.embedding[covered],
        runs=(
            _run("simulated debate", "train", demo_debate.debates(sampled, run_rngs[0])),
            _run("simulated collapsed debate", "train", demo_debate.collapsed_debates(sampled, run_rngs[1])),
            _run("simulated debate test", "test", demo_debate.debates(unlabelled, run_rngs[2])),
        ),
        descriptions={world.symbols[i]: demo_evidence.describe(library.infos[i]) for i in used.tolist()},
    )


def _run(name: str, split: str, rows: tuple[RowResult, ...]) -> DemoRun:
    return DemoRun(name, "debate", _NOTES[name], split, rows)


def _pairs(world: World, split: str) -> Iterator[Pair]:
    rows = world.rows[split]
    for p, g, sign in zip(rows.pert.tolist(), rows.gene.tolist(), rows.sign.tolist(), strict=True):
        pert, gene = world.symbols[p], world.symbols[g]
        yield Pair(f"{pert}_{gene}", pert, gene, _LABELS[sign] if split == "train" else None, split)
