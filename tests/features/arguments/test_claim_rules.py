"""What texts claim about genes: sentences with their claims by hand, sentences that claim nothing, and what packs say."""

from __future__ import annotations

import random

import pytest

from core.audit.text_symbols import Symbols
from core.features.arguments.claim_checks import Knowledge, narrow_pathways
from core.features.arguments.claim_rules import Claim, Relation, find_claims

SYMBOLS = Symbols(["Stat1", "Irf1", "Tlr4", "Nfkb1", "Il6", "Socs3", "Myd88", "Brd4", "Was", "Ca2", "H2-K1"])
CLAIMING = {
    "Stat1 activates Irf1.": ["Stat1 activates Irf1"],
    "STAT1 directly induces the transcription of Irf1 and Il6.": ["Stat1 activates Irf1", "Stat1 activates Il6"],
    "Tlr4 and Myd88 promote Il6.": ["Tlr4 activates Il6", "Myd88 activates Il6"],
    "Socs3 is a potent repressor of Stat1.": ["Socs3 represses Stat1"],
    "Irf1 is strongly induced by STAT1 and Nfkb1.": ["Stat1 activates Irf1", "Nfkb1 activates Irf1"],
    "Knockdown of Stat1 would reduce Irf1 expression.": ["Stat1 activates Irf1"],
    "Tlr4 knockdown reduces Il6.": ["Tlr4 activates Il6"],
    "Loss of Socs3 increases Stat1 activity.": ["Socs3 represses Stat1"],
    "Stat1 knockdown will likely lead to decreased Irf1 expression.": ["Stat1 activates Irf1"],
    "A) Knockdown of Brd4 results in up‑regulation of Il6.": ["Brd4 represses Il6"],
    "Irf1 is reduced by knockdown of Stat1.": ["Stat1 activates Irf1"],
    "Il6 expression decreases upon Brd4 loss.": ["Brd4 activates Il6"],
    "Stat1-dependent induction of Irf1 is known.": ["Stat1 activates Irf1"],
    "Repression of Il6 by Socs3 is established.": ["Socs3 represses Il6"],
    "Brd4 positively regulates Il6.": ["Brd4 activates Il6"],
    "Brd4 negatively regulates H2-K1.": ["Brd4 represses H2-K1"],
    "Il6 is a direct target of Nfkb1.": ["Nfkb1 regulates Il6"],
    "Tlr4 interacts with Myd88.": ["Myd88 binds Tlr4"],
    "An interaction between Tlr4 and Myd88 is known.": ["Myd88 binds Tlr4"],
    "Socs3, which inhibits Stat1, is low; Il6 is high.": ["Socs3 represses Stat1"],
    "Il6 mRNA falls upon loss of Brd4.": ["Brd4 activates Il6"],
    "Il6 rises after depletion of Socs3.": ["Socs3 represses Il6"],
    "Tlr4 and Myd88 act in the same pathway.": ["Myd88 acts with Tlr4"],
    "Stat1 acts in the same signalling pathway as Irf1 and Il6.": ["Irf1 acts with Stat1", "Il6 acts with Stat1"],
    "Tlr4 shares a pathway with Myd88.": ["Myd88 acts with Tlr4"],
}
SILENT = [
    "Stat1 does not regulate Irf1.",
    "Does Stat1 activate Irf1?",
    "There is no evidence that Brd4 regulates Il6.",
    "Brd4 is unlikely to activate Il6.",
    "Stat1 and Irf1 are regulatory genes.",
    "Il6 may be upregulated if Tlr4 responds.",
    "Was it activated by Il6?",
    "Was it Il6 that activates?",
    "Ca2+ activates Il6 nowhere near a gene, and it activates Il6.",
    "Stat1 is high; it activates Irf1.",
    "Stat1 activates itself.",
    "I will look up interaction partners of Tlr4 and Myd88.",
    "Stat1 and Irf1 do not share a pathway.",
    "Stat1 sits on the promoter of Irf1.",
    "Partners of Tlr4 such as Myd88 changed 47% of their targets, which says little about Il6.",
    "Stat1 falls, and Irf1 rises.",
    "Tlr4 and Myd88 have the same score.",
    "Both genes belong to the same pathway, and Tlr4 leads it.",
]


def claim(text: str) -> Claim:
    subject, *relation, object_ = text.split()
    return Claim(subject, " ".join(relation), object_)  # type: ignore[arg-type]


def test_claims_are_found_in_the_words_of_a_sentence() -> None:
    found = {text: find_claims(text, SYMBOLS) for text in CLAIMING}
    assert found == {text: [claim(each) for each in claims] for text, claims in CLAIMING.items()}


def test_denials_questions_and_doubts_claim_nothing() -> None:
    assert {text: found for text in SILENT if (found := find_claims(text, SYMBOLS))} == {}


def test_a_claim_of_a_text_comes_once_in_order() -> None:
    text = "Tlr4 induces Il6. Stat1 activates Irf1.\nStat1 activates Irf1, and Tlr4 induces Il6."
    assert find_claims(text, SYMBOLS) == [claim("Tlr4 activates Il6"), claim("Stat1 activates Irf1")]


