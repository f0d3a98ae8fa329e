"""Every tool on every row of the challenge, from the published packs, counted again straight from the files."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pandas as pd
import pytest

from core.base.types import Evidence, Pair
from core.evidence.label_view import LabelView, all_training, blinded_view, fold_views
from core.evidence.packs import Packs
from core.evidence.registry import TOOLS
from core.evidence.render import MAX_CHARACTERS, dossier
from tests.evidence.world import gathered, run
from tests.real.conftest import FILES, read_pairs

pytestmark = pytest.mark.real

OF_PACKS = [name for name in TOOLS if name != "literature"]


@pytest.fixture(scope="module")
def view(train: tuple[Pair, ...]) -> LabelView:
    return all_training(train)


Dossiers = dict[Pair, tuple[Evidence, ...]]


@pytest.fixture(scope="module")
def dossiers(shared_data: Path, packs: Packs, view: LabelView) -> Dossiers:
    return {
        pair: gathered(pair, packs, view, OF_PACKS)
        for pair in read_pairs(shared_data / "challenge" / "test.csv")
    }


@pytest.mark.soak
def test_the_whole_training_set_is_in_view(view: LabelView) -> None:
    assert (view.counts.n, view.counts.up, view.counts.down) == (7_705, 2_359, 1_086)
    assert (len(view.by_pert.entries), len(view.by_gene.entries)) == (386, 1_570)


@pytest.mark.soak
def test_each_tool_answers_where_its_file_has_the_symbol(
    shared_data: Path, dossiers: Dossiers, train: tuple[Pair, ...]
) -> None:
    raw = {
        name: json.loads((shared_data / "knowledge" / f"{file}.json").read_text("utf-8"))
        for name, file in FILES.items()
    }
    partners = {}
    for a, b, score in raw["edges"]:
        if a != b:
            for one, other in ((a, b), (b, a)):
                partners.setdefault(one, {})[other] = max(
                    score, partners.get(one, {}).get(other, 0)
                )
    best = {
        gene: sorted(found, key=lambda p, found=found: (-found[p], p))[:25]
        for gene, found in partners.items()
    }
    perturbed = {pair.pert for pair in train}
    regulators, targets = (
        {key.split("|")[place] for key in raw["signs"]["pairs"]} for place in (0, 1)
    )
    expected = Counter()
    for pair in dossiers:
        both = (pair.pert, pair.gene)
        expected["base_rates"] += 1
        expected["gene_class"] += len(set(both))
        expected["gene_info"] += sum(
            bool(raw["descriptions"].get(symbol)) or symbol in raw["orthologs"]
            for symbol in set(both)
        )
        expected["protein_interactions"] += sum(symbol in partners for symbol in set(both))
        expected["pathway_neighbours"] += bool(perturbed & set(best.get(pair.pert, ())))
        expected["regulators"] += pair.gene in targets
        expected["targets"] += pair.pert in regulators
        expected["pathways"] += pair.gene in raw["pathways"]
        expected["lps_response"] += pair.gene in raw["responses"]["prior"]
    found = Counter(
        item.tool for items in dossiers.values() for item in items if item.status == "ok"
    )
    assert (
        found == expected
    )  # train_lookup is not there: test shares no perturbation and no gene with train
    assert {item.status for items in dossiers.values() for item in items} == {"ok", "empty"}
    assert not any(
        "asked" in item.body or "ambiguous" in item.body
        for items in dossiers.values()
        for item in items
    )


@pytest.mark.soak
def test_neighbours_pool_the_labels_of_the_training_file(
    shared_data: Path, dossiers: Dossiers
) -> None:
    frame = pd.read_csv(shared_data / "challenge" / "train.csv", keep_default_na=False)
    labels = pd.crosstab(frame["pert"], frame["label"])
    answers = {
        item.key: item.body
        for items in dossiers.values()
        for item in items
        if item.tool == "pathway_neighbours" and item.status == "ok"
    }
    assert len(answers) > 50
    for body in answers.values():
        pooled = labels.loc[[partner["symbol"] for partner in body["partners"]]].sum()
        assert (body["n"], body["up"], body["down"]) == (pooled.sum(), pooled["up"], pooled["down"])
        assert body["p_de"] == pytest.approx((pooled["up"] + pooled["down"]) / pooled.sum())


@pytest.mark.soak
def test_the_published_response_is_given_as_it_stands(
    shared_data: Path, packs: Packs, view: LabelView
) -> None:
    prior = json.loads((shared_data / "knowledge" / "hagai_lps_prior.json").read_text("utf-8"))[
        "prior"
    ]
    for gene in ("Gnai3", "Narf", "Cav2"):
        assert run(TOOLS["lps_response"], None, gene, packs, view).body == {
            "symbol": gene,
            **prior[gene],
        }


@pytest.mark.soak
def test_a_blinded_benchmark_leaves_what_was_measured(train: tuple[Pair, ...]) -> None:
    """Blinding a large sample at once empties the table; cells of folds keep about (4/5)² of it."""
    frame = pd.DataFrame([(pair.pert, pair.gene) for pair in train], columns=["pert", "gene"])
    sample = frame.sample(500, random_state=0)
    left = ~frame["pert"].isin(sample["pert"]) & ~frame["gene"].isin(sample["gene"])
    assert len(blinded_view(train, [train[i] for i in sample.index])) == left.sum() < 1_500
    folds = fold_views(train)
    assert all(0.6 < len(folds.view_of(pair)) / len(train) < 0.68 for pair in train[:200])


@pytest.mark.soak
def test_blinded_lookups_of_training_rows_are_empty(packs: Packs, train: tuple[Pair, ...]) -> None:
    folds = fold_views(train)
    for pair in train[::40]:
        lookups = gathered(pair, packs, folds.view_of(pair), ["train_lookup"])
        assert [item.status for item in lookups] == ["empty", "empty"]
        near = gathered(pair, packs, folds.view_of(pair), ["pathway_neighbours"])[0].body.get(
            "partners", []
        )
        assert pair.pert not in {partner["symbol"] for partner in near}


@pytest.mark.soak
def test_every_dossier_is_bounded_and_has_no_failure(
    dossiers: Dossiers,
) -> None:
    for pair, items in dossiers.items():
        found = dossier(items, pair)
        assert found.notes == ()
        lines = found.text.splitlines()
        assert len(lines) == len(items)
        assert max(map(len, lines)) <= MAX_CHARACTERS + len("- ")
