"""kNN priors: ours, on distinct genes, against every row times every row, on a table as large as train.

The reference is the oracle of the tests, which follows the definition row by row; beside it stands a lean one, as somebody
writes it who minds the time but still works with rows. All read the same random spaces, which cover four genes in five,
under leave-one-out with disjoint masking, on one thread each, so that what else the machine does counts for little.
"""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from bench.measure import alone, median_s
from core.stats.arrays import Floats
from core.transfer.knn import Priors, Similarities, Weighting, knn_priors
from core.transfer.labelled_rows import EFFECT, UP, Knowledge, knowledge_of, rows_of
from core.transfer.protocols import EvaluationProtocol, parts_of
from core.transfer.similarity import Space, cosine_similarity
from tests.transfer.oracles import World, oracle

N_ROWS, N_PERTS, N_GENES, COLUMNS, COVERAGE, SEED = 7705, 386, 1570, (768, 512), 0.8, 7
GROWTH = (10**4, 10**5, 10**6, 10**7)
REPEATS = 5
LARGE_ROWS, LARGE_PERTS, LARGE_GENES = 5_000_000, 2_500, 20_000


def run(large: bool = False) -> dict[str, Any]:
    """Seconds (medians), peak memory of a process each, the largest difference, and time a row as rows grow.

    large: also 20,000 genes with 5 million rows, which takes minutes.
    """
    (ours, ours_s), _, ours_mb = alone(our_priors)
    (theirs, reference_s), _, reference_mb = alone(oracle_priors)
    (lean, lean_s), _, lean_mb = alone(lean_priors)
    _, _, empty_mb = alone(make_table)
    growth = {n: alone(seconds_for, n, _perts_for(n), N_GENES, (64,))[0] for n in GROWTH}
    found = {
        "name": "knn",
        "rows": N_ROWS,
        "ours_s": ours_s,
        "reference_s": reference_s,
        "ratio": reference_s / ours_s,
        "lean_s": lean_s,
        "ratio_lean": lean_s / ours_s,
        "max_abs_diff": float(max(np.nanmax(np.abs(ours - other)) for other in (theirs, lean))),
        "same_coverage": all(bool((np.isnan(ours) == np.isnan(other)).all()) for other in (theirs, lean)),
        "peak_mb_ours": ours_mb,
        "peak_mb_reference": reference_mb,
        "peak_mb_lean": lean_mb,
        "peak_mb_before": empty_mb,
        "us_per_row": {n: 1e6 * seconds / n for n, seconds in growth.items()},
    }
    if large:
        seconds, _, mb = alone(seconds_for, LARGE_ROWS, LARGE_PERTS, LARGE_GENES, COLUMNS, 1)
        found |= {"large_s": seconds, "large_mb": mb}
    return found


def make_table(
    n_rows: int = N_ROWS, n_perts: int = N_PERTS, n_genes: int = N_GENES, columns: tuple[int, ...] = COLUMNS
) -> tuple[Knowledge, list[Space]]:
    """Random labelled rows, as many of each label as in the challenge, and random spaces over their genes."""
    rng = np.random.default_rng(SEED)
    rows = rows_of(rng.integers(0, n_perts, n_rows), rng.integers(0, n_genes, n_rows))
    labels = np.array(["up", "down", "none"], dtype=object)[rng.choice(3, n_rows, p=[0.306, 0.141, 0.553])]
    spaces = [Space(f"{n} columns", rng.normal(size=(n_genes, n))) for n in columns]
    for space in spaces:
        space.columns[rng.random(n_genes) >= COVERAGE] = np.nan
    return knowledge_of(labels, rows), spaces


def our_priors() -> tuple[Floats, float]:
    """prior_de and prior_up, of shape (2, n_rows), and the seconds for them, from vectors to priors."""
    known, spaces = make_table()

    def work() -> Priors:
        parts = parts_of(EvaluationProtocol("loo"), known.rows)
        return knn_priors(known.rows, known, Similarities(cosine_similarity(spaces)), Weighting(), parts)

    with threadpool_limits(1):
        found = work()
        return np.stack((found.de, found.up)), median_s(work, REPEATS)


def oracle_priors() -> tuple[Floats, float]:
    """The same by the oracle of the tests; once."""
    known, spaces = make_table()
    world = World(known.rows, labels_of(known), tuple(spaces), parts_of(EvaluationProtocol("loo"), known.rows), Weighting())
    with threadpool_limits(1):
        start = time.perf_counter()
        de, up, _ = oracle(world)
        return np.stack((de, up)), time.perf_counter() - start


def lean_priors() -> tuple[Floats, float]:
    """The same by `by_definition`."""
    known, spaces = make_table()
    found: list[Floats] = []
    with threadpool_limits(1):
        seconds = median_s(lambda: found.append(by_definition(known, spaces)), 1)
    return found[-1], seconds


def labels_of(known: Knowledge) -> Any:
    """up, down or none, of shape (n_rows,)."""
    return np.where(known.flags[:, UP], "up", np.where(known.flags[:, EFFECT], "down", "none"))


def by_definition(known: Knowledge, spaces: list[Space]) -> Floats:
    """prior_de and prior_up under leave-one-out, of shape (2, n_rows)."""
    pert, gene = known.rows.pert, known.rows.gene
    similarities = []
    for space in spaces:
        vectors = space.columns[gene]
        units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        similarities.append(np.clip(units @ units.T, 0, None))
    with warnings.catch_warnings(action="ignore", category=RuntimeWarning):  # pairs that no space covers
        weights = np.nan_to_num(np.nanmean(similarities, axis=0)) ** 2
    weights[(pert[:, None] == pert) | (gene[:, None] == gene)] = 0
    labelled, effect, directed, up = (weights @ known.flags.astype(float)).T
    with np.errstate(invalid="ignore"):
        return np.stack((effect / labelled, up / directed))


def seconds_for(n_rows: int, n_perts: int, n_genes: int, columns: tuple[int, ...], repeats: int = REPEATS) -> float:
    """Seconds of leave-one-out priors for so many rows, from vectors to priors; the median."""
    known, spaces = make_table(n_rows, n_perts, n_genes, columns)
    parts = parts_of(EvaluationProtocol("loo"), known.rows)
    with threadpool_limits(1):
        return median_s(
            lambda: knn_priors(known.rows, known, Similarities(cosine_similarity(spaces)), Weighting(), parts), repeats
        )


def _perts_for(n_rows: int) -> int:
    """As many as in the challenge; more where the rows would not fit into half of all pairs."""
    return max(N_PERTS, 2 * n_rows // N_GENES)
