"""SUMMER on forty rows of each task of K562, with packs about mouse genes, against the scripted server."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from core.base.fields.record import read_options
from core.base.types import Flag, Label
from core.evidence.label_view import all_training
from core.evidence.packs import Packs
from core.features.perturbqa.gene_sets import read_gene_sets
from core.features.perturbqa.methods.summer import METHOD
from core.features.perturbqa.retrieval import GeneNames
from core.llm.client import Client
from core.llm.endpoint import Endpoint
from core.methods.base import Context
from tests.fakes.scripted import MODEL, serving
from tests.real.conftest import read_pairs

pytestmark = pytest.mark.real

ROWS = 40


@pytest.mark.soak
def test_the_packs_reach_a_fifth_of_k562(shared_data: Path, packs: Packs) -> None:
    known, names = packs.description_table, GeneNames(packs.orthologs or {})
    pairs = read_pairs(shared_data / "perturbqa" / "k562-de.csv")
    covered = {
        axis: sum(
            any(known.spellings(name) for name in names.of(symbol))
            for symbol in {getattr(pair, axis) for pair in pairs}
        )
        for axis in ("pert", "gene")
    }
    assert covered == {"pert": 377, "gene": 833}  # of 1,831 and 4,136


@pytest.mark.soak
@pytest.mark.parametrize("task", ["de", "dir"])
def test_forty_rows_of_k562(task: str, shared_data: Path, packs: Packs) -> None:
    pairs = read_pairs(shared_data / "perturbqa" / f"k562-{task}.csv")
    view = all_training(pairs)
    test = [pair for pair in pairs if pair.split == "test"]
    asked = tuple(replace(pair, label=None) for pair in test[:: len(test) // ROWS][:ROWS])

    async def all_rows(url):
        async with Client(Endpoint(url)) as client:
            options = read_options(METHOD.settings, {"task": task, "context": "k562"})
            context = Context(asked, options, lambda _: view, packs, client, MODEL)
            return list(
                await asyncio.gather(*(METHOD.predict_row(pair, context) for pair in asked))
            )

    with serving() as url:
        results = asyncio.run(all_rows(url))
    flag, other = (Flag.NO_DIR, Flag.NO_DE) if task == "de" else (Flag.NO_DE, Flag.NO_DIR)
    assert all(
        flag in row.prediction.flags and other not in row.prediction.flags for row in results
    )
    assert 0 < sum(Flag.NO_KNOWLEDGE in row.prediction.flags for row in results) < ROWS
    hidden = {(pair.pert, pair.gene) for pair in test}
    shown = [
        line
        for row in results
        for event in row.events
        if event.stage == "retrieve"
        for line in event.content.splitlines()
    ]
    rows = [
        line.removeprefix("- ").partition(":")[0].split(" -> ")
        for line in shown
        if line.startswith("- ")
    ]
    assert len(rows) > 5 * ROWS
    assert not hidden & {(pert, gene) for pert, gene in rows}
    labels = {(pair.pert, pair.gene): pair.label for pair in view.rows}
    expected = {Label.DE, Label.NONE} if task == "de" else {Label.UP, Label.DOWN}
    assert {labels[pert, gene] for pert, gene in rows} == expected


@pytest.mark.parametrize(("name", "sets", "described"), [("pert", 64, 52), ("gene", 38, 25)])
def test_the_gene_sets_of_k562(name: str, sets: int, described: int, shared_data: Path) -> None:
    found = read_gene_sets(shared_data / "perturbqa" / f"k562_{name}-gse.json")
    assert (len(found), sum(one.label is not None for one in found)) == (sets, described)
