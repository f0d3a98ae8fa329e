"""Files of hypotheses: CSV and TOML, and what is wrong with one."""

from __future__ import annotations

import pytest

from core.datasets.ledger_file import read_ledger_file
from core.errors import InputError, UnknownFormat

TOML = b"""
[[hypothesis]]
name = "kNN"
hypothesis = "It helps"
dataset = "d"
z = 3.1
n = 904
"""


def test_both_forms_say_the_same() -> None:
    table = b"name,hypothesis,dataset,z,n,note\nkNN,It helps,d,3.1,904,\n"
    [csv_row], [toml_row] = read_ledger_file(table, "l.csv"), read_ledger_file(TOML, "l.toml")
    assert (csv_row.place, toml_row.place) == ("l.csv, line 2", "l.toml, hypothesis 1")
    assert csv_row.values == toml_row.values == {"name": "kNN", "hypothesis": "It helps", "dataset": "d", "z": 3.1, "n": 904}


def test_a_real_minus_sign_is_a_minus_sign() -> None:
    [row] = read_ledger_file("name,hypothesis,dataset,z\nx,h,d,−0.9\n".encode(), "l.csv")
    assert row.values["z"] == -0.9


@pytest.mark.parametrize(
    ("content", "name", "words"),
    [
        (b"name,hypothesis,dataset,zz\nx,h,d,1\n", "l.csv", "line 1: got 'zz', expected among name"),
        (b"name,hypothesis,dataset,z\nx,,d,1\n", "l.csv", "line 2: no hypothesis"),
        (b"name,hypothesis,dataset,z\nx,h,d,1\ny,h,d,much\n", "l.csv", "line 3: z: got 'much', expected a number"),
        (b"name,hypothesis,dataset,z\nx,h,d,inf\n", "l.csv", "z: got 'inf'"),
        (b"name,hypothesis,dataset,n\nx,h,d,1.5\n", "l.csv", "n: got '1.5', expected a whole number"),
        (b"name,hypothesis,dataset\nx,h\n", "l.csv", "line 2: wrong number of columns"),
        (b"[[hypothesis]\n", "l.toml", "l.toml: Expected .*, expected TOML"),
        (b"[[hypothesis]]\nname='x'\nhypothesis='h'\ndataset='d'\nz=true\n", "l.toml", "hypothesis 1: z: got 'True'"),
        (b"[[hypothesis]]\nname='x'\nrun='y'\n", "l.toml", "hypothesis 1: got 'run'"),
    ],
)
def test_the_first_place_that_is_wrong_is_named(content: bytes, name: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        read_ledger_file(content, name)


@pytest.mark.parametrize(
    ("content", "name"),
    [(b"name,hypothesis,dataset\n", "l.csv"), (b"a=1", "l.toml"), (b"hypothesis=1", "l.toml"), (b"", "l.csv")],
)
def test_a_file_without_a_hypothesis_is_none(content: bytes, name: str) -> None:
    with pytest.raises(UnknownFormat):
        read_ledger_file(content, name)
