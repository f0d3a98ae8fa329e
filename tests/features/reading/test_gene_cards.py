"""Which names of genes lead to a page, and what their cards say."""

from __future__ import annotations

import json

import pytest

from core.runs.workspace import Workspace
from core.store import pairs, runs
from tests.ui.conftest import Visit, components


@pytest.mark.soak
def test_facts_count_rows_in_both_roles_and_their_labels(small_workspace: Workspace) -> None:
    with small_workspace.store.read() as db:
        dataset = runs.find(db, "debate").dataset
        facts = pairs.symbol_facts(db, dataset).set_index("symbol")
        rows = pairs.frame(db, dataset)
    of_pa = rows[rows["pert"] == "Pa"]
    assert (facts.loc["Pa", "pert_rows"], facts.loc["Pa", "gene_rows"]) == (len(of_pa), 0)
    assert {name: facts.loc["Pa", name] for name in ("up", "down", "none")} == {
        name: (of_pa["label"] == name).sum() for name in ("up", "down", "none")
    }
    assert facts.loc["Pa", "unlabelled"] == of_pa["label"].isna().sum()


@pytest.mark.soak
def test_a_card_stands_by_both_genes_of_a_row(visit: Visit, small_workspace: Workspace) -> None:
    app = visit(small_workspace, "rows", run="debate", row="Pa_Ga")
    [shown] = components(app, "gene_cards")
    cards = json.loads(shown.json)["cards"]
    assert {"PA", "GA"} <= set(cards)
    assert cards["PA"]["name"] == "Pa"
    assert "as perturbation" in cards["PA"]["rows"]
    assert "as target gene" in cards["GA"]["rows"]
