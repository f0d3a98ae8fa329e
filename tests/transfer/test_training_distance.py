"""Distances to the training rows, against brute force."""

from __future__ import annotations

import numpy as np
import pytest

from core.stats.arrays import Codes
from core.transfer.protocols import EvaluationProtocol, parts_of
from core.transfer.row_index import RowIndex
from core.transfer.training_distance import nearest_cosine, slices_by_cosine, slices_by_steps, steps_to_training, training_of

RNG = np.random.default_rng(3)
GENES = [f"g{i}" for i in range(30)]
PERTS = [f"p{i}" for i in range(6)]
PAIRS = [(p, g) for p in PERTS for g in GENES]
SPLITS = ["train" if int(g[1:]) < 20 else "test" for _, g in PAIRS]
INDEX = RowIndex.build(
    [f"{p}_{g}" for p, g in PAIRS],
    [p for p, _ in PAIRS],
    [g for _, g in PAIRS],
    RNG.choice(["up", "down", "none"], len(PAIRS)).astype(object),
    SPLITS,
)
ALL: Codes = np.arange(len(PAIRS))
COLUMNS = RNG.normal(size=(len(INDEX.symbols), 5))
COLUMNS[INDEX.symbols.index("g7")] = np.nan
FOLDS = EvaluationProtocol("folds", 3, 1)


@pytest.mark.parametrize("protocols", [(), (EvaluationProtocol("loo"),), (FOLDS,)])
def test_the_nearest_training_gene_is_another_that_the_row_may_see(protocols: tuple[EvaluationProtocol, ...]) -> None:
    found = nearest_cosine(COLUMNS, training_of(INDEX, ALL, "gene", protocols))
    parts = parts_of(FOLDS, INDEX.rows, INDEX.known.rows)
    assert parts is not None
    for code, symbol in enumerate(INDEX.symbols):
        if symbol == "g7" or symbol[0] == "p":
            continue
        best = -2.0
        for other in range(20):
            at = INDEX.symbols.index(f"g{other}")
            hidden = parts.gene[at] == parts.gene[code] if FOLDS in protocols else at == code
            if not hidden and other != 7:
                a, b = COLUMNS[code], COLUMNS[at]
                best = max(best, float(a @ b / np.sqrt((a @ a) * (b @ b))))
        assert found[code] == pytest.approx(best)
    assert np.isnan(found[INDEX.symbols.index("g7")])


def test_steps_are_counted_to_another_training_gene() -> None:
    edges = [("g0", "g1", 900.0), ("G1", "x", 1.0), ("x", "g20", 1.0), ("g20", "y", 1.0), ("y", "z", 1.0), ("z", "g25", 1.0)]
    edges += [("g2", "g2", 900.0), ("g3", "w", 5.0)]
    steps = dict(zip(INDEX.symbols, steps_to_training(edges, training_of(INDEX, ALL, "gene", ())), strict=True))
    # g0 and g1 are partners; g20 reaches g1 by x; g25 reaches g20, no training gene; g2 is linked with itself alone; g3 with none
    assert [steps[name] for name in ("g0", "g1", "g20", "g25", "g2", "g3", "g9")] == [1, 1, 2, 3, 0, 3, 0]


def test_under_folds_partners_of_the_same_part_do_not_count() -> None:
    parts = parts_of(FOLDS, INDEX.rows, INDEX.known.rows)
    assert parts is not None
    part = {name: parts.gene[INDEX.symbols.index(name)] for name in GENES[:20]}
    a = "g0"
    same, other = (next(b for b in GENES[1:20] if bool(part[b] == part[a]) == alike) for alike in (True, False))
    training = training_of(INDEX, ALL, "gene", (FOLDS,))
    at = INDEX.symbols.index(a)
    assert steps_to_training([(a, same, 1.0)], training)[at] == 3
    assert steps_to_training([(a, other, 1.0)], training)[at] == 1


def test_rows_are_cut_into_quarters_nearest_first() -> None:
    names = slices_by_cosine(np.array([0.9, 0.1, 0.5, 0.3, np.nan]))
    assert names.tolist() == ["nearest quarter", "farthest quarter", "second quarter", "third quarter", "not in the space"]
    assert slices_by_steps(np.array([0, 1, 3])).tolist() == ["not in the network", "1 step", "3 steps or more"]
