"""What each tool answers, by hand from the nine rows and the packs of world.py."""

from __future__ import annotations

import json

import pytest

from core.base.errors import InputError
from core.base.types import Evidence
from core.evidence.label_view import LabelView, all_training, blinded_view
from core.evidence.packs import Packs
from core.evidence.registry import TOOLS
from tests.evidence.world import DE, NONE, PACKS, PAIRS, SOURCES, UP, answers, pair, run

VIEW = all_training(PAIRS)
NOTHING = LabelView(())


def ask(
    name: str,
    pert: str | None = None,
    gene: str | None = None,
    packs: Packs = PACKS,
    view: LabelView = VIEW,
) -> Evidence:
    return run(TOOLS[name], pert, gene, packs, view)


def test_gene_info() -> None:
    found = ask("gene_info", "Stat1")
    summary = "Signal transducer.\nActs downstream of interferons."
    assert found.body == {"symbol": "Stat1", "name": None, "summary": summary, "ortholog": "STAT1"}
    assert found.source == f"{SOURCES['descriptions']}; {SOURCES['orthologs']}"
    assert (found.status, found.key, found.view, found.retrieved_at) == ("ok", "Stat1", "", None)
    assert ask("gene_info", gene="Stat1") == found


def test_gene_info_of_a_text_that_is_a_name_alone() -> None:
    assert ask("gene_info", gene="Il6").body == {
        "symbol": "Il6",
        "name": "interleukin 6",
        "summary": None,
        "ortholog": None,
    }
    assert ask("gene_info", gene="Cxcl10").body["ortholog"] == "CXCL10"


def test_gene_info_without_orthologs_and_without_a_text() -> None:
    alone = Packs(descriptions=PACKS.descriptions, sources=SOURCES)
    assert ask("gene_info", gene="Stat1", packs=alone).body["ortholog"] is None
    assert ask("gene_info", gene="Stat1", packs=alone).source == str(SOURCES["descriptions"])
    assert ask("gene_info", gene="Actb").status == ask("gene_info", gene="Jak1").status == "empty"


def test_base_rates() -> None:
    found = ask("base_rates")
    # 9 rows: up 3, down 2, none 4; perturbations Stat1, Irf1, Psmd1, Psmd4; genes Cxcl10, Il6, Actb, Cdkn1a
    shares = {"p_de": 5 / 9, "p_up_given_de": 3 / 5}
    assert found.body == {"n": 9, "de": 5, "up": 3, "down": 2, "perts": 4, "genes": 4, **shares}
    assert (found.source, found.key) == (
        "9 labelled rows in view",
        f"all rows in view @ {VIEW.name}",
    )
    assert ask("base_rates", view=NOTHING).status == "empty"


def test_base_rates_of_changes_without_a_direction() -> None:
    view = LabelView((pair("A_B", DE), pair("A_C", NONE)))
    assert (
        ask("base_rates", view=view).body["p_de"],
        ask("base_rates", view=view).body["p_up_given_de"],
    ) == (0.5, None)


def test_pathway_neighbours() -> None:
    found = ask("pathway_neighbours", "Jak1")
    assert found.body == {
        "symbol": "Jak1",
        "partners": [
            {"symbol": "Stat1", "score": 990, "n": 2, "de": 1, "up": 0, "down": 1},
            {"symbol": "Irf1", "score": 900, "n": 3, "de": 2, "up": 1, "down": 1},
        ],  # Cxcl10 is a partner too, but was never perturbed
        "n": 5, "de": 3, "up": 1, "down": 2, "p_de": 3 / 5, "p_up_given_de": 1 / 3,
    }  # fmt: skip
    assert found.source == f"{SOURCES['edges']}; 9 labelled rows in view"


def test_pathway_neighbours_are_the_25_best_partners_that_are_in_view() -> None:
    edges = [("Jak1", f"P{i}", 999 - i) for i in range(30)]
    view = LabelView(tuple(pair(f"P{i}_Il6", UP) for i in range(20, 30)))
    found = ask("pathway_neighbours", "Jak1", packs=Packs(edges=edges, sources=SOURCES), view=view)
    assert [partner["symbol"] for partner in found.body["partners"]] == [
        "P20",
        "P21",
        "P22",
        "P23",
        "P24",
    ]
    without = blinded_view(PAIRS, [pair("Stat1_X", None), pair("Irf1_Y", None)])
    assert ask("pathway_neighbours", "Jak1", view=without).status == "empty"


def test_protein_interactions() -> None:
    partners = [
        {"symbol": "Stat1", "score": 990},
        {"symbol": "Irf1", "score": 900},
        {"symbol": "Cxcl10", "score": 700},
    ]
    assert ask("protein_interactions", "Jak1").body == {"symbol": "Jak1", "partners": partners}
    assert ask("protein_interactions", gene="Il6").status == "empty"


def test_train_lookup_by_perturbation_by_gene_and_by_both() -> None:
    rows = [
        {"pert": "Stat1", "gene": "Cxcl10", "label": "down"},
        {"pert": "Stat1", "gene": "Il6", "label": "none"},
    ]
    by_pert, by_gene, both = (
        ask("train_lookup", *given)
        for given in (("Stat1", None), (None, "Cxcl10"), ("Stat1", "Il6"))
    )
    assert by_pert.body == {
        "pert": "Stat1",
        "gene": None,
        "n": 2,
        "de": 1,
        "up": 0,
        "down": 1,
        "rows": rows,
    }
    assert [row["pert"] for row in by_gene.body["rows"]] == ["Irf1", "Stat1"]
    assert (by_gene.body["gene"], by_gene.body["down"]) == ("Cxcl10", 2)
    assert both.body == {
        "pert": "Stat1",
        "gene": "Il6",
        "n": 1,
        "de": 0,
        "up": 0,
        "down": 0,
        "rows": rows[1:],
    }
    keys = [f"{subject} @ {VIEW.name}" for subject in ("Stat1|*", "*|Cxcl10", "Stat1|Il6")]
    assert [by_pert.key, by_gene.key, both.key] == keys
    assert {found.source for found in (by_pert, by_gene, both)} == {"9 labelled rows in view"}


