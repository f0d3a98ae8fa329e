"""The published ladder: nine steps, of which one survives, and what lay below the noise of a leaderboard."""

from __future__ import annotations

import pytest
from scipy.stats import norm

from core.datasets.ledger_file import read_ledger_file
from core.errors import InputError
from core.experiments.ledger import LedgerLine, ledger_lines, score_histories
from core.experiments.ledger_words import line_record, summary_sentences
from core.experiments.published_ladder import LADDER, entry_of_row
from core.store.hypotheses import Entry
from tests.experiments.cases import numbered

# The z that were published, and the detectable differences.
Z = [3.1, 2.1, 0.9, -0.9, -0.7, -0.4, -1.6, -1.7, -1.4]


@pytest.fixture(scope="module")
def ladder() -> list[LedgerLine]:
    rows = read_ledger_file(LADDER.read_bytes(), LADDER.name)
    return ledger_lines(numbered([entry_of_row(row.place, row.values) for row in rows]))


def test_one_of_nine_steps_survives(ladder: list[LedgerLine]) -> None:
    assert [line.entry.z for line in ladder] == pytest.approx(Z)
    p = [2 * norm.sf(abs(z)) for z in Z]
    assert [line.adjusted.p for line in ladder if line.adjusted] == pytest.approx(p)
    assert ladder[0].adjusted is not None
    assert ladder[0].adjusted.holm == pytest.approx(9 * p[0])  # 0.0174
    assert [line.entry.name for line in ladder if line.survives] == ["kNN fusion"]
    assert [line.entry.verdict for line in ladder] == ["confirmed"] + ["undecided"] * 8


def test_differences_that_a_leaderboard_half_cannot_show(ladder: list[LedgerLine]) -> None:
    assert [line.entry.estimate for line in ladder[:6]] == pytest.approx([0.037, 0.013, 0.005, -0.003, -0.002, -0.001])
    assert [line.entry.detectable for line in ladder[:6]] == [0.033, 0.018, 0.015, 0.018, 0.015, 0.018]
    first, below, by_z = summary_sentences(ladder)
    assert (
        first
        == "Published elsewhere, challenge: of 9 results 1 survives Holm's correction: kNN fusion (p 0.00194, after Holm 0.0174)."
    )
    assert "one leaderboard half (904 rows)" in below
    for words in ("scGPT +0.013 (detectable 0.018)", "w_dir 0.7 +0.005 (detectable 0.008–0.015)", "STATE −0.001"):
        assert words in below
    assert "kNN" not in below
    assert "3-seed ensemble −1.6, direction blend −1.7, cross base −1.4" in by_z


def test_the_history_begins_with_what_was_there_before(ladder: list[LedgerLine]) -> None:
    [(key, table)] = score_histories(ladder).items()
    assert key == ("published elsewhere", "challenge", "public leaderboard", "mean")
    assert table["score"].tolist() == [0.569, 0.606, 0.619, 0.624, 0.621, 0.622, 0.623, 0.551, 0.558, 0.583]
    assert table["is_best"].tolist() == [True] * 4 + [False] * 6
    assert (table["high"] - table["low"]).iloc[0] == pytest.approx(2 * 1.96 * 0.025, abs=1e-4)
    assert table["label"].iloc[0] == "sharp base"


def test_a_record_says_where_it_is_from(ladder: list[LedgerLine]) -> None:
    record = line_record(ladder[1])
    assert (record["source"], record["seen_before"], record["survives_holm"]) == ("published elsewhere", None, False)
    assert record["estimate"] == pytest.approx(0.013)
    assert line_record(ladder[8])["estimate"] is None


def entry(**values: object) -> Entry:
    return entry_of_row("f.csv, line 2", {"name": "x", "hypothesis": "x helps", "dataset": "d", **values})


def test_a_row_without_a_result_is_a_registration() -> None:
    found = entry(prediction="it rises")
    assert (found.kind, found.verdict, found.source) == ("registration", None, "published elsewhere")


def test_a_published_difference_is_judged_by_its_own_rule() -> None:
    """0.03 ± 0.01: above 0, and at least 0.02."""
    found = entry(estimate=0.03, se=0.01, n=500, smallest_effect=0.02, unit="pert")
    assert (found.verdict, found.z, found.unit, found.measured_on) == ("confirmed", pytest.approx(3), "pert", None)
    assert entry(estimate=0.03, se=0.01, smallest_effect=0.06).verdict == "confirmed, small"


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"estimate": 0.03}, "without its standard error"),
        ({"se": 0.03}, "a standard error without a difference"),
        ({"estimate": 0.03, "se": 0.0}, "se: got 0"),
        ({"score_a": 0.5, "score_b": 0.6, "z": -1.0}, "does not fit z"),
        ({"score_a": 0.5, "score_b": 0.5, "z": 1.0}, "does not fit z"),
        ({"estimate": 0.03, "se": 0.01, "z": 2.0}, "z is 2, but the difference is 3.00"),
        ({"z": 1.0, "measured_on": "test"}, "measured_on: got 'test'"),
        ({"z": 1.0, "unit": "cell"}, "unit: got 'cell'"),
        ({"z": 1.0, "metric": "f1"}, "metric: got 'f1'"),
        ({"z": 1.0, "smallest_effect": -1.0}, "smallest_effect: got -1"),
    ],
)
def test_values_that_do_not_fit_together_name_their_line(values: dict[str, object], words: str) -> None:
    with pytest.raises(InputError, match=f"f.csv, line 2: .*{words}"):
        entry(**values)
