"""functional_neighbours: genes that share pathways or network partners, compared with genes close in an embedding."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from core.evidence.packs import Packs
from core.experiments.ablations.arms import describe_changes, score_arms
from core.experiments.ablations.base import Ablation, Outcome
from core.experiments.ablations.material import Material
from core.experiments.ablations.priors import CENTRE, CUTS, SPACES, Neighbours, knn_arm, make_trial, predict
from core.stats.arrays import Floats
from core.transfer.similarity import Space

MOST_COMMON = 0.2  # a pathway with more than this share of the listed genes is ignored as too general
MOST_SPACES = 5


def membership_space(name: str, groups: Mapping[str, Sequence[str]], symbols: Sequence[str]) -> Space:
    """Return a space with one column for each group, weighted by its rarity (log of genes / members).

    groups: symbol → its groups; a symbol without groups is not covered. The cosine of two symbols is their weighted overlap.
    """
    members: dict[str, list[int]] = {}
    for i, symbol in enumerate(symbols):
        for group in set(groups.get(symbol, ())):
            members.setdefault(group, []).append(i)
    n_listed = sum(bool(groups.get(symbol)) for symbol in symbols)
    kept = {group: rows for group, rows in sorted(members.items()) if 1 < len(rows) <= max(2, MOST_COMMON * n_listed)}
    columns: Floats = np.zeros((len(symbols), max(1, len(kept))))
    for j, rows in enumerate(kept.values()):
        columns[rows, j] = np.log(max(2, n_listed) / len(rows)) + 1e-9
    columns[~columns.any(axis=1)] = np.nan
    return Space(name, columns)


def partners_of(packs: Packs) -> dict[str, list[str]]:
    """Return each symbol with its partners in the network and itself, so that two partners share at least two entries."""
    found: dict[str, list[str]] = {}
    for a, b, _ in packs.edges or ():
        found.setdefault(a, [a]).append(b)
        found.setdefault(b, [b]).append(a)
    return found


def _make(material: Material, options: Mapping[str, Any]) -> Outcome:
    packs, symbols = material.load_packs(), material.index.symbols
    functional = [membership_space("shared pathways", packs.pathways or {}, symbols)]
    if packs.edges is not None:
        functional.append(membership_space("shared network partners", partners_of(packs), symbols))
    spaces = material.spaces(options["spaces"])[:MOST_SPACES]
    trial = make_trial(material, options["cuts"])
    arms = []
    for space in (*spaces, *functional):
        knn = Neighbours((space,), centre=options["centre"] and space in spaces)
        arms.append(knn_arm(space.name, predict(material, knn, options["cuts"])))
    both = (spaces[0], *functional)
    arms.append(knn_arm(" + ".join(space.name for space in both), predict(material, Neighbours(both), options["cuts"])))
    table = score_arms(trial, arms, arms[0].name)
    remark = "Rows whose gene is in no pathway have no neighbours there and get base rates; the note counts them."
    return Outcome(table, describe_changes(table, arms[0].name), (remark,))


ABLATION = Ablation(
    name="functional_neighbours",
    title="Functional similarity against embeddings",
    question="Do genes that share pathways or network partners predict better than genes close in an embedding?",
    needs=("labels", "space", "pathways"),
    options=(SPACES, CENTRE, CUTS),
    make=_make,
)
