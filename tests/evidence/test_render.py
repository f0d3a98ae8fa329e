from __future__ import annotations

from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.base.types import Evidence
from core.evidence.label_view import LabelView, all_training
from core.evidence.packs import Packs
from core.evidence.registry import TOOLS
from core.evidence.render import MAX_CHARACTERS, dossier, render
from tests.evidence.world import (
    DE,
    NONE,
    PACKS,
    PAIRS,
    SOURCES,
    TRAINING,
    UP,
    answers,
    gathered,
    pair,
    run,
)
from tests.strength import examples

VIEW = all_training(PAIRS)


def text(
    name: str,
    pert: str | None = None,
    gene: str | None = None,
    packs: Packs = PACKS,
    view: LabelView = VIEW,
) -> str:
    said, note = render(run(TOOLS[name], pert, gene, packs, view))
    assert note == ""
    return said


@pytest.mark.parametrize(
    ("name", "asked", "expected"),
    [
        (
            "gene_info",
            ("Stat1", None),
            "gene info, Stat1: ortholog STAT1. Signal transducer. Acts downstream of interferons.",
        ),
        ("gene_info", (None, "Il6"), "gene info, Il6: interleukin 6"),
        (
            "gene_class",
            (None, "Gm12345"),
            "gene class, Gm12345: uncharacterised (gene model), in no curated program.",
        ),
        (
            "gene_class",
            (None, "Cdkn1a"),
            "gene class, Cdkn1a: a named gene, of the program p53 response, expected to go up.",
        ),
        (
            "gene_class",
            (None, "Mki67"),
            "gene class, Mki67: a named gene, of the program cell cycle.",
        ),
        (
            "base_rates",
            (None, None),
            "base rates, all rows in view: 9 labelled rows, 5 changed (P(DE) 0.56), up:down 3:2 (P(up | DE) 0.60), "
            "over 4 perturbations and 4 genes.",
        ),
        (
            "pathway_neighbours",
            ("Jak1", None),
            "pathway neighbours, Jak1: pooled over 2 perturbed partners: 5 labelled rows, 3 changed (P(DE) 0.60), "
            "up:down 1:2 (P(up | DE) 0.33). Stat1 (score 990: 2 rows, 1 changed, 0 up, 1 down); "
            "Irf1 (score 900: 3 rows, 2 changed, 1 up, 1 down).",
        ),
        (
            "protein_interactions",
            ("Jak1", None),
            "protein interactions, Jak1: 3 partners, scores out of 1000: Stat1 990, Irf1 900, Cxcl10 700.",
        ),
        (
            "train_lookup",
            ("Stat1", None),
            "train lookup, perturbation Stat1: 2 labelled rows, 1 changed (P(DE) 0.50), up:down 0:1 (P(up | DE) 0.00). "
            "down 1: Cxcl10; unchanged 1: Il6.",
        ),
        (
            "train_lookup",
            ("STAT1", "Il6"),
            "train lookup, perturbation STAT1 and gene Il6 (listed as Stat1 and Il6): 1 labelled row, 0 changed (P(DE) 0.00). "
            "unchanged 1: Stat1.",
        ),
        (
            "regulators",
            (None, "CXCL10"),
            "regulators, CXCL10 (listed as Cxcl10): activated by Irf1, Stat1; repressed by Bcl6; "
            "regulated in an unknown direction by Spi1.",
        ),
        ("pathways", (None, "Il6"), "pathways, Il6: Interleukin-6 signaling; Immune System."),
        (
            "lps_response",
            (None, "Cxcl10"),
            "lps response, Cxcl10: log fold change +2.5 (mean expression 3 with LPS, 0.5 without; adjusted p 0 after rounding).",
        ),
        ("lps_response", (None, "Il6"), "lps response, Il6: nothing known."),
        ("train_lookup", (None, "Jak1"), "train lookup, gene Jak1: nothing known."),
    ],
)
def test_what_a_prompt_says(name: str, asked: tuple[str | None, str | None], expected: str) -> None:
    assert text(name, *asked) == expected


def test_rows_that_changed_without_a_direction_are_said_to() -> None:
    view = LabelView((pair("A_B", DE), pair("A_C", NONE)))
    assert text("train_lookup", "A", view=view).endswith(
        "1 changed (P(DE) 0.50). changed, direction unknown 1: B; unchanged 1: C."
    )


def test_several_spellings_are_nothing_known() -> None:
    packs = Packs(descriptions={"Tp53": "one", "TP53": "two"}, sources=SOURCES)
    assert (
        text("gene_info", "tp53", packs=packs)
        == "gene info, tp53: nothing known (several spellings fit: TP53, Tp53)."
    )


