"""The simulated dossiers: answers are shared, and none was made with a label of its row's perturbation or gene."""

from __future__ import annotations

import json
from collections import Counter, defaultdict

import numpy as np
import pytest

from core.base.types import Label, RowResult
from core.features.demo.actions import Demo
from tests.features.demo import demo_cases
from tests.features.demo.demo_cases import distinct_evidence, of_split, runs_of

from tests.features.demo.test_debate import demo  # noqa


def test_equal_answers_are_one_object(demo: Demo) -> None:
    items = distinct_evidence(demo)
    assert len({(item.tool, item.key, item.view) for item in items}) == len(items)
    assert {item.status for item in items} == {"ok", "empty", "error", "offline"}
    assert np.mean([item.status == "ok" for item in items]) > 0.8
    assert all(dict(item.body) == {} for item in items if item.status != "ok")
    assert {item.source for item in items} == {"simulated"}
    assert len({item.retrieved_at for item in items}) == 1
    assert json.loads(json.dumps([dict(item.body) for item in items])) == [
        dict(item.body) for item in items
    ]


def test_only_tools_that_read_labels_name_a_view(demo: Demo) -> None:
    argued, _, test = runs_of(demo)
    readers = {item.tool for item in distinct_evidence(demo) if item.view}
    assert readers == {"base_rates", "pathway_neighbours"}
    assert {item.view for row in test.rows for item in row.evidence} == {"", "train"}
    assert all(
        item.view.startswith("train without fold")
        for row in argued.rows
        for item in row.evidence
        if item.view
    )


def test_labels_in_a_dossier_come_from_rows_without_the_folds_perturbations_and_genes(
    demo: Demo,
) -> None:
    """Counted again from the pairs: per view, nothing that shares a perturbation or a gene with a row that saw it."""
    pairs = {pair.pair_id: pair for pair in demo.pairs}
    for run in runs_of(demo):
        seen_by: dict[str, list[RowResult]] = defaultdict(list)
        for row in run.rows:
            (view,) = {item.view for item in row.evidence} - {""}
            seen_by[view].append(row)
        for rows in seen_by.values():
            own = [pairs[row.prediction.pair_id] for row in rows]
            perts, genes = {pair.pert for pair in own}, {pair.gene for pair in own}
            seen = [
                pair
                for pair in of_split(demo, "train")
                if pair.pert not in perts and pair.gene not in genes
            ]
            counts = Counter((pair.pert, pair.label) for pair in seen)
            up, down = (
                sum(pair.label is label for pair in seen) for label in (Label.UP, Label.DOWN)
            )
            expected = {
                "n": len(seen),
                "p_de": (up + down) / len(seen),
                "p_up_given_de": up / (up + down),
            }
            for item in {id(item): item for row in rows for item in row.evidence}.values():
                if item.tool == "base_rates":
                    assert dict(item.body) == pytest.approx(expected, abs=5.1e-4)
                for partner in item.body.get("partners", []):
                    up, down, none = (
                        counts[partner["symbol"], label]
                        for label in (Label.UP, Label.DOWN, Label.NONE)
                    )
                    assert partner["symbol"] not in perts
                    assert (partner["n"], partner["de"], partner["up"], partner["down"]) == (
                        up + down + none,
                        up + down,
                        up,
                        down,
                    )
