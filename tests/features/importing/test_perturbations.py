"""What values of a perturbation column mean."""

from __future__ import annotations

import pytest

from core.base.errors import InputError
from core.features.importing.perturbations import gene_of_condition, read_perturbations
from core.features.importing.symbols import looks_like_control

GENES = ["A", "B", "STAT1", "HLA-A", "NKX2-1", "CTRL", "WT1", "NT5E", "IFNGR2", "nan"]


def meaning(
    value: str, *others: str, controls: tuple[str, ...] = (), separator: str = ""
) -> tuple[str, str, str]:
    names = read_perturbations([value, *others], GENES, controls, separator)
    found = names.of_value[next(iter(names.of_value))]
    return found.kind, found.name, found.how


@pytest.mark.parametrize(
    ("value", "genes", "how"),
    [
        *(
            (value, "A", "")
            for value in (
                "A",
                "A+ctrl",
                "ctrl+A",
                "A_NTC",
                "A+non-targeting_0001",
                " A\u00a0",
                "A_NegCtrl0__A_NegCtrl0",
            )
        ),
        *(
            (f"A{joint}B", "A+B", "combination")
            for joint in ("+", "_", ";", ",", "|", "-", "__", "&", "/", ":", " + ")
        ),
        *(
            (value, value, "")
            for value in ("HLA-A", "NKX2-1", "WT1", "NT5E", "not-measured", "X_Y", "nan")
        ),
        ("HLA-A-NKX2-1", "HLA-A+NKX2-1", "combination"),
        *(
            (value, "A", "guide")
            for value in (
                "A_+_123.45-P1P2",
                "A_-_1.2-ENST1.1,ENST2.1",
                "A_sg2",
                "A-1",
                "sgA",
                "p_sgA_3",
                "A.1",
            )
        ),
        ("A_+_1.2-P1P2|B_-_3.4-P1P2", "A+B", "combination"),
        ("A_1_B_2", "A+B", "combination"),
        ("IFNGR2g1", "IFNGR2", "guide"),
        ("stat1", "STAT1", "spelling"),
        ("HLA-A_sg1", "HLA-A", "guide"),
        *(
            (value, "STAT1", "guide")
            for value in ("STAT1_KD", "STAT1 KO", "KO_STAT1", "STAT1_knockdown", "CRISPRi_STAT1")
        ),
        *(
            (value, "STAT1", "guide")
            for value in ("shSTAT1", "siSTAT1", "shSTAT1_1", "STAT1_KO_2", "STAT1_C", "sgSTAT1_d")
        ),
        *(
            (value, "STAT1", "")
            for value in ("STAT1|g1", "sg2;STAT1", "b'STAT1'", "['STAT1']", "('STAT1',)", '"STAT1"')
        ),
        *(
            (value, "A+B", "combination")
            for value in ("['A', 'B']", "('A', 'B')", "{'B', 'A'}", "A___B", "A_+_1.2-P1|g3|B")
        ),
        *((value, "HLA-A", "") for value in ("HLA\u2011A", "HLA\u2013A", "HLA\u2212A")),
        *((value, "NKX2-1", "spelling") for value in ("NKX2.1", "NKX2_1")),
        *(
            (value, value, "") for value in ("STAT1_OE", "CRISPRa_STAT1", "STAT1_stim")
        ),  # what raises it is not the same
    ],
)
def test_values_that_name_genes(value: str, genes: str, how: str) -> None:
    assert meaning(value) == ("genes", genes, how)


@pytest.mark.parametrize(
    "value",
    [
        *(
            "non-targeting",
            "non-targeting_00012",
            "NT",
            "NTg1",
            "NTC-3",
            "negative control",
            "NegCtrl0_NegCtrl0__NegCtrl0_NegCtrl0",
        ),
        *(
            "ctrl",
            "control_7",
            "sgControl-2",
            "safe-targeting",
            "Scramble",
            "unperturbed",
            "WT",
            "NO-TARGET",
            "INTERGENIC1144",
        ),
        *("non-targeting_1|non-targeting_2", "ctrl+ctrl", "AAVS1", "p_sgGAL4"),
        *(
            "NonTargeting_Human_0001",
            "ONE_NON-GENE_SITE_12",
            "INACTIVE_4T_123",
            "neg_ctrl_non-targeting_00001",
            "NT_NT",
            "ctrl_ctrl",
        ),
        *(
            "siNT",
            "siControl",
            "shGFP",
            "shScramble",
            "non_target_shRNA",
            "sgLuc",
            "LUC_1",
            "BFP",
            "SCR-1",
            "siNC",
            "DMSO_ctrl",
        ),
        *(
            "untargeted",
            "unperturbed_cells",
            "AAVS1_site2",
            "Vehicle (DMSO)",
            "mock_infected",
            "WT cells",
        ),
    ],
)
def test_values_that_look_like_controls(value: str) -> None:
    assert looks_like_control(value)
    assert meaning(value) == ("control", "", "")
    assert meaning(value, "mine", controls=("mine",)) == ("set aside", "", "")


@pytest.mark.parametrize(
    "value",
    [
        *("", "None", "NA", "NaN", "<NA>", "n/a", "unassigned", "No guide", "multiplet", "-"),
        *(
            "n.a.",
            "(null)",
            "#VALUE!",
            "nan_nan",
            "None_None",
            "['None']",
            "b'None'",
            "[]",
            "none detected",
            "unassigned cell",
        ),
        *(
            "0 guides",
            "2+ guides",
            "guide not detected",
            "low UMI",
            "empty droplet",
            "multi-guide",
            "undefined",
            "blank",
        ),
    ],
)
def test_values_that_say_nothing(value: str) -> None:
    assert meaning(value) == ("missing", "", "")


