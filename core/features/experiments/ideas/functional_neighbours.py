"""Genes that share pathways or network partners, compared with genes close in an embedding."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from core.evidence.packs import Packs
from core.features.experiments.ideas.idea import Judged, OfSpaces, idea
from core.features.experiments.ideas.material import Material
from core.features.experiments.ideas.priors import Neighbours, knn_arms, make_trial
from core.stats.arrays import Floats
from core.transfer.similarity import Space

MOST_COMMON = 0.2  # a pathway with more than this share of the listed genes is ignored as too general
MOST_SPACES = 5
_REMARK = "Rows whose gene is in no pathway have no neighbours there and get base rates; the note counts them."


def membership_space(name: str, groups: Mapping[str, Sequence[str]], symbols: Sequence[str]) -> Space:
    """Return a space with one column for each group, weighted by its rarity (log of genes / members).

    groups: symbol → its groups; a symbol without groups is not covered. The cosine of two symbols is their weighted overlap.
    """
    members: dict[str, list[int]] = {}
    for i, symbol in enumerate(symbols):
        for group in set(groups.get(symbol, ())):
            members.setdefault(group, []).append(i)
    n_listed = sum(bool(groups.get(symbol)) for symbol in symbols)
    kept = [rows for _, rows in sorted(members.items()) if 1 < len(rows) <= max(2, MOST_COMMON * n_listed)]
    columns: Floats = np.zeros((len(symbols), max(1, len(kept))))
    for j, rows in enumerate(kept):
        columns[rows, j] = np.log(max(2, n_listed) / len(rows)) + 1e-9
    columns[~columns.any(axis=1)] = np.nan
    return Space(name, columns)


def partners_of(packs: Packs) -> dict[str, list[str]]:
    """Return each symbol with its partners in the network and itself, so that two partners share at least two entries."""
    partners: dict[str, list[str]] = {}
    for a, b, _ in packs.edges or ():
        partners.setdefault(a, [a]).append(b)
        partners.setdefault(b, [b]).append(a)
    return partners


def _judge(material: Material, chosen: OfSpaces) -> Judged:
    packs, symbols = material.packs, material.index.symbols
    functional = [membership_space("shared pathways", packs.pathways or {}, symbols)]
    if packs.edges is not None:
        functional.append(membership_space("shared network partners", partners_of(packs), symbols))
    spaces = material.spaces(chosen.spaces)[:MOST_SPACES]
    wholes = [
        *(Neighbours((space,), centre=chosen.centre) for space in spaces),
        *(Neighbours((space,)) for space in functional),
        Neighbours((spaces[0], *functional)),
    ]
    knns = {" + ".join(space.name for space in knn.spaces): knn for knn in wholes}
    return Judged(make_trial(material, chosen.cuts), knn_arms(material, chosen.cuts, knns), (_REMARK,))


KIND = idea(
    "functional_neighbours",
    "Functional similarity against embeddings",
    "Do genes that share pathways or network partners predict better than genes close in an embedding?",
    ("labels", "space", "pathways"),
    OfSpaces,
    _judge,
)
