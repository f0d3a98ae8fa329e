"""Columns that are named by a person count, repeats are asked about, and the advice of an error, followed, works."""

from __future__ import annotations

import re

import pytest

from core.base.errors import InputError
from core.features.importing.external_scores import ScoreTable
from core.features.importing.pairs import PairTable
from core.features.importing.reader import read
from core.features.importing.roles import TableOptions
from core.features.importing.submissions import SubmissionTable

PERTS = [f"Stat{i}" for i in range(1, 7)]
# Kind → header and cells of a row, of columns that no name tells; role → column; columns that other roles would take.
KINDS = {
    "labels": (
        ["a", "b", "truth", "label"],
        ["{}", "Irf1", "up", "down"],
        {"pert": "a", "gene": "b", "label": "truth"},
    ),
    "predictions": (
        ["a", "b", "mine", "other", "prediction_up"],
        ["{}", "Irf1", "0.5", "0.25", "0.9"],
        {"pert": "a", "gene": "b", "up": "mine", "down": "other"},
    ),
    "replies": (
        ["key", "b", "said", "answer"],
        ["{}_Irf1", "Irf1", "<answer>A</answer>", "B"],
        {"id": "key", "answer": "said"},
    ),
    "scores": (["a", "b", "score"], ["{}", "Irf1", "0.5"], {"pert": "a", "gene": "b"}),
}


def text_of(kind: str, lines: tuple[str, ...] = ("K562",)) -> bytes:
    header, cells, _ = KINDS[kind]
    rows = [",".join([*cells, line]).format(pert) for pert in PERTS for line in lines]
    return "\n".join([",".join([*header, "cell_line"]), *rows]).encode()


def values(table: PairTable | SubmissionTable | ScoreTable) -> object:
    if isinstance(table, PairTable):
        return [(pair.pair_id, str(pair.label)) for pair in table.pairs]
    if isinstance(table, SubmissionTable):
        return [
            (row.prediction.pair_id, row.prediction.prediction_up, row.prediction.prediction_down)
            for row in table.rows
        ]
    return [table.ids, table.columns]


EXPECTED = {
    "labels": [(f"{pert}_Irf1", "up") for pert in PERTS],
    "predictions": [(f"{pert}_Irf1", 0.5, 0.25) for pert in PERTS],
    "replies": [(f"{pert}_Irf1", 1.0, 0.0) for pert in PERTS],
    "scores": [tuple(f"{pert}_Irf1" for pert in PERTS), {"score": (0.5,) * 6}],
}


@pytest.mark.parametrize("kind", KINDS)
def test_columns_that_a_person_names_count(kind: str) -> None:
    table = read(text_of(kind), "t.csv", options=TableOptions(KINDS[kind][2]))
    assert (values(table), table.rejected) == (EXPECTED[kind], ())
    assert any("not used" in note and "cell_line" in note for note in table.notes)


@pytest.mark.parametrize("kind", KINDS)
def test_repeats_are_asked_about_and_the_advice_works(kind: str) -> None:
    content = text_of(kind, ("K562", "RPE1"))
    with pytest.raises(InputError, match="K562, RPE1") as error:
        read(content, "t.csv", options=TableOptions(KINDS[kind][2]))
    column, value = re.search(r"--where (\w+)=(\w+)", str(error.value)).groups()  # type: ignore[union-attr]
    table = read(content, "t.csv", options=TableOptions(KINDS[kind][2], {column: value}))
    assert (values(table), table.rejected) == (EXPECTED[kind], ())
    assert not any("cell_line" in note for note in table.notes)


@pytest.mark.parametrize(("role", "name"), [("perts", "a"), ("pert", "nobody")])
def test_a_role_or_column_that_is_none_is_refused(role: str, name: str) -> None:
    with pytest.raises(InputError, match=f"--column {role}={name}"):
        read(text_of("labels"), "t.csv", options=TableOptions({role: name}))


@pytest.mark.parametrize("damage", ["1-Mar", "43891", "2.31E+13", "TRUE", "#REF!", "7157"])
@pytest.mark.parametrize("kind", ["labels", "predictions", "scores"])
def test_symbols_that_excel_made_are_named(kind: str, damage: str) -> None:
    for content in (
        text_of(kind).replace(b"Stat2", damage.encode()),
        text_of(kind).replace(b"Stat2,Irf1", f"Stat2,{damage}".encode()),
    ):
        table = read(content, "t.csv", options=TableOptions(KINDS[kind][2]))
        assert [(row.line, row.reason) for row in table.rejected] == [(3, "no gene symbol")]
        assert damage in table.rejected[0].detail


def test_ids_of_traces_give_way_to_pert_and_gene() -> None:
    table = read(b"id,pert,gene,answer\nt-1,Stat1,Irf1,A\nt-2,Stat2,Irf1,B\n", "t.csv")
    assert values(table) == [("Stat1_Irf1", 1.0, 0.0), ("Stat2_Irf1", 0.0, 1.0)]


def test_a_line_final_is_the_answer_of_an_imported_reply() -> None:
    table = read(
        b'pert,gene,answer\nStat1,Irf1,"Up, as A says?\nFinal: B"\nStat2,Irf1,Final: A\n', "t.csv"
    )
    assert values(table) == [("Stat1_Irf1", 0.0, 1.0), ("Stat2_Irf1", 1.0, 0.0)]