def test_dashes_of_any_kind_are_hyphens() -> None:
    assert {
        meaning(f"non{dash}targeting")[0] for dash in "\u2010\u2011\u2012\u2013\u2014\u2212"
    } == {"control"}


@pytest.mark.parametrize(
    "symbol",
    [
        "UNK",
        "NT5E",
        "NTS",
        "SCRIB",
        "NCL",
        "NCK1",
        "GNAT1",
        "SHH",
        "SIRT1",
        "LUC7L",
        "MOCOS",
        "NEGR1",
        "WT1",
        "EVI2A",
        "ALOX5",
    ],
)
def test_symbols_that_begin_as_controls_do(symbol: str) -> None:
    assert not looks_like_control(symbol)


@pytest.mark.parametrize("part", ["gfpg", "ntctrl", "ncguide"])
def test_a_long_name_of_words_in_words_is_no_control(part: str) -> None:
    """A word is made of others, and a guide between two belongs to either: tried one after another, this would never end."""
    assert looks_like_control(f"{part}_{part}")
    assert not looks_like_control(f"{part * 200}x")


def test_a_letter_behind_a_gene_may_be_a_gene() -> None:
    assert meaning("STAT1_A") == ("genes", "A+STAT1", "combination")


def test_a_gene_that_is_called_like_a_control() -> None:
    """CTRL is a protease: it is the control only where nothing else is."""
    assert meaning("CTRL") == ("control", "", "")
    assert meaning("CTRL", "non-targeting") == ("genes", "CTRL", "")
    assert meaning("CTRL", "mine", controls=("mine",)) == ("genes", "CTRL", "")


def test_an_explicit_control_is_the_only_one() -> None:
    values = ["non-targeting"] * 3 + ["control"] * 2 + ["A", "A+B", "nan "]
    names = read_perturbations(values, ["A", "B"], ("non-targeting",))
    assert names.controls == ("non-targeting",)
    assert names.count_values("set aside") == {"control": 2}
    assert (names.singles, names.multiple) == (("A",), ("A+B",))
    assert names.record() == {
        "control": {"non-targeting": 3},
        "set_aside": {"control": 2},
        "missing": {"nan": 1},
    }
    assert names.lines() == [
        "controls: 3 cells: non-targeting (3)",
        "look like controls, set aside: 2 cells: control (2)",
        "perturbations of several genes: 1 cells: A+B (1)",
        "missing, left out: 1 cells: 'nan' (1)",
    ]
    assert read_perturbations(values, ["A", "B"], ("c*", "non*")).controls == (
        "non-targeting",
        "control",
    )
    with pytest.raises(
        InputError,
        match=r"no value is 'NT'; those that look like controls are 'non-targeting', 'control'",
    ):
        read_perturbations(values, ["A", "B"], ("NT",))


def test_what_joins_can_be_said() -> None:
    assert meaning("X_Y") == ("genes", "X_Y", "")
    assert meaning("X_Y", separator="_") == ("genes", "X+Y", "combination")
    assert meaning("A+B", separator="_") == ("genes", "A+B", "combination")


def test_perturbations_of_their_own_are_known_too() -> None:
    assert meaning("X1_X2", "X1", "X2") == ("genes", "X1+X2", "combination")


@pytest.mark.parametrize(
    ("value", "gene"),
    [
        ("A", "A"),
        ("A+ctrl", "A"),
        ("A;NTC", "A"),
        (" Stat1", "Stat1"),
        ("A_+_1.2-P1P2", "A"),
        ("A_B", "A_B"),
        ("CTRL", "CTRL"),
    ]
    + [(value, "") for value in ("ctrl", "non-targeting", "A+B")],
)
def test_a_condition_alone(value: str, gene: str) -> None:
    assert gene_of_condition(value) == gene


@pytest.mark.parametrize(
    "text", ['<script>a=1;fetch("b")</script>', "a<b;c>d", "https://example.com/?a=1&b=2", "{A,B}"]
)
def test_a_text_that_holds_no_symbols_joins_none(text: str) -> None:
    assert gene_of_condition(text) == text
    assert read_perturbations([text], ()).of_value[text].genes == (text,)


@pytest.mark.parametrize(
    "word",
    [
        "*",
        "0",
        "-1",
        "multi",
        "multiple",
        "Negative",
        "No gRNA",
        "nan+nan",
        "None;None",
        "not assigned",
        "undetected",
        "other",
    ],
)
def test_words_for_no_call_are_no_genes(word: str) -> None:
    assert read_perturbations([word, "STAT1", "NT"], ["STAT1"]).of_value[word].kind == "missing"


@pytest.mark.parametrize(
    "value", ["sgRNA_STAT1_1", "sgRNA-STAT1", "gRNA_STAT1_2", "p_sgSTAT1_3", "guide_STAT1"]
)
def test_prefixes_of_guides(value: str) -> None:
    assert read_perturbations([value], ["STAT1", "IRF1"], need_controls=False).of_value[
        value
    ].genes == ("STAT1",)
    assert read_perturbations(["sgRNASEL"], ["RNASEL"], need_controls=False).of_value[
        "sgRNASEL"
    ].genes == ("RNASEL",)


@pytest.mark.parametrize(
    "value", ["AAVS1_sg2", "Rosa26_sgRNA1", "GAL4_guide4", "NTgRNA", "non-gene-targeting_2"]
)
def test_guides_of_controls_are_controls(value: str) -> None:
    assert read_perturbations([value, "STAT1"], ["STAT1"]).of_value[value].kind == "control"
