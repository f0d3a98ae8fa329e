"""What the packs of a workspace know of the genes that texts make claims about."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import pandas as pd

from core.evidence.knowledge_packs import Pack
from core.features.arguments.claim_checks import (
    SYMMETRIC,
    Claim,
    Knowledge,
    Verdict,
    narrow_pathways,
)
from core.runs import packs
from core.runs.component_loader import default_dataset
from core.runs.workspace import Workspace
from core.store import pairs


class ClaimKnowledge(NamedTuple):
    """What the packs of a dataset's organism say of genes. spellings: of the dataset's genes and of
    theirs, by a name in lower case or as it is spelled."""

    spellings: Mapping[str, str]
    knowledge: Knowledge

    def spell(self, name: str) -> str:
        """Return the known spelling of a gene's name, ignoring case; the name itself if it is
        unknown."""
        return self.spellings.get(name) or self.spellings.get(name.casefold(), name)


def load_knowledge(workspace: Workspace, dataset: str) -> ClaimKnowledge:
    """Return the knowledge packs of a dataset's organism: the latest of each kind, and all of
    pathways or gene sets.

    Raise NotFound for an unknown dataset, StateError for a pack whose file is missing.
    """
    with workspace.store.read() as db:
        genes = set(pairs.frame(db, dataset)[["pert", "gene"]].to_numpy().ravel())
    organism = default_dataset(workspace, dataset).organism
    kinds = ("regulation", "signalling", "network", "descriptions")
    names = [packs.name_of_latest(workspace, kind, organism) for kind in kinds]
    names += packs.names_of_kind(workspace, "pathways", organism)
    found = {name: packs.read(workspace.settings, name) for name in names if name is not None}
    genes |= {gene for pack in found.values() for gene in _genes(pack)}
    spellings = {gene.casefold(): gene for gene in sorted(genes, reverse=True)}
    return ClaimKnowledge({**spellings, **{gene: gene for gene in genes}}, _knowledge(found))


def _genes(pack: Pack) -> Iterator[str]:
    if pack.kind in ("regulation", "signalling", "network"):
        yield from (gene for pair in pack.entries for gene in pair[:2])
    else:
        yield from pack.entries


def _knowledge(found: Mapping[str, Pack]) -> Knowledge:
    return Knowledge(
        {
            name: {
                (factor.casefold(), target.casefold()): sign
                for (factor, target), sign in pack.entries.items()
            }
            for name, pack in found.items()
            if pack.kind in ("regulation", "signalling")
        },
        {
            name: {frozenset((a.casefold(), b.casefold())): score for a, b, score in pack.entries}
            for name, pack in found.items()
            if pack.kind == "network"
        },
        {
            name: narrow_pathways(pack.entries)
            for name, pack in found.items()
            if pack.kind == "pathways"
        },
        {name: pack.kind for name, pack in found.items() if pack.kind != "descriptions"},
    )


def settle(claims: pd.DataFrame, knowledge: ClaimKnowledge) -> pd.DataFrame:
    """Return claims about two genes with these in the dataset's spelling, whether they only answer
    the question of their row, and the verdict of the packs: status, pack, entry."""
    rows: list[dict[Any, Any]] = []
    for row in claims.to_dict("records"):
        genes = [knowledge.spell(row["subject"]), knowledge.spell(row["object"])]
        claim = Claim(genes[0], row["relation"], genes[1])
        if claim.relation in SYMMETRIC:
            claim = Claim(min(genes), claim.relation, max(genes))
        own = {"is_answer": claim.answers(row["pert"], row["gene"])}
        rows.append(row | claim._asdict() | knowledge.knowledge.check(claim)._asdict() | own)
    settled = pd.DataFrame(rows, columns=[*claims, *Verdict._fields]).astype({"is_answer": bool})
    return settled[settled["subject"] != settled["object"]]
