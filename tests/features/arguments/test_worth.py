"""What an argument is worth: rows with it against rows without, on a simulated debate."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from core.base.errors import InputError
from core.base.result import to_json
from core.features.arguments.rubric import Rubric
from core.features.arguments.worth import (
    MEASURES,
    ArgumentWorth,
    RubricWorth,
    load_outcomes,
    rows_with_answer,
    rubric_worth,
)
from core.runs.workspace import Workspace
from core.scoring.run_scores import RunRows
from core.stats.multiplicity import holm
from core.stats.scores_and_labels import outcome_of
from tests.scoring.test_run_scores import CELLS, GENE, LABELS, P_DE, P_UP, PERT, loaded, rows_of
from tests.stats.oracles import contribution

ONE, TWO = Rubric("one", "Is it?"), Rubric("two", "Is it so?", unit="row")
HITS = pd.Series(["hit", "miss", "hit", None, "hit", "hit", "miss", "miss"])
IDS = [f"{pert}_{gene}" for pert, gene in zip(PERT, GENE, strict=True)]


def said(answers: list[str], texts: int = 1) -> pd.DataFrame:
    """Readings with one answer a text, rows in order."""
    return pd.DataFrame(
        {
            "pair_id": np.repeat(IDS[: len(answers) // texts], texts),
            "seq": 0,
            "answer": answers,
            "p": np.nan,
        }
    )


def test_one_text_of_a_row_is_enough_and_an_unread_row_is_neither() -> None:
    found = rows_with_answer(said(["yes", "no", "no", "", "", "", "no", "no"], 2), "yes")
    assert found.to_dict() == {IDS[0]: True, IDS[1]: False, IDS[3]: False}


@pytest.mark.parametrize("cells", [None, CELLS], ids=["all rows", "cells"])
def test_means_equal_loops(cells: np.ndarray | None) -> None:
    rows = rows_of(cells=cells)
    answers = ["yes", "no", "yes", "no", "no", "yes", "no", ""]
    [found] = rubric_worth(rows, HITS, [(ONE, said(answers))]).rubrics
    assert (found.yes["n"], found.no["n"], found.unread) == (3, 4, 1)
    outcome = outcome_of(LABELS)
    for side, word in (("yes", "yes"), ("no", "no")):
        chosen = [i for i, each in enumerate(answers) if each == word]
        hits = [HITS[i] == "hit" for i in chosen if HITS[i] in ("hit", "miss")]
        assert getattr(found, side)["hit_rate"].estimate == pytest.approx(np.mean(hits))
        for key, positive, scores, counts in (
            ("de", outcome.effect, P_DE, outcome.labelled),
            ("dir", outcome.up, P_UP, outcome.directed),
        ):
            values = np.array([contribution(i, positive, scores, counts, cells) for i in chosen])
            expected = values[~np.isnan(values)].mean() if not np.isnan(values).all() else np.nan
            assert getattr(found, side)[key].estimate == pytest.approx(expected, nan_ok=True)


@pytest.fixture(scope="module")
def debate(demo_workspace: Workspace) -> tuple[RunRows, pd.Series]:
    rows = loaded(demo_workspace, "simulated debate")
    with demo_workspace.store.read() as db:
        return rows, load_outcomes(db, rows)


def by_row(rows: RunRows, yes: np.ndarray) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "pair_id": rows.frame["pair_id"],
            "seq": -1,
            "answer": np.where(yes, "yes", "no"),
            "p": np.nan,
        }
    )


@pytest.fixture(scope="module")
def tried(debate: tuple[RunRows, pd.Series]) -> tuple[ArgumentWorth, ...]:
    """A rubric that knows which rows are hits, and one that draws them by lot."""
    rows, outcomes = debate
    lot = np.random.default_rng(0).random(len(rows)) < 0.4
    return rubric_worth(
        rows,
        outcomes,
        [(ONE, by_row(rows, outcomes.eq("hit").to_numpy())), (TWO, by_row(rows, lot))],
    ).rubrics


def test_holm_counts_every_measure_of_every_rubric(tried: tuple[ArgumentWorth, ...]) -> None:
    p = [each.p[key] for each in tried for key in MEASURES]
    corrected = [each.p_holm[key] for each in tried for key in MEASURES]
    assert corrected == pytest.approx(holm(p).tolist(), nan_ok=True)
    assert (
        max(value / one for value, one in zip(corrected, p, strict=True) if value < 1) > 3
    )  # more than one rubric's measures


def test_hits_differ_where_they_are_chosen_and_not_by_lot(tried: tuple[ArgumentWorth, ...]) -> None:
    knowing, lot = tried
    assert (knowing.yes["hit_rate"].estimate, knowing.no["hit_rate"].estimate) == (1, 0)  # type: ignore[union-attr]
    assert knowing.delta["hit_rate"].estimate == 1
    assert knowing.delta["de"].low > 0
    assert knowing.p_holm["de"] < 0.05
    assert all(lot.p_holm[key] > 0.05 for key in MEASURES)
    assert "no measure is shown to differ" in lot.sentence
    assert "higher in DE contribution" in knowing.sentence


def test_the_rows_are_named_and_a_single_rubric_has_its_keys_at_the_top(
    tried: tuple[ArgumentWorth, ...], debate: tuple[RunRows, pd.Series]
) -> None:
    knowing, lot = tried
    assert knowing.sentence.startswith(
        f"one: {knowing.yes['n']:,} rows where at least one advocate's text is “yes”"
    )
    assert "rows whose answer is “yes”" in lot.sentence
    rows, outcomes = debate
    both = to_json(RubricWorth("run", "all rows", tried))
    single = to_json(
        rubric_worth(rows, outcomes, [(TWO, by_row(rows, outcomes.eq("miss").to_numpy()))])
    )
    assert [each["rubric"] for each in both["rubrics"]] == ["one", "two"]
    assert both["yes"] is None
    assert single["yes"] == single["rubrics"][0]["yes"]
    assert single["yes"]["n"] + single["no"]["n"] == len(rows)
    assert set(single["delta"]) == set(single["p_holm"]) == set(MEASURES)
    assert single["delta"]["de"]["low"] < single["delta"]["de"]["high"]


def test_runs_without_labels_and_answers_that_are_none_are_refused(
    demo_workspace: Workspace,
) -> None:
    without = loaded(demo_workspace, "simulated debate test")
    with pytest.raises(InputError, match="simulated debate test: none of its 600 rows has a label"):
        rubric_worth(without, pd.Series([None] * len(without)), [(ONE, said(["yes"] * 8))])
    with pytest.raises(InputError, match="rubric one: answer 'maybe', expected one of yes, no"):
        rubric_worth(rows_of(), HITS, [(ONE, said(["yes"] * 8))], "maybe")


def test_an_answer_that_no_row_has_gives_no_difference() -> None:
    found = rubric_worth(rows_of(), HITS, [(replace(ONE, name="never"), said(["no"] * 8))])
    assert found.rubrics[0].yes["n"] == 0
    assert np.isnan(found.rubrics[0].delta["de"].estimate)
    assert np.isnan(found.rubrics[0].p_holm["de"])
    assert to_json(found)["delta"]["de"] is None
    assert "no measure is shown to differ" in found.sentence
