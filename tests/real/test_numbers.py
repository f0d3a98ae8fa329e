"""The published runs, imported, give the reference numbers."""

from __future__ import annotations

import numpy as np
import pytest

from core.features.arguments import rubric_tables
from core.features.arguments.rubric import answer_by_rule, count_answers, rubrics_of_rules
from core.runs.workspace import Workspace
from core.scoring.run_scores import load_scored_rows
from core.stats.calibration import tie_bounds
from core.store import predictions, runs
from core.store.predictions import RowFilter
from tests.commands import core_json

ROLES = ("EFFECT", "NULL", "UP", "DOWN")
YES = {  # of 1,813 briefs of each role, and in all
    "short": (1191, 1202, 1768, 1742, 5903),
    "option": (776, 822, 1343, 1246, 4187),
    "against": (131, 5, 669, 1110, 1915),
    "answers": (1555, 1403, 1810, 1788, 6556),
    "answers_against": (212, 15, 878, 1452, 2557),
    "bare": (583, 559, 424, 495, 2061),
}


def test_the_labelled_pool(real_workspace: Workspace) -> None:
    score = core_json(real_workspace, "score", "track_a_logprobs_train2499")
    assert (score["n"], score["n_labelled"], score["n_de"]) == (2499, 2499, 1117)
    assert score["de"]["estimate"] == pytest.approx(0.5788, abs=5e-4)
    assert score["dir"]["estimate"] == pytest.approx(0.5797, abs=5e-4)
    expected = {"row": 0.0111, "pert": 0.0129, "gene": 0.0123, "two_way": 0.0139, "product": 0.0208}
    found = {unit: (score["mean"] | {"product": score["product"]})[unit]["se"] for unit in expected}
    assert found == pytest.approx(expected, rel=0.1)


def test_the_probabilities_of_the_pool_stay_apart(real_workspace: Workspace) -> None:
    with real_workspace.store.read() as db:
        rows = load_scored_rows(db, "track_a_logprobs_train2499")
    assert len(np.unique(rows.scores.p_de)) >= 2_468
    de, _ = rows.arrays.tasks()
    bounds = tie_bounds(de.positive[de.rows], de.values[de.rows])
    assert (bounds.floor, bounds.auroc, bounds.ceiling) == pytest.approx((0.5788,) * 3, abs=5e-5)


def test_a_run_without_labels(real_workspace: Workspace) -> None:
    score = core_json(real_workspace, "score", "track_b_sharp")
    assert (score["n"], score["n_labelled"]) == (1813, 0)
    assert (score["de"], score["dir"], score["mean"]) == (None, None, None)


def test_the_published_debate(real_workspace: Workspace) -> None:
    audit = core_json(real_workspace, "audit debate track_b_sharp")
    assert [audit["roles"][role]["n"] for role in ROLES] == [1813] * 4
    for name, yes in YES.items():
        assert tuple(audit["roles"][role][name] for role in ROLES) == yes[:4], name
    assert audit["rows_by_arguing"] == [794, 710, 289, 19, 1]
    assert [c["cites"] for c in audit["roles"].values()] == [None] * 4  # the file kept no dossier
    assert (audit["de_fallbacks"], audit["dir_fallbacks"], audit["distinct_p_de"]) == (38, 21, 55)


@pytest.mark.soak
def test_the_rubrics_of_the_published_debate(real_workspace: Workspace) -> None:
    """Each rule, asked anew of every stored text, gives both tables and what stands below them."""
    with real_workspace.store.read() as db:
        run = runs.find(db, "track_b_sharp").id
        counts = {
            rubric.name: count_answers(
                rubric, answer_by_rule(rubric, rubric_tables.texts(db, run, rubric))
            )
            for rubric in rubrics_of_rules()
        }
    n_briefs = {"EFFECT": 1813, "NULL": 1813, "UP": 1813, "DOWN": 1813, "all": 7252}
    for name, yes in YES.items():
        assert {role: found["n"] for role, found in counts[name].items()} == n_briefs
        assert tuple(found["yes"] for found in counts[name].values()) == yes, name
    assert list(counts["advocates_arguing"]["all"]["answers"].values()) == [794, 710, 289, 19, 1]
    assert [counts[name]["all"]["yes"] for name in ("de_fallback", "dir_fallback")] == [38, 21]
    assert (counts["cites"]["all"]["n"], counts["cites"]["all"]["unanswered"]) == (
        0,
        7252,
    )  # the file kept no dossier


@pytest.mark.soak
def test_rows_of_the_published_debate_by_their_briefs(real_workspace: Workspace) -> None:
    with real_workspace.store.read() as db:
        run = runs.find(db, "track_b_sharp").id
        by_arguing = [
            len(predictions.find_pair_ids(db, run, RowFilter(arguing=n))) for n in range(5)
        ]
        by_role = [
            len(predictions.find_pair_ids(db, run, RowFilter(finding=(role, "answers_against"))))
            for role in ROLES
        ]
    assert by_arguing == [794, 710, 289, 19, 1]
    assert by_role == [212, 15, 878, 1452]


def test_everything_was_imported(real_workspace: Workspace) -> None:
    found = {
        run["name"]: (run["done"], run["fallbacks"])
        for run in core_json(real_workspace, "runs")["runs"]
    }
    assert found["track_b_sharp"] == (1813, 59)
    assert found["track_c_qwen3_4b"] == (1813, 17)
    assert len([name for name in found if name.startswith("track_")]) == 7
    assert found["grn_features_train reachable"] == (7705, 0)
