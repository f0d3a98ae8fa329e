"""The comparison of two runs: on which rows, inside which cells, and with which noise."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import rankdata, spearmanr

from core.base.errors import InputError
from core.base.result import to_json
from core.base.types import Flag
from core.features.importing.actions import import_upload
from core.runs.workspace import Workspace
from core.scoring import compare_runs as compare_module
from core.scoring import run_scores
from core.scoring.compare_runs import compare_runs, pair_runs, run_differences, scores_of_cuts
from core.stats.official_score import point_score
from core.stats.scores_and_labels import scores_from_probabilities
from core.transfer.protocols import EvaluationProtocol
from core.transfer.run_cells import cells_of_cuts, cells_under
from tests import cases
from tests.scoring.test_run_scores import P_DE, P_UP, loaded, rows_of, run_of

OTHER = scores_from_probabilities(P_DE[::-1].copy(), P_UP[::-1].copy())


def test_runs_on_different_datasets_are_not_compared() -> None:
    other = replace(rows_of(), run=run_of("b", dataset="other"))
    with pytest.raises(InputError, match="different labels"):
        pair_runs(rows_of(), other)


def test_runs_without_a_row_in_common_are_not_compared(small_workspace: Workspace) -> None:
    import_upload(small_workspace, cases.submission([("Pc_Gm12", 0.1, 0.1, "none")]), "second.csv")
    with pytest.raises(InputError, match="no row in common"):
        pair_runs(loaded(small_workspace, "debate"), loaded(small_workspace, "second"))


def test_the_verdict_follows_the_interval(demo_workspace: Workspace) -> None:
    good, bad = (
        loaded(demo_workspace, "simulated debate"),
        loaded(demo_workspace, "simulated collapsed debate"),
    )
    result = compare_runs(bad, good)
    assert result.covered.mean.change.shown.low > 0
    assert "is better than" in result.sentence
    assert "is worse than" in compare_runs(good, bad).sentence
    change = result.covered.mean.change.shown
    for margin, verdict in (
        (change.estimate / 2, "Confirmed: it is better,"),
        (change.high * 1.1, "Confirmed, small: it is better,"),
    ):
        assert replace(result, margin=margin).remarks[0].startswith(verdict)
    assert replace(compare_runs(good, bad), margin=0.01).remarks[0] == "Harmful: it is worse."
    same = compare_runs(good, good)
    assert " are equal in mean of DE and DIR: each of " in same.sentence
    assert not any(
        "distinguished" in each or "not evidence" in each for each in (same.sentence, *same.caveats)
    )


def test_one_class_is_said_and_not_scored() -> None:
    rows = rows_of(labels=["none"] * 8)
    result = compare_runs(rows, rows)
    assert "for neither question do both runs have a score" in result.sentence
    assert math.isnan(result.covered.mean.change.shown.estimate)


def test_without_labels_there_are_nulls_and_words(demo_workspace: Workspace) -> None:
    rows = loaded(demo_workspace, "simulated debate test")
    result = compare_runs(rows, rows)
    assert "No labels here" in result.sentence
    assert "No row moves in DE." in result.caveats[0]
    assert to_json(result)["delta_mean"] is None


def test_runs_without_labels_differ_in_ranks() -> None:
    a, b = rows_of(labels=[None] * 8), rows_of(labels=[None] * 8, scores=OTHER, name="b")
    de, _ = run_differences(*pair_runs(a, b))
    assert (de.name, de.n, de.top) == ("DE", 8, 1)  # a tenth of eight rows
    assert de.spearman == pytest.approx(spearmanr(a.scores.p_de, b.scores.p_de).statistic)
    moves = [abs(row["rank_b"] - row["rank_a"]) for row in de.movers]
    assert moves == sorted(moves, reverse=True)
    assert moves[0] == np.abs(rankdata(-a.scores.p_de) - rankdata(-b.scores.p_de)).max()
    words = compare_runs(a, b).caveats[0]
    correlation = f"{de.spearman:.3f}".replace("-", "−")
    assert words.startswith(
        f"DE: rank correlation {correlation} over 8 rows; of the 1 highest rows of each, "
    )
    assert "{pair_id} {rank_a:.0f} → {rank_b:.0f}".format(**de.movers[0]) in words


def test_ties_at_the_end_of_the_highest_rows_are_all_among_them() -> None:
    tied = rows_of(
        labels=[None] * 8,
        scores=scores_from_probabilities(
            np.array([0.9, 0.9, 0.9, *[0.1] * 5]), np.linspace(0, 1, 8)
        ),
    )
    de, direction = run_differences(*pair_runs(tied, tied))
    assert (de.top, de.shared_top) == (1, 3)
    assert direction.shared_top == 1
    assert "of the 1 highest rows of each, ties included, 3 are the same." in de.describe("a", "b")


def test_rows_in_another_order_are_lined_up() -> None:
    b = rows_of(scores=OTHER, name="b")
    order = np.array([3, 7, 1, 0, 5, 2, 6, 4])
    plain, shuffled = compare_runs(rows_of(), b), compare_runs(rows_of(), b.take(order))
    assert repr(plain.covered) == repr(
        shuffled.covered
    )  # NaN, of which there are some, does not equal itself
    some = compare_runs(rows_of(), b.take(order[:5]))
    assert some.a.frame["pair_id"].tolist() == some.b.frame["pair_id"].tolist()
    assert some.covered.n == 5


def test_a_run_without_cells_is_scored_inside_those_of_the_other() -> None:
    folds = EvaluationProtocol("folds", 2, 7)
    a, b = rows_of(), rows_of(scores=OTHER, name="b").under((folds,))
    result = compare_runs(a, b)
    assert result.scored == "inside 2×2 cells, cut 7"
    cells = cells_under((folds,), a.index, a.positions)
    first, second = (point_score(rows.labels, rows.scores, cells) for rows in (a, b))
    assert (result.covered.de.before.value, result.covered.de.after.value) == pytest.approx(
        (first.de, second.de)
    )
    assert result.covered.de.change.value == pytest.approx(second.de - first.de)
    assert not result.cuts_known  # b does not say what other cuts would score
    assert any("not recorded" in sentence for sentence in result.caveats)


def test_the_cuts_of_the_difference_are_those_of_both_runs() -> None:
    folds = EvaluationProtocol("folds", 2, 7)
    a = rows_of()
    cuts = np.array([[0.5, 0.5], [0.7, 0.4], [0.6, 0.9]])
    b = replace(rows_of(scores=OTHER, name="b").under((folds,)), cuts=cuts)
    of_a = scores_of_cuts(
        a, a.scores, a.labels, cells_of_cuts((folds,), a.index, a.positions, range(3))
    )
    by_hand = [
        point_score(
            a.labels, a.scores, cells_under((replace(folds, seed=seed),), a.index, a.positions)
        )
        for seed in range(3)
    ]
    np.testing.assert_array_equal(of_a, [[each.de, each.dir] for each in by_hand])
    known, unknown = compare_runs(a, b), compare_runs(a, replace(b, cuts=cuts[:0]))
    assert known.cuts_known
    spread = (cuts - of_a).mean(axis=1).var(ddof=1)
    if not np.isnan(spread):
        added = known.covered.mean.change.shown.se**2 - unknown.covered.mean.change.shown.se**2
        assert added == pytest.approx(spread, nan_ok=True)


def test_two_cuts_with_few_pairs_inside_both_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    a = rows_of().under((EvaluationProtocol("folds", 2, 0),))
    b = rows_of(scores=OTHER, name="b").under((EvaluationProtocol("folds", 2, 1),))
    with pytest.raises(
        InputError, match=r"different cuts.* pairs of rows for DE inside both; expected 1,000"
    ):
        compare_runs(a, b)
    monkeypatch.setattr(compare_module, "FEWEST_PAIRS", 0)
    result = compare_runs(a, b)
    assert result.scored == "inside the cells of 2×2 cut 0 and 2×2 cut 1"
    assert result.a.cells is not None
    first, second = a.cells, b.cells
    assert first is not None
    assert second is not None
    together = {(x, y): z for x, y, z in zip(first, second, result.a.cells, strict=True)}
    assert len(set(together.values())) == len(together)


def test_runs_are_compared_on_the_rows_that_both_cover() -> None:
    a = rows_of(flags={0: Flag.UNCOVERED})
    b = rows_of(scores=OTHER, flags={3: Flag.UNCOVERED}, name="b")
    result = compare_runs(a, b)
    assert (result.covered.n, len(result.a)) == (6, 6)
    assert result.all_rows.n == 8
    shape = to_json(result)
    assert (shape["n"], shape["all_rows"]["n"]) == (6, 8)
    assert any("6 of 8 rows that both cover" in each for each in result.caveats)
    assert compare_runs(rows_of(), rows_of()).all_rows is None


def test_a_control_is_compared_inside_the_cells_of_the_run(demo_workspace: Workspace) -> None:
    rows = loaded(demo_workspace, "simulated debate")
    result = compare_runs(run_scores.count_rows(rows), rows)
    assert result.covered.de.after.value == run_scores.score_run(rows).whole.de.value


def test_on_a_cell_line_the_macro_scores_are_compared_and_named() -> None:
    a, b = (
        rows_of(headline="macro", name="a"),
        replace(rows_of(headline="macro", name="b"), scores=OTHER),
    )
    result = compare_runs(a, b)
    mine, other = (run_scores.score_run(each).headline for each in (a, b))
    assert result.covered.mean.change.value == pytest.approx(
        other.value.estimate - mine.value.estimate
    )
    assert result.headline == mine.name == "macro AUROC by gene, mean of DE and DIR"
    over_all = compare_runs(rows_of(), replace(rows_of(name="b"), scores=OTHER)).covered
    assert result.pooled.mean.change.value == over_all.mean.change.value
    assert "macro AUROC by gene, mean of DE and DIR" in result.sentence
    assert any(word.startswith("Pooled over genes, DE by ") for word in result.caveats)
    assert result.genes.common == result.genes.a == result.genes.b == mine.genes
    fewer = compare_runs(
        a, replace(b, covered=np.arange(8) > 1)
    ).genes  # b says nothing of two rows
    assert fewer.a == mine.genes
    assert fewer.common == fewer.b
    assert fewer.common[0] < fewer.a[0]
    said = compare_runs(a, replace(b, covered=np.arange(8) > 1)).caveats
    counts = (fewer.common[0], fewer.a[0], fewer.b[0])
    assert (
        "DE is compared on the {} genes for which both have a score; a alone has {}, b alone {}.".format(
            *counts
        )
        in said
    )
    shape = to_json(result)
    assert (shape["headline"], shape["pooled"]["delta_de"]["estimate"]) == (
        mine.name,
        result.pooled.de.change.value,
    )


def test_two_runs_that_rank_alike_are_equal(demo_workspace: Workspace) -> None:
    rows = loaded(demo_workspace, "simulated debate")
    squared = scores_from_probabilities(rows.scores.p_de**2, rows.scores.p_up**3)
    found = compare_runs(rows, replace(rows, scores=squared))
    assert found.covered.mean.change.shown.se == 0
    assert "are equal in mean of DE and DIR" in found.sentence
    assert f"each of {found.covered.n_labelled:,} labelled rows" in found.sentence
    assert not math.isnan(found.covered.mean.change.shown.low)


def test_the_table_and_the_figure_hold_every_interval_of_a_comparison() -> None:
    result = compare_runs(rows_of(), rows_of(scores=OTHER, name="b"))
    table = result.tables()[0].rows
    assert [row["metric"] for row in table] == ["DE"] * 4 + ["DIR"] * 4 + ["mean"] * 4
    assert [row["unit"] for row in table] == [
        "perturbation and gene",
        "row",
        "perturbation",
        "gene",
    ] * 3
    figure = result.figure()
    drawn = figure.values["table"]
    for _, row in drawn.iterrows():
        unit = {words: name for name, words in compare_module.UNITS.items()}[row["unit"]]
        expected = getattr(result.covered.parts[row["metric"]].change, unit)
        np.testing.assert_equal(
            [row["estimate"], row["low"], row["high"], row["n"]], [*expected.ends, expected.n]
        )
