"""The demos that the tests of the simulated demo look at, and ways into them."""

from __future__ import annotations

from functools import cache

import pytest

from core.base.types import Evidence, Pair
from core.features.demo.actions import Demo, DemoRun, simulate

SEEDS = (0, 1, 2)


@cache
def demo_of(seed: int) -> Demo:
    """The demo of a seed, made once."""
    return simulate(seed)


@pytest.fixture(
    params=[
        pytest.param(seed, marks=() if seed == SEEDS[0] else pytest.mark.soak) for seed in SEEDS
    ]
)
def demo(request: pytest.FixtureRequest) -> Demo:
    """One demo after the other; on commit the first."""
    return demo_of(request.param)


def of_split(demo: Demo, split: str) -> list[Pair]:
    return [pair for pair in demo.pairs if pair.split == split]


def runs_of(demo: Demo) -> tuple[DemoRun, DemoRun, DemoRun]:
    """The argued debate, the collapsed one, and the one on test rows."""
    argued, collapsed, test = demo.runs
    return argued, collapsed, test


def all_evidence(demo: Demo) -> list[Evidence]:
    return [item for run in demo.runs for row in run.rows for item in row.evidence]
