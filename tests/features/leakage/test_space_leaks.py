"""What is found in spaces: in which split, and for which axis."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from core.features.leakage.leak_power import leak_power
from core.features.leakage.space_leaks import SpaceCheck, check_space, describe_space
from core.transfer.row_index import RowIndex
from core.transfer.similarity import Space
from tests.scoring.planted_leaks import (
    Design,
    Screen,
    label_shares,
    leaking_spaces,
    loaded_record,
    simulate,
)

SCREEN = simulate(np.random.default_rng(0), Design(60, 200, 30))
GENES = np.random.default_rng(1).normal(size=(200, 16))


def checked(space: Space, screen: Screen = SCREEN, splits: np.ndarray | None = None) -> SpaceCheck:
    named = np.full(len(screen.labels), "train", dtype=object) if splits is None else splits
    return check_space(loaded_record(), lambda: space, screen.index, named)


def test_planted_spaces_are_named_with_their_axis() -> None:
    for name, space in leaking_spaces(np.random.default_rng(2), SCREEN):
        found = checked(space)
        of_perts = name in ("shares of perturbations", "perturbation x gene")
        units = "perturbations" if of_perts else "target genes"
        assert found.findings, name
        assert all(
            finding.startswith(f"vectors of {units} have seen labels, ")
            for finding in found.findings
        ), name
        missing = "target genes" if of_perts else "perturbations"
        assert describe_space(found).startswith("has seen labels of this screen or a similar one; ")
        assert f"{missing} DE, {missing} DIR" in describe_space(found)


def test_labels_of_one_split_are_found_there() -> None:
    """Shares in a third of the perturbations do not show among all rows."""
    splits = np.where(SCREEN.pert < 20, "test", "train").astype(object)
    in_test = splits == "test"
    test = replace(
        SCREEN, labels=SCREEN.labels[in_test], pert=SCREEN.pert[in_test], gene=SCREEN.gene[in_test]
    )
    shares = np.zeros((200, 2))
    found = label_shares(test, test.gene)
    shares[: len(found)] = found
    [finding, *_] = checked(SCREEN.space(np.hstack([GENES, shares]), None), splits=splits).findings
    assert finding.startswith("vectors of target genes have seen labels of test, ")


@pytest.mark.soak
def test_the_power_is_that_of_planted_leaks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("core.features.leakage.leak_power.NOISES", (0.25,))
    power = {(line.axis, line.task): line for line in leak_power(SCREEN.index)}
    assert set(power) == {("gene", "DE"), ("gene", "DIR"), ("pert", "DE"), ("pert", "DIR")}
    assert power["gene", "DIR"].columns == 60
    assert power["gene", "DIR"].matrix == 0.25
    assert power["gene", "DIR"].what.startswith("DIR of target genes: label shares found ")
    assert power["gene", "DIR"].turned == 0.25
    assert "would not be found" in replace(power["gene", "DE"], shares=float("nan")).what
    assert "found only without noise" in replace(power["gene", "DE"], matrix=0.0).what
    assert leak_power(RowIndex.build(["a_b"], ["a"], ["b"], [None])) == ()