@pytest.mark.parametrize(("hard", "precision", "recall"), [(False, 0.99, 0.99), (True, 0.8, 0.75)])
def test_what_two_hundred_made_briefs_claim_is_found(hard: bool, precision: float, recall: float) -> None:
    """Briefs of which the claims are known, in five sentences each."""
    templates = [*TEMPLATES.items()] * 2 + [*HARD.items()] * hard
    rng = random.Random(0)
    genes = [f"Gene{i}" for i in range(40)]
    symbols = Symbols(genes)
    right = found_in_all = true_in_all = 0
    for _ in range(200):
        true: set[Claim] = set()
        sentences = []
        for _ in range(5):
            subject, object_ = rng.sample(genes, 2)
            template, relation = rng.choice(templates)
            sentences.append(template.format(a=subject, b=object_))
            if relation is not None:
                pair = sorted((subject, object_)) if relation in ("binds", "acts with") else (subject, object_)
                true.add(Claim(pair[0], relation, pair[1]))
        found = set(find_claims(" ".join(sentences), symbols))
        right, found_in_all, true_in_all = right + len(found & true), found_in_all + len(found), true_in_all + len(true)
    assert right / found_in_all >= precision
    assert right / true_in_all >= recall


TEMPLATES: dict[str, Relation | None] = {
    "In macrophages, {a} strongly promotes the expression of {b}.": "activates",
    "{b} transcription is driven by {a} in most cell types.": "activates",
    "It is well known that {a} suppresses {b} at baseline.": "represses",
    "Depletion of {a} therefore raises {b} mRNA.": "represses",
    "{a} is an inhibitor of {b}, a cytokine.": "represses",
    "The kinase {a} modulates {b} during stress.": "regulates",
    "{a} binds to {b} in the nucleus.": "binds",
    "{a} acts in the same stress pathway as {b}.": "acts with",
    "{a} has no established link to {b}.": None,
    "Neither {a} nor its partners regulate {b}.": None,
    "{a} and {b} are both expressed.": None,
}
# What rules are bound to get wrong: four of them by missing the claim, three by finding one.
HARD: dict[str, Relation | None] = {
    "{a} is abundant; it activates {b}.": "activates",
    "{b} needs {a} to be transcribed at all.": "activates",
    "{a} switches {b} off.": "represses",
    "The product of {a} sits on the promoter of {b}.": "binds",
    "The report that {a} activates {b} was withdrawn.": None,
    "One might think that {a} represses {b}; the data rule this out.": None,
    "Older models in which {a} activates {b} were abandoned.": None,
}


@pytest.mark.parametrize(
    ("said", "verdict"),
    [
        ("Stat1 activates Irf1", ("supported", "collectri", "Stat1 activates Irf1")),
        ("Stat1 represses Irf1", ("contradicted", "collectri", "Stat1 activates Irf1")),
        ("Stat1 regulates Irf1", ("supported", "collectri", "Stat1 activates Irf1")),
        ("Irf1 activates Stat1", ("not known", "", "")),  # the other way round
        ("Brd4 activates Il6", ("not known", "collectri", "Brd4 regulates, in no known direction, Il6")),
        ("Brd4 regulates Il6", ("supported", "collectri", "Brd4 regulates, in no known direction, Il6")),
        ("Tlr4 activates Il6", ("not known", "collectri", "the packs disagree (collectri: activates; omnipath: represses)")),
        ("Myd88 activates Il6", ("supported", "omnipath", "Myd88 activates Il6")),  # listed without a direction in the other
        ("Myd88 binds Tlr4", ("supported", "string", "score 900")),
        ("Brd4 binds Tlr4", ("not known", "string", "score 150")),
        ("Irf1 binds Tlr4", ("not known", "", "")),
        ("Myd88 acts with Tlr4", ("supported", "reactome", "both in Cascade and 1 more")),
        ("Irf1 acts with Tlr4", ("not known", "", "")),  # no shared pathway contradicts nothing
        ("Myd88 regulates Tlr4", ("not known", "", "")),  # nor does one support a regulation
        ("Socs3 activates Il6", ("not known", "", "")),
    ],
)
def test_what_is_known_of_a_claim(said: str, verdict: tuple[str, str, str]) -> None:
    collectri = {("stat1", "irf1"): 1, ("brd4", "il6"): 0, ("tlr4", "il6"): 1, ("myd88", "il6"): 0}
    omnipath = {("tlr4", "il6"): -1, ("myd88", "il6"): 1}
    string = {frozenset(("tlr4", "myd88")): 900, frozenset(("tlr4", "brd4")): 150}
    reactome = {"tlr4": frozenset({"Cascade", "Immunity"}), "myd88": frozenset({"Cascade", "Immunity"}), "irf1": frozenset({"T"})}
    known = Knowledge({"collectri": collectri, "omnipath": omnipath}, {"string": string}, {"reactome": reactome})
    assert tuple(known.check(claim(said))) == verdict


def test_pathways_of_many_genes_say_nothing() -> None:
    """Of 400 genes, 20 are a twentieth: the pathway of 21 does not count."""
    names = {f"G{i}": (("wide",) if i < 21 else ()) + (("narrow",) if i < 20 else ()) for i in range(400)}
    found = narrow_pathways(names)
    assert (found["g0"], found["g20"]) == (frozenset({"narrow"}), frozenset())
    small = narrow_pathways({f"G{i}": ("all",) for i in range(15)})  # so few are never too many
    assert small["g0"] == frozenset({"all"})
