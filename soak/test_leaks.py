"""Two hundred simulated screens: spaces and runs that saw no label are hardly ever accused, planted leaks are found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import partial

import numpy as np

from core.features.leakage.space_leaks import check_space
from core.stats.scores_and_labels import Scores
from core.transfer.similarity import Space
from soak.conftest import Record
from tests.scoring.planted_leaks import (
    Design,
    Screen,
    honest_runs,
    honest_spaces,
    leaking_runs,
    leaking_spaces,
    loaded_record,
    probed_run,
    simulate,
)

DATA_SETS = 200
DESIGNS = (
    Design(perts=40, genes=120, rows=20),
    Design(perts=150, genes=400, rows=25),
    Design(perts=150, genes=600, rows=60, matched=True),
    Design(perts=100, genes=300, rows=60, traits=1.0),
)
MOST_ACCUSED = 0.02  # of data sets with a false accusation
LEAST_FOUND = 0.9  # of planted leaks of one kind, in designs of 100 perturbations and more


def findings_of(
    screen: Screen, spaces: Iterator[tuple[str, Space]], runs: Iterator[tuple[str, Scores]]
) -> Iterator[tuple[str, bool]]:
    """Whether each space and each run, by name, is accused."""
    index, splits = screen.index, np.full(len(screen.labels), "train", dtype=object)
    for name, space in spaces:
        yield (
            name,
            bool(check_space(loaded_record(), partial(_same, space), index, splits).findings),
        )
    for name, scores in runs:
        yield name, bool(probed_run(screen, scores))


def _same(space: Space) -> Space:
    return space


def test_what_saw_no_label_is_hardly_ever_accused_and_leaks_are_found(record: Record) -> None:
    accused, found, planted = Counter[str](), Counter[str](), Counter[str]()
    with_an_accusation = 0
    for seed in range(DATA_SETS):
        rng, design = np.random.default_rng(seed), DESIGNS[seed % len(DESIGNS)]
        screen = simulate(rng, design)
        honest = [
            name
            for name, is_accused in findings_of(
                screen, honest_spaces(rng, screen), honest_runs(rng, screen)
            )
            if is_accused
        ]
        accused.update(honest)
        with_an_accusation += bool(honest)
        for name, is_found in findings_of(
            screen, leaking_spaces(rng, screen), leaking_runs(rng, screen)
        ):
            planted[f"{name} ({design.perts})"] += 1
            found[f"{name} ({design.perts})"] += is_found
    shares = {name: round(found[name] / n, 3) for name, n in planted.items()}
    record(
        data_sets=DATA_SETS,
        with_an_accusation=with_an_accusation,
        accused=dict(accused),
        found=shares,
    )
    assert with_an_accusation <= MOST_ACCUSED * DATA_SETS
    assert all(share >= LEAST_FOUND for name, share in shares.items() if "(40)" not in name)
