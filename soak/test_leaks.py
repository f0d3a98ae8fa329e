"""Two hundred simulated screens: spaces and runs that saw no label are hardly ever accused, planted leaks are found."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from core.scoring.space_leaks import check_space
from soak.conftest import Record
from tests.scoring.planted_leaks import (
    Design,
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


def test_what_saw_no_label_is_hardly_ever_accused_and_leaks_are_found(record: Record) -> None:
    accused, found, screens = Counter[str](), Counter[str](), Counter[str]()
    for seed in range(DATA_SETS):
        rng = np.random.default_rng(seed)
        design = DESIGNS[seed % len(DESIGNS)]
        screen = simulate(rng, design)
        index, splits = screen.index, np.full(len(screen.labels), "train", dtype=object)
        honest = [
            *(
                (name, check_space(loaded_record(), lambda: space, index, splits).findings)
                for name, space in honest_spaces(rng, screen)
            ),
            *((name, probed_run(screen, scores)) for name, scores in honest_runs(rng, screen)),
        ]
        accused.update(name for name, findings in honest if findings)
        screens["accused"] += any(findings for _, findings in honest)
        screens["checks"] += len(honest)
        planted = [
            *(
                (name, check_space(loaded_record(), lambda: space, index, splits).findings)
                for name, space in leaking_spaces(rng, screen)
            ),
            *((name, probed_run(screen, scores)) for name, scores in leaking_runs(rng, screen)),
        ]
        found.update(f"{name} ({design.perts} × {design.rows})" for name, findings in planted if findings)
    record(
        data_sets=DATA_SETS,
        accused=dict(accused),
        with_an_accusation=screens["accused"],
        checks=screens["checks"],
        found=dict(found),
    )
    assert sum(accused.values()) <= 0.02 * screens["checks"]
    assert screens["accused"] <= 0.02 * DATA_SETS
