"""The page of one gene."""

from __future__ import annotations

import json
import re

import pytest

from core.plots import drawing
from core.runs.workspace import Workspace
from core.store import pairs, runs
from tests.ui.conftest import Visit, components


def test_a_symbols_page_names_classes_in_the_order_of_every_page(
    glance: Visit, demo_workspace: Workspace
) -> None:
    with demo_workspace.store.read() as db:
        rows = db.execute(
            "SELECT gene FROM pair WHERE gene IN (SELECT gene FROM pair JOIN prediction USING (pair_id)) "
            "GROUP BY gene HAVING count(DISTINCT label) = 3 ORDER BY gene LIMIT 9"
        ).fetchall()
    pages = (glance(demo_workspace, "gene", name=name) for (name,) in rows)
    app = next(page for page in pages if len(page.dataframe) == 2)  # of a gene that the space holds
    of_rows, similar = (each.value for each in app.dataframe)
    assert [name for name in similar if name in drawing.LABEL_SIGNS] == ["up", "down", "none"]
    counts = next(
        caption.value for caption in app.caption if caption.value.startswith("Target gene of")
    )
    assert re.findall(r"up|down|none", counts) == ["up", "down", "none"]
    assert list(of_rows)[:4] == ["pert", "label", "split", "debate"]


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
