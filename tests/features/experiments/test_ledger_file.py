"""Files of hypotheses that others published: the ladder of the challenge, and what is wrong with a file."""

from __future__ import annotations

import pytest
from scipy.stats import norm

from core.errors import InputError, UnknownFormat
from core.features.experiments.ledger_file import LADDER, read_published
from core.features.experiments.ledger_result import LedgerResult, ledger_of
from core.store.hypotheses import Entry
from tests.features.experiments.cases import numbered

# The z that were published.
Z = [3.1, 2.1, 0.9, -0.9, -0.7, -0.4, -1.6, -1.7, -1.4]


@pytest.fixture(scope="module")
def ladder() -> LedgerResult:
    return ledger_of(numbered(read_published(LADDER.read_bytes(), LADDER.name)))


def test_one_of_nine_steps_survives(ladder: LedgerResult) -> None:
    lines = ladder.hypotheses
    p = [2 * norm.sf(abs(z)) for z in Z]
    assert [line.entry.z for line in lines] == pytest.approx(Z)
    assert [line.p.p for line in lines] == pytest.approx(p)
    assert lines[0].p.holm == pytest.approx(9 * p[0])  # 0.0174
    assert [line.entry.name for line in lines if line.survives] == ["kNN fusion"]
    assert [line.entry.verdict for line in lines] == ["confirmed"] + ["undecided"] * 8
    assert all(words in ladder.sentence for words in ("of 9 results", "kNN fusion", "0.0174"))


def test_differences_that_a_leaderboard_half_cannot_show(ladder: LedgerResult) -> None:
    lines = ladder.hypotheses[:6]
    assert [line.entry.estimate for line in lines] == pytest.approx([0.037, 0.013, 0.005, -0.003, -0.002, -0.001])
    assert [line.entry.detectable for line in lines] == [0.033, 0.018, 0.015, 0.018, 0.015, 0.018]
    below, by_z = ladder.caveats
    assert "scGPT" in below
    assert "kNN fusion" not in below
    assert "3-seed ensemble" in by_z


def test_the_scores_stand_in_their_order(ladder: LedgerResult) -> None:
    steps = ladder.steps()
    assert [step["score"] for step in steps] == [0.569, 0.606, 0.619, 0.624, 0.621, 0.622, 0.623, 0.551, 0.558, 0.583]
    assert [step["half width"] for step in steps] == pytest.approx([1.96 * 0.025] * 10, abs=1e-5)
    assert [step["verdict"] for step in steps] == [None, "confirmed", *["undecided"] * 8]


def test_a_line_says_where_it_is_from(ladder: LedgerResult) -> None:
    line = ladder.hypotheses[1].json_value
    assert (line["source"], line["seen_before"], line["survives_holm"]) == ("published elsewhere", None, False)
    assert line["estimate"] == pytest.approx(0.013)
    assert ladder.hypotheses[8].json_value["estimate"] is None


def entry(**values: object) -> Entry:
    """The entry of a file with one hypothesis about x."""
    given = {"name": "x", "hypothesis": "x helps", "dataset": "d", **values}
    [read] = read_published(",".join(given).encode() + b"\n" + ",".join(map(str, given.values())).encode() + b"\n", "f.csv")
    return read


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


def test_a_line_is_a_hypothesis() -> None:
    [row] = read_published(b"name,hypothesis,dataset,z,n,note\nkNN,It helps,d,3.1,904,\n", "l.csv")
    assert (row.name, row.hypothesis, row.dataset, row.z, row.n, row.note) == ("kNN", "It helps", "d", 3.1, 904, None)


def test_a_real_minus_sign_is_a_minus_sign() -> None:
    [row] = read_published("name,hypothesis,dataset,z\nx,h,d,−0.9\n".encode(), "l.csv")
    assert row.z == -0.9


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"name,hypothesis,dataset,zz\nx,h,d,1\n", "line 1: got 'zz', expected among name"),
        (b"name,hypothesis,dataset,z\nx,,d,1\n", "line 2: no hypothesis"),
        (b"name,hypothesis,dataset,z\nx,h,d,1\ny,h,d,much\n", "line 3: z: got 'much', expected a number"),
        (b"name,hypothesis,dataset,z\nx,h,d,inf\n", "z: got 'inf'"),
        (b"name,hypothesis,dataset,n\nx,h,d,1.5\n", "n: got '1.5', expected a whole number"),
        (b"name,hypothesis,dataset\nx,h\n", "line 2: wrong number of columns"),
    ],
)
def test_the_first_place_that_is_wrong_is_named(content: bytes, words: str) -> None:
    with pytest.raises(InputError, match=words):
        read_published(content, "l.csv")


@pytest.mark.parametrize("content", [b"name,hypothesis,dataset\n", b""])
def test_a_file_without_a_hypothesis_is_none(content: bytes) -> None:
    with pytest.raises(UnknownFormat):
        read_published(content, "l.csv")