@pytest.mark.parametrize("status", ["error", "offline"])
@pytest.mark.parametrize("name", TOOLS)
def test_a_failure_is_a_note_and_never_text(name: str, status: Literal["error", "offline"]) -> None:
    failed = Evidence(
        name,
        "Stat1",
        status,
        "PubMed",
        None,
        {"name": "HTTP 500", "rows": ["503 Service Unavailable"]},
    )
    said, note = render(failed)
    assert said == ""
    assert (
        note
        == f"{name.replace('_', ' ')}, Stat1: {status}, so this tool gave no evidence either way"
    )


def test_a_dossier_keeps_failures_apart() -> None:
    packs = Packs(descriptions={"Stat1": "[no summary] x"}, sources=SOURCES)
    row = TRAINING[0]
    found = dossier(gathered(row, packs, VIEW, ["gene_info", "lps_response", "regulators"]), row)
    assert found.text == "- gene info, Stat1: x\n- gene info, Cxcl10: nothing known."
    assert found.notes == (
        "lps response, Cxcl10: offline, so this tool gave no evidence either way",
        "regulators, Cxcl10: offline, so this tool gave no evidence either way",
    )


def test_long_lists_are_cut_after_the_pair_and_counted() -> None:
    edges = [("Jak1", f"P{i:02}", 999 - i) for i in range(40)]
    signs = {(f"T{i:02}", "P39"): 1 for i in range(30)} | {("Zap", "P39"): 1}
    packs = Packs(edges=edges, signs=signs, sources=SOURCES)
    found = dossier(
        gathered(pair("Jak1_P39", None), packs, VIEW, ["protein_interactions", "regulators"]),
        pair("Jak1_P39", None),
    )
    of_pert, of_gene, factors = found.text.splitlines()
    assert of_pert.startswith(
        "- protein interactions, Jak1: 40 partners, scores out of 1000: P39 960, P00 999, P01 998, "
    )
    assert of_pert.endswith("P18 981 and 20 more.")  # 20 are listed: P39, then P00 to P18
    assert of_gene.endswith("P39: 1 partner, scores out of 1000: Jak1 960.")
    assert factors.endswith("T19 and 11 more.")
    by_zap = render(run(TOOLS["regulators"], None, "P39", packs, VIEW), ["Zap"])
    assert "activated by Zap, T00, " in by_zap.text


def test_a_long_text_is_cut_between_words_and_marked() -> None:
    packs = Packs(descriptions={"Il6": "word " * 1000}, sources=SOURCES)
    said = text("gene_info", "Il6", packs=packs)
    assert MAX_CHARACTERS - 10 < len(said) <= MAX_CHARACTERS
    assert said.endswith("word …")
    short = render(run(TOOLS["gene_info"], "Il6", None, packs, VIEW), limit=50).text
    assert short == "gene info, Il6: " + "word " * 6 + "…"


@examples(60)
@given(description=st.text(), limit=st.integers(20, 300))
def test_any_description_becomes_one_bounded_line(description: str, limit: int) -> None:
    packs = Packs(descriptions={"Il6": description}, sources=SOURCES)
    said, note = render(run(TOOLS["gene_info"], "Il6", None, packs, VIEW), limit=limit)
    assert len(said) <= limit
    assert len(said.splitlines()) == 1
    assert note == ""


@pytest.mark.parametrize("name", [name for name in TOOLS if name != "literature"])
def test_every_answer_has_a_text_in_words_of_its_own(name: str) -> None:
    for item in answers(name, PACKS, VIEW):
        said, note = render(item)
        assert said.startswith(f"{name.replace('_', ' ')}, ")
        assert note == ""
        assert "_" not in said
        assert "None" not in said
        assert "{" not in said
        assert VIEW.name not in said


def test_a_body_that_its_tool_would_not_give_today_is_listed_field_by_field() -> None:
    """Of an import or the demo."""
    item = Evidence(
        "gene_info", "Stat1", "ok", "a file", None, {"name": "a factor", "go": ["immune response"]}
    )
    assert render(item).text == "gene info, Stat1: name: a factor, go: immune response"


def test_a_body_of_another_tool_is_listed_field_by_field() -> None:
    body = {
        "co_mention": True,
        "p_de": 0.25,
        "none_known": None,
        "passages": [{"title": "A", "id": "PMID 1"}, {"title": "B", "id": "PMID 2"}],
        "terms": [],
    }
    said = render(Evidence("hearsay", "Stat1|Il6", "ok", "PubMed", None, body)).text
    assert said == (
        "hearsay, perturbation Stat1 and gene Il6: co mention: True, p de: 0.25, none known: not known, "
        "passages: title: A, id: PMID 1; title: B, id: PMID 2, terms: not known"
    )


def test_up_is_only_said_of_known_directions() -> None:
    assert "up:down" not in text("base_rates", view=LabelView((pair("A_B", NONE),)))
    assert "up:down 1:0 (P(up | DE) 1.00)" in text("base_rates", view=LabelView((pair("A_B", UP),)))
