"""Screens of which nothing changes but batches, depth or clones: false effects are rare or said, and with 10% of true effects at
most a tenth of the labels is false."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from core.features.cells.labels import SamplingSettings
from core.features.cells.screen import LabelSettings
from soak.conftest import Record
from tests.features.cells.null_screens import Found, NullScreen, label_null

SEEDS = 5
EVERY_PAIR = LabelSettings(sampling=SamplingSettings(all_pairs=True, least_effects=1))
SCREENS = {
    "nothing": NullScreen(),
    "batches of .5, mixed": NullScreen(batch_sd=0.5, mixed=True),
    "batches of .5, one a perturbation": NullScreen(batch_sd=0.5, alone=True),
    "the same, one cell strays": NullScreen(batch_sd=0.5, alone=True, stray=1),
    "depth of 1.5": NullScreen(depth=1.5),
    "depth of 1.5, batches of .5, mixed": NullScreen(depth=1.5, batch_sd=0.5, mixed=True),
    "clones of .15": NullScreen(guide_sd=0.15),
    "clones of .3": NullScreen(guide_sd=0.3),
    "clones of .3, three guides of the controls": NullScreen(guide_sd=0.3, control_guides=3),
    "clones of .3, two guides each": NullScreen(guide_sd=0.3, guides=2, control_guides=2),
}


@dataclass(frozen=True)
class Total:
    effects: int
    false: int
    power: float
    perturbations: float  # the share with a false effect
    marked: int  # of screens
    confounded: int

    @classmethod
    def of(cls, found: list[Found]) -> Total:
        true = sum(each.true_effects for each in found)
        return cls(
            sum(each.effects for each in found),
            sum(each.false for each in found),
            sum(each.found for each in found) / max(1, true),
            float(np.mean([each.perturbations for each in found])),
            sum(each.marked for each in found),
            sum(each.confounded for each in found),
        )


@pytest.mark.parametrize("name", SCREENS)
def test_false_effects_are_rare_or_marked(name: str, tmp_path: Path, record: Record) -> None:
    """The FDR promises that 5% of the perturbations without effects have a label; a screen with more than twice as many is
    marked, or has nothing but confounded perturbations."""
    found = [label_null(tmp_path, SCREENS[name], seed, EVERY_PAIR) for seed in range(SEEDS)]
    total = Total.of(found)
    n_perturbations = SCREENS[name].perturbations * SEEDS
    record(
        screen=name,
        false=f"{total.false} of {n_perturbations * SCREENS[name].genes:,} pairs",
        perturbations=f"{total.perturbations:.3f}",
        marked=f"{total.marked}/{SEEDS}",
        confounded=f"{total.confounded}/{n_perturbations}",
    )
    assert [
        each.perturbations for each in found if not each.marked and each.perturbations > 0.15
    ] == []
    unmarked = [each.perturbations for each in found if not each.marked]
    assert not unmarked or np.mean(unmarked) <= 0.1
    assert (total.confounded == n_perturbations) == SCREENS[name].alone


@pytest.mark.parametrize("name", [name for name, screen in SCREENS.items() if not screen.alone])
def test_a_tenth_of_the_labels_is_false_at_most(name: str, tmp_path: Path, record: Record) -> None:
    found = [
        label_null(tmp_path, replace(SCREENS[name], changed=0.1), seed, EVERY_PAIR)
        for seed in range(SEEDS)
    ]
    total = Total.of(found)
    record(
        screen=name,
        false=f"{total.false}/{total.effects} = {total.false / total.effects:.3f}",
        power=f"{total.power:.2f}",
        marked=f"{total.marked}/{SEEDS}",
    )
    assert total.effects > 100
    assert total.false / total.effects <= 0.1
