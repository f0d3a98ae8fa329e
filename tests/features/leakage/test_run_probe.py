"""The probe of a run: oracles both ways are told from means over the labels of other rows."""

from __future__ import annotations

import numpy as np
import pytest

from core.features.leakage.run_probe import RunProbe, probe_run
from core.stats.scores_and_labels import Task, outcome_of
from tests.scoring.planted_leaks import (
    Design,
    Screen,
    honest_runs,
    leaking_runs,
    probed_run,
    simulate,
)

SCREENS = [
    pytest.param(simulate(np.random.default_rng(1), design), id=name)
    for name, design in (
        ("drawn at random", Design(60, 200, 25)),
        ("matched", Design(60, 200, 40, matched=True)),
    )
]


@pytest.mark.parametrize("screen", SCREENS)
def test_oracles_are_found_and_means_of_other_labels_are_not(screen: Screen) -> None:
    rng = np.random.default_rng(0)
    for name, scores in leaking_runs(rng, screen):
        assert probed_run(screen, scores) == {
            "inverted labels" if name == "inverted labels" else "labels"
        }, name
    for name, scores in honest_runs(rng, screen):
        assert probed_run(screen, scores) == set(), name


def test_labels_of_some_rows_are_found_at_either_end() -> None:
    rng = np.random.default_rng(2)
    screen = simulate(rng, Design(100, 300, 40))
    outcome = outcome_of(screen.labels)
    values = np.where(
        rng.random(len(screen.labels)) < 0.2,
        2.0 * outcome.effect - 0.5 + 0.1 * rng.random(len(screen.labels)),
        0.0,
    )
    values += rng.random(len(values))
    found = probe_run(Task(outcome.labelled, outcome.effect, values), screen.pert, screen.gene)
    assert found.edge_tail == "labels"
    assert (
        probe_run(
            Task(outcome.labelled, outcome.effect, -values), screen.pert, screen.gene
        ).edge_tail
        == "inverted labels"
    )
    assert found.tail(0.7, 0.65, 0.75) == ""


def test_a_share_that_counts_the_row_itself_has_seen_its_label() -> None:
    screen = simulate(np.random.default_rng(3), Design(60, 400, 25))
    outcome = outcome_of(screen.labels)
    share = (np.bincount(screen.gene, outcome.effect) / np.maximum(np.bincount(screen.gene), 1))[
        screen.gene
    ]
    found = probe_run(Task(outcome.labelled, outcome.effect, share), screen.pert, screen.gene)
    assert (
        found.same_rates[0] == 1.0
    )  # of two genes with equal rates in the other rows, the positive row's has the larger share
    assert found.tail(0.8, 0.78, 0.82) == "labels"


def test_few_rows_accuse_nobody() -> None:
    task = Task(np.ones(4, dtype=np.bool_), np.array([True, True, False, False]), np.arange(4.0))
    found = probe_run(task, np.arange(4), np.arange(4))
    assert found.tail(1.0, 1.0, 1.0) == found.edge_tail == ""
    nothing = probe_run(
        Task(np.zeros(4, dtype=np.bool_), task.positive, task.values), np.arange(4), np.arange(4)
    )
    assert (nothing.n, nothing.edge_tail) == (0, "")
    assert (
        RunProbe(100, (0.9, 0.9, 0.9), 0.5).tail(0.9, 0.6, 1.0) == ""
    )  # the interval reaches too near to chance
