"""Files of hypotheses, and what is wrong with one."""

from __future__ import annotations

import pytest

from core.datasets.ledger_file import read_ledger_file
from core.errors import InputError, UnknownFormat


def test_a_line_is_a_hypothesis() -> None:
    [row] = read_ledger_file(b"name,hypothesis,dataset,z,n,note\nkNN,It helps,d,3.1,904,\n", "l.csv")
    assert row.place == "l.csv, line 2"
    assert row.values == {"name": "kNN", "hypothesis": "It helps", "dataset": "d", "z": 3.1, "n": 904}


def test_a_real_minus_sign_is_a_minus_sign() -> None:
    [row] = read_ledger_file("name,hypothesis,dataset,z\nx,h,d,−0.9\n".encode(), "l.csv")
    assert row.values["z"] == -0.9


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
        read_ledger_file(content, "l.csv")


@pytest.mark.parametrize("content", [b"name,hypothesis,dataset\n", b""])
def test_a_file_without_a_hypothesis_is_none(content: bytes) -> None:
    with pytest.raises(UnknownFormat):
        read_ledger_file(content, "l.csv")
