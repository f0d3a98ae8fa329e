"""The simulated demo: what it holds, that it is invented, and that its signal is modest."""

from __future__ import annotations

import re
from collections import Counter, defaultdict

import numpy as np
import pytest

from core.base.types import Label
from core.features.demo.actions import Demo, simulate
from tests.features.demo import demo_cases
from tests.features.demo.demo_cases import all_evidence, demo_of, of_split

demo = demo_cases.demo
INVENTED = re.compile(r"Sim([bdklmnrstv][aeiou]){2}[1-9]?")


# What it holds


@pytest.mark.soak
def test_one_seed_gives_one_demo_and_another_seed_another() -> None:
    first, again, other = demo_of(0), simulate(0), demo_of(1)
    assert (first.pairs, first.genes, first.runs, first.descriptions) == (
        again.pairs,
        again.genes,
        again.runs,
        again.descriptions,
    )
    np.testing.assert_array_equal(first.embedding, again.embedding)
    assert first.pairs != other.pairs


def test_has_the_size_and_the_labels_of_the_challenge(demo: Demo) -> None:
    train, test = of_split(demo, "train"), of_split(demo, "test")
    assert (len(train), len(test), len(demo.pairs)) == (7_700, 600, 8_300)
    assert len({pair.pert for pair in demo.pairs}) == 364
    assert 1_200 <= len({pair.gene for pair in demo.pairs}) <= 1_600
    shares = {label: n / len(train) for label, n in Counter(pair.label for pair in train).items()}
    assert shares[Label.UP] == pytest.approx(0.31, abs=0.02)
    assert shares[Label.DOWN] == pytest.approx(0.14, abs=0.02)
    assert shares[Label.NONE] == pytest.approx(0.55, abs=0.02)
    assert {pair.label for pair in test} == {None}


def test_ids_are_unique_and_made_of_both_symbols(demo: Demo) -> None:
    assert len({pair.pair_id for pair in demo.pairs}) == len(demo.pairs)
    assert all(
        pair.pair_id == f"{pair.pert}_{pair.gene}" and pair.pert != pair.gene for pair in demo.pairs
    )


def test_the_splits_share_no_symbol_at_all(demo: Demo) -> None:
    symbols = {
        split: {s for pair in of_split(demo, split) for s in (pair.pert, pair.gene)}
        for split in ("train", "test")
    }
    assert not symbols["train"] & symbols["test"]


def test_a_gene_has_as_many_changed_rows_as_others_or_a_single_row_that_did_not_change(
    demo: Demo,
) -> None:
    by_gene = defaultdict(list)
    for pair in of_split(demo, "train"):
        by_gene[pair.gene].append(pair.label is not Label.NONE)
    assert all(len(rows) - 2 * sum(rows) in (0, -1) for rows in by_gene.values() if len(rows) > 1)
    single = [rows[0] for rows in by_gene.values() if len(rows) == 1]
    assert len(single) > 500
    assert not any(single)


def test_every_symbol_is_invented(demo: Demo) -> None:
    named = {symbol for pair in demo.pairs for symbol in (pair.pert, pair.gene)} | set(demo.genes)
    for item in all_evidence(demo):
        named |= {partner["symbol"] for partner in item.body.get("partners", [])}
        if item.tool in ("gene_info", "pathway_neighbours", "literature"):
            named |= set(item.key.split("|"))
    assert [symbol for symbol in named if not INVENTED.fullmatch(symbol)] == []
    assert len({symbol.lower() for symbol in named}) == len(named)
    passages = [passage for item in all_evidence(demo) for passage in item.body.get("passages", [])]
    assert passages
    assert all(re.fullmatch(r"SIM-\d{6,}", passage["id"]) for passage in passages)
    text_of = {(passage["id"], passage["text"]) for passage in passages}
    assert len({number for number, _ in text_of}) == len(text_of)  # an id is one passage


def test_describes_every_symbol_and_embeds_most(demo: Demo) -> None:
    symbols = {symbol for pair in demo.pairs for symbol in (pair.pert, pair.gene)}
    assert set(demo.descriptions) == symbols
    assert all(demo.descriptions.values())
    assert len(set(demo.genes)) == len(demo.genes)
    assert set(demo.genes) < symbols
    assert 0.93 < len(demo.genes) / len(symbols) < 0.97
    assert demo.embedding.shape == (len(demo.genes), 64)
    assert demo.embedding.dtype == np.float32
    assert np.isfinite(demo.embedding).all()
    assert (np.linalg.norm(demo.embedding, axis=1) > 0).all()
