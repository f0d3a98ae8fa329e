"""kNN priors: ours, on distinct genes, against every row times every row, on a table as large as train.

The reference is the oracle of the tests, which follows the definition row by row; beside it stands a lean one, as somebody
writes it who minds the time but still works with rows. All read the same random spaces, which cover four genes in five,
under leave-one-out with disjoint masking, on one thread each, so that what else the machine does counts for little.

Also ten cuts of the folds with their scores, and the null of permuted vectors: each cut against the same by rows, whose
cells scikit-learn scores one by one.
"""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from bench.measure import alone, median_s
from core.stats.arrays import Bools, Codes, Floats
from core.transfer.cut_priors import SEEDS
from core.transfer.knn import Priors, Similarities, Weighting, knn_priors
from core.transfer.permutation_null import permutation_null
from core.transfer.protocols import (
    EvaluationProtocol,
    KnnInputs,
    SimilaritySettings,
    cells_of,
    parts_of,
)
from core.transfer.row_index import DIRECTED, EFFECT, UP, Knowledge, knowledge_of, rows_of
from core.transfer.run_cells import cut_values
from core.transfer.similarity import Space, cosine_similarity
from tests.stats.oracles import pairs_won
from tests.transfer.oracles import World, oracle

N_ROWS, N_PERTS, N_GENES, COLUMNS, COVERAGE, SEED = 7705, 386, 1570, (768, 512), 0.8, 7
GROWTH = (10**4, 10**5, 10**6, 10**7)
REPEATS = 5
PERMUTATIONS, PLAIN_SEED = 9, 3


def run() -> dict[str, Any]:
    """Seconds (medians), peak memory of a process each, the largest difference, and time a row as rows grow."""
    (ours, ours_s), _, ours_mb = alone(our_priors)
    (theirs, reference_s), _, reference_mb = alone(oracle_priors)
    (lean, lean_s), _, lean_mb = alone(lean_priors)
    _, _, empty_mb = alone(make_table)
    (cuts, cuts_s, null_s), _, cuts_mb = alone(our_cuts)
    (plain, plain_s), _, _ = alone(plain_cut)
    growth = {n: alone(seconds_for, n)[0] for n in GROWTH}
    return {
        "name": "knn",
        "rows": N_ROWS,
        "ours_s": ours_s,
        "reference_s": reference_s,
        "ratio": reference_s / ours_s,
        "lean_s": lean_s,
        "ratio_lean": lean_s / ours_s,
        "max_abs_diff": float(max(np.nanmax(np.abs(ours - other)) for other in (theirs, lean))),
        "same_coverage": all(
            bool((np.isnan(ours) == np.isnan(other)).all()) for other in (theirs, lean)
        ),
        "peak_mb_ours": ours_mb,
        "peak_mb_reference": reference_mb,
        "peak_mb_lean": lean_mb,
        "peak_mb_before": empty_mb,
        "cuts_s": cuts_s,
        "cut_reference_s": plain_s,
        "ratio_cuts": plain_s * len(SEEDS) / cuts_s,
        "permuted_cut_s": null_s,
        "ratio_permuted": plain_s / null_s,
        "max_abs_diff_cuts": float(np.abs(cuts[PLAIN_SEED] - plain).max()),
        "peak_mb_cuts": cuts_mb,
        "us_per_row": {n: 1e6 * seconds / n for n, seconds in growth.items()},
    }


def make_table(
    n_rows: int = N_ROWS,
    n_perts: int = N_PERTS,
    n_genes: int = N_GENES,
    columns: tuple[int, ...] = COLUMNS,
) -> tuple[Knowledge, list[Space]]:
    """Random labelled rows, as many of each label as in the challenge, and random spaces over their genes."""
    rng = np.random.default_rng(SEED)
    rows = rows_of(rng.integers(0, n_perts, n_rows), rng.integers(0, n_genes, n_rows))
    labels = np.array(["up", "down", "none"], dtype=object)[
        rng.choice(3, n_rows, p=[0.306, 0.141, 0.553])
    ]
    spaces = [Space(f"{n} columns", rng.normal(size=(n_genes, n))) for n in columns]
    for space in spaces:
        space.columns[rng.random(n_genes) >= COVERAGE] = np.nan
    return knowledge_of(labels, rows), spaces


def our_priors() -> tuple[Floats, float]:
    """prior_de and prior_up, of shape (2, n_rows), and the seconds for them, from vectors to priors."""
    known, spaces = make_table()

    def work() -> Priors:
        parts = parts_of(EvaluationProtocol("loo"), known.rows)
        return knn_priors(
            known.rows, known, Similarities(cosine_similarity(spaces)), Weighting(), parts
        )

    with threadpool_limits(1):
        found = work()
        return np.stack((found.de, found.up)), median_s(work, REPEATS)


