"""Files of hypotheses that others published: the ladder of the challenge, and what is wrong with a file."""

from __future__ import annotations

import pytest
from scipy.stats import norm

from core.base.errors import InputError
from core.base.result import plain
from core.features.experiments.ledger_result import LedgerResult, ledger_of
from core.features.experiments.ledger_table import LADDER, Entry, read_published
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
    assert [line.p for line in lines] == pytest.approx(p)
    assert lines[0].p_holm == pytest.approx(9 * p[0])  # 0.0174
    assert [line.entry.name for line in lines if line.survives_holm] == ["kNN fusion"]
    assert [line.entry.verdict for line in lines] == ["confirmed"] + ["undecided"] * 8
    assert all(words in ladder.sentence for words in ("of 9 results", "kNN fusion", "0.0174"))


def test_differences_that_a_leaderboard_half_cannot_show(ladder: LedgerResult) -> None:
    lines = ladder.hypotheses[:6]
    assert [line.entry.estimate for line in lines] == pytest.approx(
        [0.037, 0.013, 0.005, -0.003, -0.002, -0.001]
    )
    assert [line.entry.detectable for line in lines] == [0.033, 0.018, 0.015, 0.018, 0.015, 0.018]
    below, by_z = ladder.caveats
    assert "scGPT" in below
    assert "kNN fusion" not in below
    assert "3-seed ensemble" in by_z


def test_the_scores_stand_in_their_order(ladder: LedgerResult) -> None:
    steps = ladder.steps()
    assert [step["score"] for step in steps] == [
        0.569,
        0.606,
        0.619,
        0.624,
        0.621,
        0.622,
        0.623,
        0.551,
        0.558,
        0.583,
    ]
    assert [step["half width"] for step in steps] == pytest.approx([1.96 * 0.025] * 10, abs=1e-5)
    assert [step["verdict"] for step in steps] == [None, "confirmed", *["undecided"] * 8]


def test_a_line_says_where_it_is_from(ladder: LedgerResult) -> None:
    line = plain(ladder.hypotheses[1])
    assert (line["source"], line["seen_before"], line["survives_holm"]) == (
        "published elsewhere",
        None,
        False,
    )
    assert line["estimate"] == pytest.approx(0.013)
    assert plain(ladder.hypotheses[8])["estimate"] is None


def entry(**values: object) -> Entry:
    """The entry of a file with one hypothesis about x."""
    given = {"name": "x", "hypothesis": "x helps", "dataset": "d", **values}
    [read] = read_published(
        ",".join(given).encode() + b"\n" + ",".join(map(str, given.values())).encode() + b"\n",
        "f.csv",
    )
    return read


@pytest.mark.parametrize(
    ("difference", "detectable", "verdict"),
    [
        (0.037, 0.033, "confirmed"),
        (0.013, 0.018, "undecided"),
        (
            -0.003,
            0.018,
            "undecided",
        ),  # nothing that was published without a smallest effect is rejected
        (-0.025, 0.018, "harmful"),
    ],
)
def test_no_claim_is_made_of_a_leaderboard_difference_that_cannot_be_shown(
    difference: float, detectable: float, verdict: str
) -> None:
    """With a standard error of 0.006."""
    result = entry(
        score_a=0.5, score_b=0.5 + difference, z=difference / 0.006, detectable=detectable
    )
    assert (result.verdict, result.detectable, result.se) == (
        verdict,
        detectable,
        pytest.approx(0.006),
    )


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"score_a": 0.5, "score_b": 0.6, "z": -1.0}, "z: got -1"),
        ({"score_a": 0.5, "score_b": 0.5, "z": 1.0}, "z: got 1"),
        ({"z": 0.0}, "z: got 0"),
        ({"z": "inf"}, "z: got 'inf'"),
        ({"z": 1.0, "metric": "f1"}, "metric: got 'f1', expected de, dir, mean"),
        ({"z": 1.0, "score_se": -1.0}, "score_se: got '-1.0'"),
        ({"z": 1.0, "n": 1.5}, "n: got '1.5', expected a whole number"),
        ({"z": 1.0, "hypothesis": ""}, "hypothesis"),
    ],
)
def test_a_value_that_is_wrong_names_its_line_and_its_column(
    values: dict[str, object], words: str
) -> None:
    with pytest.raises(InputError, match=f"f.csv, line 2: {words}"):
        entry(**values)


def test_a_hypothesis_stands_once_in_a_file() -> None:
    with pytest.raises(InputError, match=r"l\.csv, line 3: name: got x"):
        read_published(b"name,hypothesis,dataset,z\nx,h,d,1\nx,h,d,2\n", "l.csv")


def test_a_line_is_a_hypothesis() -> None:
    [row] = read_published(
        b"\xef\xbb\xbfname,hypothesis,dataset,z,n,note\nkNN,It helps,d,3.1,904,\n", "l.csv"
    )
    assert (row.name, row.hypothesis, row.dataset, row.z, row.n, row.note) == (
        "kNN",
        "It helps",
        "d",
        3.1,
        904,
        None,
    )


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "l.csv"),
        (b"name,hypothesis,dataset,z\n", "got no line, expected a CSV file with columns of name"),
        (b"name,hypothesis,dataset,zz\nx,h,d,1\n", "zz"),
        (b"name,hypothesis,dataset,z\nx,h,d,much\n", "much"),
        (b"name,hypothesis,dataset,z\nx,h,d,1,2\n", "line 2"),
        (b"\xff\xfe\x00", "utf-8"),
    ],
)
def test_another_file_is_refused(content: bytes, words: str) -> None:
    with pytest.raises(InputError, match=words):
        read_published(content, "l.csv")
