"""A cell line from its files: directions complete effects, and what contradicts is rejected by name."""

from __future__ import annotations

from core.base.types import FileRows, Label, Pair, Rejected
from core.features.importing.dataset_choice import cell_line_context, combine_files

DE, NONE, UP, DOWN = Label.DE, Label.NONE, Label.UP, Label.DOWN


def file_of(source: str, *rows: tuple[str, str, Label, str]) -> FileRows:
    pairs = [Pair(f"{pert}_{gene}", pert, gene, label, split) for pert, gene, label, split in rows]
    return FileRows(source, f"{source}.csv", pairs, list(range(2, 2 + len(pairs))))


EFFECTS = file_of(
    "effects", ("A", "X", DE, "train"), ("A", "Y", NONE, "train"), ("B", "X", DE, "test")
)
DIRECTIONS = file_of("directions", ("B", "X", DOWN, "test"), ("C", "Z", UP, "train"))


def test_directions_complete_rows_or_bring_their_own() -> None:
    for files in ([EFFECTS, DIRECTIONS], [DIRECTIONS, EFFECTS]):
        found = combine_files(files)
        assert [(pair.pair_id, pair.label) for pair in found.pairs] == [
            ("A_X", DE),
            ("A_Y", NONE),
            ("B_X", DOWN),
            ("C_Z", UP),
        ]
        assert found.sources == ["effects", "effects", "effects", "directions"]
        assert found.rejected == {"effects": [], "directions": []}


def test_a_contradiction_says_what_both_files_have() -> None:
    wrong = file_of(
        "wrong", ("A", "Y", UP, "train"), ("A", "X", UP, "test"), ("B", "X", DOWN, "test")
    )
    for files in ([EFFECTS, wrong], [wrong, EFFECTS]):
        found = combine_files(files)
        assert [(pair.pair_id, pair.label) for pair in found.pairs] == [
            ("A_X", DE),
            ("A_Y", NONE),
            ("B_X", DOWN),
        ]
        assert found.rejected["wrong"] == [
            Rejected(
                "wrong.csv",
                2,
                "conflicting label",
                "A_Y has label up in wrong.csv, label none in effects.csv",
            ),
            Rejected(
                "wrong.csv",
                3,
                "conflicting label",
                "A_X has split test in wrong.csv, split train in effects.csv",
            ),
        ]
        assert found.rejected["effects"] == []


def test_of_two_files_of_one_kind_the_earlier_counts() -> None:
    other = file_of("other", ("B", "X", UP, "test"), ("C", "Z", UP, "train"))
    found = combine_files([EFFECTS, DIRECTIONS, other])
    assert [pair.label for pair in found.pairs] == [DE, NONE, DOWN, UP]
    # the direction is from the earlier -dir file, so that one is named
    assert found.rejected["other"] == [
        Rejected(
            "other.csv",
            2,
            "conflicting label",
            "B_X has label up in other.csv, label down in directions.csv",
        )
    ]
    later = file_of("later", ("A", "X", NONE, "train"))
    assert [row.detail for row in combine_files([EFFECTS, later]).rejected["later"]] == [
        "A_X has label none in later.csv, label de in effects.csv"
    ]


def test_one_id_of_two_pairs_is_a_contradiction() -> None:
    one, two = file_of("one", ("A", "B_C", DE, "train")), file_of("two", ("A_B", "C", UP, "train"))
    assert combine_files([two, one]).rejected["two"] == [
        Rejected(
            "two.csv", 2, "conflicting label", "A_B_C has A_B on C in two.csv, A on B_C in one.csv"
        )
    ]


def test_every_line_of_perturbqa_has_its_own_context() -> None:
    lines = ("k562", "rpe1", "hepg2", "jurkat", "k562_set")
    assert [cell_line_context(line).split(",")[0] for line in lines] == [
        "K562",
        "RPE1",
        "HepG2",
        "Jurkat",
        "K562",
    ]
    assert len({cell_line_context(line) for line in lines}) == 5
    assert "gene sets" in cell_line_context("k562_set")
    assert cell_line_context("thp1") == "thp1; CRISPRi"