def oracle_priors() -> tuple[Floats, float]:
    """The same by the oracle of the tests; once."""
    known, spaces = make_table()
    world = World(
        known.rows,
        labels_of(known),
        tuple(spaces),
        parts_of(EvaluationProtocol("loo"), known.rows),
        Weighting(),
    )
    with threadpool_limits(1):
        start = time.perf_counter()
        de, up, _ = oracle(world)
        return np.stack((de, up)), time.perf_counter() - start


def lean_priors() -> tuple[Floats, float]:
    """The same by `by_definition`."""
    known, spaces = make_table()
    found = []
    with threadpool_limits(1):
        seconds = median_s(lambda: found.append(by_definition(known, spaces)), 1)
    return found[-1], seconds


def our_cuts() -> tuple[Floats, float, float]:
    """DE and DIR of ten cuts, of shape (10, 2), from vectors on; the seconds for them, and for each cut of a permuted space."""
    known, spaces = make_table()
    inputs, labels = (
        KnnInputs(known.rows, known, tuple(spaces), SimilaritySettings()),
        labels_of(known),
    )
    with threadpool_limits(1):
        values = cut_values(inputs, labels)
        seconds = median_s(lambda: cut_values(inputs, labels), REPEATS)
        start = time.perf_counter()
        permutation_null(inputs, labels, n=PERMUTATIONS)
        return values, seconds, (time.perf_counter() - start) / (PERMUTATIONS * len(SEEDS))


def plain_cut() -> tuple[Floats, float]:
    """DE and DIR of one cut by rows, of shape (2,), and the seconds for it; once."""
    known, spaces = make_table()
    protocol = EvaluationProtocol(seed=PLAIN_SEED)
    parts = parts_of(protocol, known.rows)
    cells = cells_of(protocol, known.rows, parts)
    with threadpool_limits(1):
        start = time.perf_counter()
        apart = (parts.pert[known.rows.pert][:, None] != parts.pert[known.rows.pert]) & (
            parts.gene[known.rows.gene][:, None] != parts.gene[known.rows.gene]
        )
        own, rates = by_definition(known, spaces, apart), base_rates(known, apart)
        de, up = np.where(np.isnan(own), rates, own)
        effect, directed, upward = (known.flags[:, column] for column in (EFFECT, DIRECTED, UP))
        values = np.array(
            [
                auroc_in_cells(effect, de, cells),
                auroc_in_cells(upward[directed], up[directed], cells[directed]),
            ]
        )
        return values, time.perf_counter() - start


def base_rates(known: Knowledge, visible: Bools) -> Floats:
    """The rates of an effect and of up among the rows that each row may see, of shape (2, n_rows)."""
    labelled, effect, directed, up = (visible.astype(float) @ known.flags.astype(float)).T
    return np.stack((effect / labelled, up / directed))


def auroc_in_cells(positive: Bools, values: Floats, cells: Codes) -> float:
    """The AUROC of pairs inside cells, by scikit-learn cell by cell."""
    won, pairs = pairs_won(positive, np.round(values, 14), cells)
    return won / pairs


def labels_of(known: Knowledge) -> Any:
    """up, down or none, of shape (n_rows,)."""
    return np.where(known.flags[:, UP], "up", np.where(known.flags[:, EFFECT], "down", "none"))


def by_definition(known: Knowledge, spaces: list[Space], visible: Bools | None = None) -> Floats:
    """prior_de and prior_up, of shape (2, n_rows); visible: which rows (columns) each row may see, None: leave-one-out."""
    pert, gene = known.rows.pert, known.rows.gene
    similarities = []
    for space in spaces:
        vectors = space.columns[gene]
        units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        similarities.append(np.clip(units @ units.T, 0, None))
    with warnings.catch_warnings(
        action="ignore", category=RuntimeWarning
    ):  # pairs that no space covers
        weights = np.nan_to_num(np.nanmean(similarities, axis=0)) ** 2
    weights[(pert[:, None] == pert) | (gene[:, None] == gene) if visible is None else ~visible] = 0
    labelled, effect, directed, up = (weights @ known.flags.astype(float)).T
    with np.errstate(invalid="ignore"):
        return np.stack((effect / labelled, up / directed))


def seconds_for(n_rows: int) -> float:
    """Seconds of leave-one-out priors for so many rows, from vectors of one space to priors; the median.

    There are as many perturbations as in the challenge; more where the rows would not fit into half of all pairs.
    """
    known, spaces = make_table(n_rows, max(N_PERTS, 2 * n_rows // N_GENES), columns=(64,))
    parts = parts_of(EvaluationProtocol("loo"), known.rows)
    with threadpool_limits(1):
        return median_s(
            lambda: knn_priors(
                known.rows, known, Similarities(cosine_similarity(spaces)), Weighting(), parts
            ),
            REPEATS,
        )
