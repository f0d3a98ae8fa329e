"""Ideas on a kNN alone: which spaces it needs, how many genes, and what its support tells.

The spaces and their ensembles; the number of measured genes that a prior needs, because few-shot
prompts show only K of them; support-aware DE, which shrinks well supported priors of an effect
towards a half; scores of rows with much and little support; genes that share pathways or network
partners; labels of partner perturbations.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Annotated

import numpy as np
import pandas as pd

from core.base.errors import InputError
from core.base.fields.setting import Count, Share, setting
from core.evidence.packs import Packs
from core.features.experiments.ideas.idea import (
    Cuts,
    Judged,
    Material,
    OfSpaces,
    Ranking,
    idea,
    mask_scores,
)
from core.features.experiments.ideas.priors import (
    Neighbours,
    fuse_ranks,
    knn_arm,
    knn_arms,
    make_trial,
    predict,
)
from core.stats.arrays import Floats
from core.stats.ranks import equal_groups
from core.transfer.knn import DEFAULT, Similarities, Weighting
from core.transfer.similarity import SimilarityMatrices, Space

MOST_ARMS = 20


@dataclass(frozen=True, slots=True)
class LadderSettings(OfSpaces):
    """The settings of a kNN, and whether spaces are joined."""

    ensembles: Annotated[bool, setting("Also score every ensemble of the spaces.")] = True


def _judge_spaces(material: Material, chosen: LadderSettings) -> Judged:
    spaces = material.spaces(chosen.spaces)
    sizes = range(1, (len(spaces) if chosen.ensembles else 1) + 1)
    parts = [part for size in sizes for part in combinations(spaces, size)]
    if len(parts) > MOST_ARMS:
        raise InputError(
            f"spaces: {len(parts)} spaces and ensembles, expected at most {MOST_ARMS}; name fewer"
            " spaces"
        )
    knns = {
        " + ".join(space.name for space in part): Neighbours(part, centre=chosen.centre)
        for part in parts
    }
    arms = knn_arms(material, chosen.cuts, knns)
    remark = (
        "The highest of several scores is optimistic: the labels on which it is scored chose it."
    )
    return Judged(make_trial(material, chosen.cuts), arms, (remark,) if len(arms) > 1 else ())


EMBEDDING_LADDER = idea(
    "embedding_ladder",
    "Embedding ladder",
    "Which gene space carries information about the labels, and do ensembles carry more than the"
    " first space alone?",
    ("labels", "space"),
    LadderSettings,
    _judge_spaces,
)


FEW_REMARK = (
    "A gene contributes all its measured rows; a prompt with K measured pairs has fewer. A model"
    " may use them differently."
)


@dataclass(frozen=True, slots=True)
class FewSettings(OfSpaces):
    """The settings of a kNN, and the values of K."""

    cuts: Cuts = 3
    shots: Annotated[tuple[Count, ...], setting("Values of K.", title="Values of K")] = (
        1,
        2,
        4,
        8,
        16,
        32,
    )


def _judge_shots(material: Material, chosen: FewSettings) -> Judged:
    spaces = material.spaces(chosen.spaces)
    weightings = {
        "all genes": DEFAULT,
        **{f"{k} nearest": Weighting(k=k) for k in sorted(chosen.shots)},
    }
    knns = {
        name: Neighbours(spaces, weighting, chosen.centre) for name, weighting in weightings.items()
    }
    return Judged(
        make_trial(material, chosen.cuts), knn_arms(material, chosen.cuts, knns), (FEW_REMARK,)
    )


FEW_NEIGHBOURS = idea(
    "few_neighbours",
    "Few-shot K",
    "How many similar measured genes are enough for a prior?",
    ("labels", "space"),
    FewSettings,
    _judge_shots,
)


def _judge_shrinkage(material: Material, chosen: OfSpaces) -> Judged:
    spaces = material.spaces(chosen.spaces)
    knns = {
        f"strength {strength:g}": Neighbours(spaces, centre=chosen.centre, strength=strength)
        for strength in (0.0, 0.25, 0.5, 0.75, 1.0)
    }
    remark = (
        "P(up | DE) does not change: its difference is 0 by construction. Strength 0 is the"
        " unchanged prior."
    )
    return Judged(
        make_trial(material, chosen.cuts),
        knn_arms(material, chosen.cuts, knns),
        (remark,),
        metric="de",
    )


SUPPORT_SHRINKAGE = idea(
    "support_shrinkage",
    "Support-aware DE",
    "Does DE improve if priors with much support are moved towards 0.5?",
    ("labels", "space"),
    OfSpaces,
    _judge_shrinkage,
)


STRATA = ("least support", "second quarter", "third quarter", "most support")
STRATA_REMARK = "The intervals of two strata come from different rows and are not paired."


def _judge_strata(material: Material, chosen: OfSpaces) -> Judged:
    knn = Neighbours(material.spaces(chosen.spaces), centre=chosen.centre)
    predicted = predict(material, knn, chosen.cuts)
    supports = [np.where(priors.support > 0, priors.support, np.nan) for priors, _ in predicted]
    quarters = [equal_groups(support, len(STRATA)) for support in supports]
    arms = [whole := knn_arm("all rows", predicted)]
    for i, name in enumerate(STRATA, start=1):
        of_cuts = zip(whole.scores, quarters, strict=True)
        scores = tuple(mask_scores(of_cut, quarter == i) for of_cut, quarter in of_cuts)
        arms.append(Ranking(name, scores, "pairs of rows inside the stratum"))
    trial = make_trial(material, chosen.cuts)
    return Judged(trial, arms, (STRATA_REMARK,), has_base=False)


SUPPORT_STRATA = idea(
    "support_strata",
    "Support strata",
    "Is a kNN better where many similar genes were measured?",
    ("labels", "space"),
    OfSpaces,
    _judge_strata,
)


# a pathway with more than this share of the listed genes is ignored as too general
MOST_COMMON = 0.2
MOST_SPACES = 5
FUNCTIONAL_REMARK = (
    "Rows whose gene is in no pathway have no neighbours there and get base rates; the note counts"
    " them."
)


def membership_space(
    name: str, groups: Mapping[str, Sequence[str]], symbols: Sequence[str]
) -> Space:
    """Return a space with one column for each group, weighted by its rarity (log of genes /
    members).

    groups: symbol → its groups; a symbol without groups is not covered. The cosine of two symbols
    is their weighted overlap.
    """
    table = pd.DataFrame(
        ((i, group) for i, symbol in enumerate(symbols) for group in set(groups.get(symbol, ()))),
        columns=["symbol", "group"],
    )
    n_listed, sizes = table["symbol"].nunique(), table.groupby("group")["symbol"].transform("size")
    table = table.assign(weight=np.log(max(2, n_listed) / sizes) + 1e-9)
    kept = table[(sizes > 1) & (sizes <= max(2, MOST_COMMON * n_listed))]
    if kept.empty:
        return Space(name, np.full((len(symbols), 1), np.nan))
    columns = kept.pivot(index="symbol", columns="group", values="weight").fillna(0.0)
    return Space(name, columns.reindex(range(len(symbols))).to_numpy(dtype=np.float64))


def partners_of(packs: Packs) -> dict[str, list[str]]:
    """Return each symbol with its partners in the network and itself, so that two partners share at
    least two entries."""
    partners: dict[str, list[str]] = {}
    for a, b, _ in packs.edges or ():
        partners.setdefault(a, [a]).append(b)
        partners.setdefault(b, [b]).append(a)
    return partners


def _judge_functional(material: Material, chosen: OfSpaces) -> Judged:
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
    return Judged(
        make_trial(material, chosen.cuts),
        knn_arms(material, chosen.cuts, knns),
        (FUNCTIONAL_REMARK,),
    )


FUNCTIONAL_NEIGHBOURS = idea(
    "functional_neighbours",
    "Functional similarity against embeddings",
    "Do genes that share pathways or network partners predict better than genes close in an"
    " embedding?",
    ("labels", "space", "pathways"),
    OfSpaces,
    _judge_functional,
)


PARTNERS_REMARK = (
    "Most perturbations have few measured partners outside their own fold; the others get base"
    " rates (see the notes)."
)


@dataclass(frozen=True, slots=True)
class PartnerSettings(OfSpaces):
    """The settings of a kNN, and the weight of the perturbations."""

    weight: Annotated[Share, setting("The weight of similar perturbations if genes count too.")] = (
        0.5
    )


def network_similarity(
    edges: Iterable[tuple[str, str, float]], symbols: tuple[str, ...]
) -> SimilarityMatrices:
    """Return scores / 1000 between partners, and 1 for a symbol and itself. A symbol without a
    partner here is not covered."""
    at = {symbol: i for i, symbol in enumerate(symbols)}
    matrix: Floats = np.zeros((len(symbols), len(symbols)))
    for a, b, score in edges:
        if a in at and b in at:
            matrix[at[a], at[b]] = matrix[at[b], at[a]] = score / 1000
    covered = np.asarray(matrix.any(axis=1))
    matrix[np.diag_indices(len(symbols))] = 1.0
    return SimilarityMatrices((matrix,), covered[np.newaxis])


def _mean_rank(genes: Ranking, other: Ranking, weight: float) -> Ranking:
    """Return the weighted mean of two arms' percentiles for each cut; `weight` belongs to
    `other`."""
    both = zip(genes.scores, other.scores, strict=True)
    scores = tuple(fuse_ranks(a, [b], [weight]) for a, b in both)
    return Ranking(f"genes and {other.name}", scores, f"ranks, weight {weight:g} on the partners")


def _judge_partners(material: Material, chosen: PartnerSettings) -> Judged:
    spaces = material.spaces(chosen.spaces)
    partners = Similarities(
        pert=network_similarity(material.packs.edges or (), material.index.symbols)
    )
    knns = {
        "similar genes": Neighbours(spaces, centre=chosen.centre),
        "partners in the network": Neighbours(
            weighting=Weighting(power=1.0, axis="pert"), similar=partners
        ),
        "similar perturbations": Neighbours(spaces, Weighting(axis="pert"), chosen.centre),
    }
    arms = knn_arms(material, chosen.cuts, knns)
    arms += [_mean_rank(arms[0], arm, chosen.weight) for arm in arms[1:]]
    return Judged(make_trial(material, chosen.cuts), arms, (PARTNERS_REMARK,))


PERTURBATION_NEIGHBOURS = idea(
    "perturbation_neighbours",
    "Labels of partner perturbations",
    "Do labels of interacting perturbations help, alone or together with similar genes?",
    ("labels", "space", "edges"),
    PartnerSettings,
    _judge_partners,
)
