"""What packs know of a claim."""

from __future__ import annotations

import pytest

from core.features.arguments.claims import Claim, Knowledge, narrow_pathways


def claim(text: str) -> Claim:
    subject, *relation, object_ = text.split()
    return Claim(subject, " ".join(relation), object_)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("said", "verdict"),
    [
        ("Stat1 activates Irf1", ("supported", "collectri", "Stat1 activates Irf1")),
        ("Stat1 represses Irf1", ("contradicted", "collectri", "Stat1 activates Irf1")),
        ("Stat1 regulates Irf1", ("supported", "collectri", "Stat1 activates Irf1")),
        ("Irf1 activates Stat1", ("not known", "", "")),  # the other way round
        (
            "Brd4 activates Il6",
            ("not known", "collectri", "Brd4 regulates, in no known direction, Il6"),
        ),
        (
            "Brd4 regulates Il6",
            ("supported", "collectri", "Brd4 regulates, in no known direction, Il6"),
        ),
        (
            "Tlr4 activates Il6",
            (
                "not known",
                "collectri",
                "the packs disagree (collectri: activates; omnipath: represses)",
            ),
        ),
        (
            "Myd88 activates Il6",
            ("supported", "omnipath", "Myd88 activates Il6"),
        ),  # listed without a direction in the other
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
    reactome = {
        "tlr4": frozenset({"Cascade", "Immunity"}),
        "myd88": frozenset({"Cascade", "Immunity"}),
        "irf1": frozenset({"T"}),
    }
    known = Knowledge(
        {"collectri": collectri, "omnipath": omnipath}, {"string": string}, {"reactome": reactome}
    )
    assert tuple(known.check(claim(said))) == verdict


def test_pathways_of_many_genes_say_nothing() -> None:
    """Of 400 genes, 20 are a twentieth: the pathway of 21 does not count."""
    names = {
        f"G{i}": (("wide",) if i < 21 else ()) + (("narrow",) if i < 20 else ()) for i in range(400)
    }
    found = narrow_pathways(names)
    assert (found["g0"], found["g20"]) == (frozenset({"narrow"}), frozenset())
    small = narrow_pathways({f"G{i}": ("all",) for i in range(15)})  # so few are never too many
    assert small["g0"] == frozenset({"all"})
