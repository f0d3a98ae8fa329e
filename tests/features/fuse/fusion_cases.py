"""Random fusions in every shape that the explorer may meet: ties, missing rows, cells, few clusters, scales, other baselines."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from core.features.fuse.explorer.content import FusionRows, make_content
from core.stats.scores_and_labels import scores_from_probabilities
from core.transfer.fusion import Component, LiveFusion, live_fusion
from core.transfer.row_index import rows_of

Rng = np.random.Generator
KINDS = np.array(["up", "down", "none", "de", None], dtype=object)
SHARES = (
    [0.3, 0.2, 0.4, 0.0, 0.1],
    [0.5, 0.5, 0.0, 0.0, 0.0],
    [0.2, 0.2, 0.6, 0.0, 0.0],
    [0.1, 0.1, 0.3, 0.4, 0.1],
)


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """A fusion, what sliders hold for all components but its base, and the component that the plane moves."""

    live: LiveFusion
    w_de: tuple[float, ...]
    w_dir: tuple[float, ...]
    position: int

    def content(self) -> dict[str, object]:
        n, others = len(self.live.rows), len(self.w_de)
        names = [f"row {i}" for i in range(n)]
        rows = FusionRows(
            names,
            names,
            names,
            ["base", *map(str, range(others))],
            [str(i) for i in range(others)],
            "base",
        )
        return make_content(self.live, rows)


def cases(n: int, seed: int) -> Iterator[Case]:
    """The first `n` cases of a seed."""
    rng = np.random.default_rng(seed)
    for _ in range(n):
        yield _case(rng, int(rng.integers(4, 120)), int(rng.integers(1, 4)))


def _case(rng: Rng, n: int, others: int) -> Case:
    labels = rng.choice(KINDS, n, p=SHARES[rng.integers(len(SHARES))])
    rows = rows_of(*(rng.integers(0, rng.integers(1, n + 1), n) for _ in range(2)))
    components = [
        _component(rng, str(i), n, scaled=i > 0 and rng.random() < 0.2) for i in range(others + 1)
    ]
    reference = "train" if rng.random() < 0.2 else "population"
    own = scores_from_probabilities(rng.random(n).round(2), _with_gaps(rng, rng.random(n)))
    baseline = own if rng.random() < 0.4 else None
    cells = rng.integers(0, rng.integers(1, 9), n) if rng.random() < 0.6 else None
    live = live_fusion(labels, rows, components, reference, baseline, cells)
    return Case(
        live,
        *(tuple(rng.random(others).round(int(rng.integers(1, 4)))) for _ in range(2)),
        int(rng.integers(others)),
    )


def _component(rng: Rng, name: str, n: int, *, scaled: bool) -> Component:
    levels = int(rng.integers(2, 12)) if rng.random() < 0.5 else 0
    columns = [rng.integers(0, levels, n) / levels if levels else rng.random(n) for _ in range(2)]
    references = [rng.random(int(rng.integers(2, 30))) for _ in range(2)]
    return Component(
        name,
        *(_with_gaps(rng, each) for each in columns),
        *references,
        rng.random(n) if scaled else None,
    )


def _with_gaps(rng: Rng, values: np.ndarray) -> np.ndarray:
    return np.where(
        rng.random(len(values)) < rng.choice([0, 0, 0.3, 1], p=[0.4, 0.25, 0.3, 0.05]),
        np.nan,
        values,
    )
