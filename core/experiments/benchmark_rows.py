"""The rows of a benchmark: labelled rows of a run, or a sample of the labelled training rows, stratified by label."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from core.errors import InputError
from core.experiments.benchmark_spec import RowsSpec
from core.types import TRAIN, Label, Pair


def choose_benchmark_rows(pairs: Sequence[Pair], spec: RowsSpec, of_run: Iterable[str] | None) -> tuple[str, ...]:
    """Return the ids of a benchmark's rows, in the dataset's order.

    of_run: the ids of the run named in the specification. Without a run, choose the labelled training rows, or all labelled
    rows of a dataset without training rows. Raise InputError without a labelled row, and for a sample that is larger than the
    rows there are.
    """
    labelled = [pair for pair in pairs if pair.label is not None]
    if of_run is not None:
        wanted = set(of_run)
        rows = [pair for pair in labelled if pair.pair_id in wanted]
    else:
        rows = [pair for pair in labelled if pair.split == TRAIN] or labelled
    if not rows:
        where = f"none of run {spec.run}" if spec.run else "no row of the dataset"
        raise InputError(f"rows: {where} has a label, expected some")
    if spec.sample is None:
        return tuple(pair.pair_id for pair in rows)
    if spec.sample > len(rows):
        raise InputError(f"rows: a sample of {spec.sample:,}, expected at most the number of labelled rows, {len(rows):,}")
    return tuple(rows[i].pair_id for i in draw_stratified([str(pair.label) for pair in rows], spec.sample, spec.seed))


def draw_stratified(labels: Sequence[str], n: int, seed: int) -> list[int]:
    """Return the sorted positions of n rows, drawn without replacement, so that each label keeps its share to within one row.

    Places left by rounding down go to the labels with the largest remainders; ties follow the order of `Label`.
    """
    rng = np.random.default_rng(seed)
    order = [str(label) for label in Label]
    strata = {name: np.flatnonzero([label == name for label in labels]) for name in order if name in set(labels)}
    exact = {name: n * len(rows) / len(labels) for name, rows in strata.items()}
    sizes = {name: int(share) for name, share in exact.items()}
    by_remainder = sorted(strata, key=lambda name: sizes[name] - exact[name])
    for name in by_remainder[: n - sum(sizes.values())]:
        sizes[name] += 1
    drawn = [rng.choice(rows, sizes[name], replace=False) for name, rows in strata.items()]
    return sorted(int(i) for i in np.concatenate(drawn))
