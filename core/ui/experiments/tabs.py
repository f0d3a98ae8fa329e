"""The tabs of the Experiments page, in their order: what adds one adds a line to TABS."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from core.ui.experiments import (
    ablations_tab,
    baselines_tab,
    benchmark_tab,
    controls_tab,
    evidence_tab,
    ledger_tab,
    plan_tab,
    published_tab,
)
from core.ui.shared.shell import PageContext


class Tab(NamedTuple):
    """A tab's title and what draws it."""

    title: str
    show: Callable[[PageContext], None]


TABS = (
    Tab("Ledger", ledger_tab.show),
    Tab("Benchmark", benchmark_tab.show),
    Tab("Plan", plan_tab.show),
    Tab("Evidence", evidence_tab.show),
    Tab("Controls", controls_tab.show),
    Tab("Baselines", baselines_tab.show),
    Tab("Ablations", ablations_tab.show),
    Tab("Published numbers", published_tab.show),
)