@pytest.mark.parametrize(
    "asked", [("Jak1", None), (None, "Stat1"), ("Stat1", "Actb"), ("Jak1", "Il6")]
)
def test_train_lookup_finds_nothing_that_is_not_in_view(
    asked: tuple[str | None, str | None],
) -> None:
    assert (ask("train_lookup", *asked).status, ask("train_lookup", *asked).body) == ("empty", {})


def test_regulators() -> None:
    found = ask("regulators", gene="Cxcl10").body
    assert found == {
        "symbol": "Cxcl10",
        "activators": ["Irf1", "Stat1"],
        "repressors": ["Bcl6"],
        "unknown": ["Spi1"],
    }
    assert ask("regulators", gene="Stat1").status == "empty"


def test_targets() -> None:
    assert ask("targets", pert="Stat1").body == {
        "symbol": "Stat1",
        "activated": ["Cxcl10"],
        "repressed": [],
        "unknown": [],
    }
    assert ask("targets", pert="Bcl6").body["repressed"] == ["Cxcl10"]
    assert ask("targets", pert="Spi1").body["unknown"] == ["Cxcl10"]
    assert ask("targets", pert="Cxcl10").status == "empty"


def test_pathways() -> None:
    assert ask("pathways", gene="Il6").body == {
        "symbol": "Il6",
        "pathways": ["Interleukin-6 signaling", "Immune System"],
    }
    assert ask("pathways", gene="Cdkn1a").status == ask("pathways", gene="Actb").status == "empty"


def test_lps_response() -> None:
    numbers = {"logfc": 2.5, "p_value": 1e-9, "p_adj": 0.0, "mean_lps": 3.0, "mean_ctrl": 0.5}
    assert ask("lps_response", gene="Cxcl10").body == {"symbol": "Cxcl10", **numbers}
    assert ask("lps_response", gene="Il6").status == "empty"


@pytest.mark.parametrize(
    ("name", "asked", "listed"),
    [
        ("gene_info", ("STAT1", None), {"symbol": "Stat1"}),
        ("gene_class", ("CDKN1A", None), {"symbol": "Cdkn1a"}),
        ("protein_interactions", (None, "JAK1"), {"symbol": "Jak1"}),
        ("pathway_neighbours", ("JAK1", None), {"symbol": "Jak1"}),
        ("regulators", (None, "CXCL10"), {"symbol": "Cxcl10"}),
        ("train_lookup", ("STAT1", None), {"pert": "Stat1"}),
        ("train_lookup", ("STAT1", "Il6"), {"pert": "Stat1", "gene": "Il6"}),
        ("train_lookup", ("Stat1", "IL6"), {"pert": "Stat1", "gene": "Il6"}),
    ],
)
def test_another_case_is_found_and_said(
    name: str, asked: tuple[str | None, str | None], listed: dict[str, str]
) -> None:
    body = ask(name, *asked).body
    assert {key: body[key] for key in listed} == listed
    assert body["asked"] == "|".join(symbol for symbol in asked if symbol)


def test_of_several_spellings_none_is_taken() -> None:
    packs = Packs(descriptions={"Tp53": "one gene", "TP53": "another"}, sources=SOURCES)
    found = ask("gene_info", gene="tp53", packs=packs)
    assert (found.status, found.body) == ("empty", {"ambiguous": ["TP53", "Tp53"]})
    view = LabelView((pair("Stat1_Il6", UP), pair("STAT1_Il6", NONE)))
    for asked in (("stat1", None), ("stat1", "Il6")):
        assert ask("train_lookup", *asked, view=view).body == {"ambiguous": ["STAT1", "Stat1"]}


@pytest.mark.parametrize("name", TOOLS)
def test_an_absent_pack_is_offline_and_never_an_answer(name: str) -> None:
    statuses = {item.status for item in answers(name, Packs(), NOTHING)}
    of_labels = TOOLS[name].sees_labels and not TOOLS[name].reads
    assert statuses == ({"ok"} if name == "gene_class" else {"empty"} if of_labels else {"offline"})


@pytest.mark.parametrize("name", TOOLS)
def test_bodies_are_plain_json_and_empty_without_an_answer(name: str) -> None:
    for item in answers(name, PACKS, VIEW):
        assert json.loads(json.dumps(item.body, allow_nan=False)) == item.body
        assert bool(item.body) == (item.status == "ok")


@pytest.mark.parametrize(
    ("name", "asked", "expected"),
    [
        ("gene_info", ("Stat1", "Il6"), "pert or gene"),
        ("gene_info", (None, None), "pert or gene"),
        ("gene_info", ("", None), "pert or gene"),
        ("regulators", ("Stat1", None), "gene"),
        ("base_rates", ("Stat1", None), "neither"),
        ("train_lookup", (None, None), "pert and/or gene"),
    ],
)
def test_other_arguments_are_refused(
    name: str, asked: tuple[str | None, str | None], expected: str
) -> None:
    with pytest.raises(
        InputError, match=rf"^{name}: pert {asked[0]!r}, gene {asked[1]!r}; expected {expected}$"
    ):
        ask(name, *asked)
