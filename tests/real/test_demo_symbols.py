"""No symbol of the simulated demo is a real one."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from core.features.demo.actions import simulate

pytestmark = pytest.mark.real


@pytest.mark.soak
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_shares_no_symbol_with_the_published_files(shared_data: Path, seed: int) -> None:
    real = set(json.loads((shared_data / "knowledge" / "gene_desc.json").read_text()))
    for name in ("train.csv", "test.csv"):
        with (shared_data / "challenge" / name).open(newline="") as file:
            for row in csv.DictReader(file):
                real |= {row["pert"], row["gene"]}
    demo = simulate(seed)
    invented = {symbol for pair in demo.pairs for symbol in (pair.pert, pair.gene)} | set(
        demo.genes
    )
    assert len(real) > 2_000
    assert not {symbol.lower() for symbol in invented} & {symbol.lower() for symbol in real}
