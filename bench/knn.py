"""kNN priors: ours, on distinct genes, against every row times every row, on a table as large as train.

Both read the same random spaces, which cover four genes in five, under leave-one-out with disjoint masking.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bench.measure import alone, median_s
from core.stats.arrays import Floats
from core.transfer.knn import Priors, Similar, Weighting, priors
from core.transfer.protocols import Protocol, parts_of
from core.transfer.rows import Knowledge, knowledge_of, rows_of
from core.transfer.similarity import Space, cosines

N_ROWS, N_PERTS, N_GENES, COLUMNS, COVERAGE, SEED = 7705, 386, 1570, (768, 512), 0.8, 7
GROWTH = (10**4, 10**5, 10**6, 10**7)
REPEATS = 5
LARGE_ROWS, LARGE_PERTS, LARGE_GENES = 5_000_000, 2_500, 20_000


def run(large: bool = False) -> dict[str, Any]:
    """Seconds (medians), peak memory of a process each, the largest difference, and time a row as rows grow.

    large: also 20,000 genes with 5 million rows, which takes minutes.
    """
    (ours, ours_s), _, ours_mb = alone(our_priors)
    (theirs, reference_s), _, reference_mb = alone(rows_times_rows)
    _, _, empty_mb = alone(make_table)
    growth = {n: alone(seconds_for, n, _perts_for(n), N_GENES, (64,))[0] for n in GROWTH}
    found = {
        "name": "knn",
        "rows": N_ROWS,
        "ours_s": ours_s,
        "reference_s": reference_s,
        "ratio": reference_s / ours_s,
        "max_abs_diff": float(np.nanmax(np.abs(ours - theirs))),
        "same_coverage": bool((np.isnan(ours) == np.isnan(theirs)).all()),
        "peak_mb_ours": ours_mb,
        "peak_mb_reference": reference_mb,
        "peak_mb_before": empty_mb,
        "us_per_row": {n: 1e6 * seconds / n for n, seconds in growth.items()},
    }
    if large:
        seconds, _, mb = alone(seconds_for, LARGE_ROWS, LARGE_PERTS, LARGE_GENES, COLUMNS)
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
        parts = parts_of(Protocol("loo"), known.rows)
        return priors(known.rows, known, Similar(cosines(spaces)), Weighting(), parts)

    found = work()
    return np.stack((found.de, found.up)), median_s(work, REPEATS)


def rows_times_rows() -> tuple[Floats, float]:
    """The same by the definition: a similarity for every pair of rows."""
    known, spaces = make_table()
    found: list[Floats] = []
    seconds = median_s(lambda: found.append(by_definition(known, spaces)), 1)
    return found[-1], seconds


def by_definition(known: Knowledge, spaces: list[Space]) -> Floats:
    """prior_de and prior_up under leave-one-out, of shape (2, n_rows)."""
    pert, gene = known.rows.pert, known.rows.gene
    total, covering = np.zeros((2, len(known), len(known)))
    for space in spaces:
        vectors = space.columns[gene]
        covered = ~np.isnan(vectors).any(axis=1)
        units = np.nan_to_num(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))
        both = covered[:, None] & covered
        total += np.where(both, np.clip(units @ units.T, 0, None), 0)
        covering += both
    weights = np.where(covering > 0, total / np.maximum(covering, 1), 0) ** 2
    weights[(pert[:, None] == pert) | (gene[:, None] == gene)] = 0
    labelled, effect, directed, up = (weights @ known.flags.astype(float)).T
    with np.errstate(invalid="ignore"):
        return np.stack((effect / labelled, up / directed))


def seconds_for(n_rows: int, n_perts: int, n_genes: int, columns: tuple[int, ...]) -> float:
    """Seconds of leave-one-out priors for so many rows, from vectors to priors; the median where they are few."""
    known, spaces = make_table(n_rows, n_perts, n_genes, columns)
    parts = parts_of(Protocol("loo"), known.rows)
    repeats = 1 if n_rows > 10**6 else REPEATS
    return median_s(lambda: priors(known.rows, known, Similar(cosines(spaces)), Weighting(), parts), repeats)


def _perts_for(n_rows: int) -> int:
    """As many as in the challenge; more where the rows would not fit into half of all pairs."""
    return max(N_PERTS, 2 * n_rows // N_GENES)
