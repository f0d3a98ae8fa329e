"""Words of texts that go along with label shares are found."""

from __future__ import annotations

import numpy as np

from core.features.leakage.text_leaks import check_pack
from tests.scoring.planted_leaks import Design, label_shares, simulate

WORDS = [
    "binds",
    "kinase",
    "nucleus",
    "membrane",
    "repairs",
    "transports",
    "protein",
    "factor",
    "unknown",
    "channel",
]


def test_words_for_shares_are_found_and_other_words_are_not() -> None:
    rng = np.random.default_rng(0)
    screen = simulate(rng, Design(60, 300, 30))
    honest = {f"G{gene:04}": " ".join(rng.choice(WORDS, 4)) for gene in range(300)}
    assert check_pack("pack", honest, screen.index).findings == ()
    share = label_shares(screen, screen.gene)[:, 0]
    told = {gene: f"{text} group{int(10 * share[int(gene[1:])])}" for gene, text in honest.items()}
    [finding] = check_pack("pack", told, screen.index).findings
    assert finding.startswith(
        "words or numbers correlate with labels: they predict the DE shares of target genes at a correlation of "
    )
    assert check_pack("pack", {"G0001": ""}, screen.index).findings == ()
    numbered = {gene: f"{text} of {share[int(gene[1:])]:.3f}" for gene, text in honest.items()}
    assert (
        check_pack("pack", numbered, screen.index)
        .findings[0]
        .startswith("words or numbers correlate with labels: ")
    )
