"""The claims of a run's texts, checked against the knowledge packs of the workspace."""

from __future__ import annotations

from collections.abc import Iterator

from core.actions import packs
from core.actions.component_loader import default_dataset
from core.actions.workspace import Workspace
from core.audit.claim_checks import LEAST_SCORE, Knowledge
from core.audit.claims import Symbols
from core.datasets.knowledge_packs import Descriptions, Network, Pack, Regulation, Signalling
from core.scoring.argument_kinds import load_texts
from core.scoring.claim_counts import RunClaims, find_run_claims, with_worth
from core.store import pairs


def claims_of_run(workspace: Workspace, run: str, texts: str = "", role: str = "") -> RunClaims:
    """Return the claims of a run's texts, of the kind and role that `load_texts` takes.

    Raise what that does, and StateError for a pack whose file is gone.
    """
    with workspace.store.read() as db:
        loaded = load_texts(db, run, texts, role)
        of_dataset = pairs.frame(db, loaded.run.dataset)[["pert", "gene"]]
    found = list(_packs(workspace, default_dataset(workspace, loaded.run.dataset).organism))
    named = {gene for pack in found for gene in _genes(pack)}
    claims = find_run_claims(loaded, Symbols(named | set(of_dataset.to_numpy().ravel())), _knowledge(found))
    with workspace.store.read() as db:
        return with_worth(db, claims)


def _packs(workspace: Workspace, organism: str) -> Iterator[Pack]:
    for kind in (Regulation.kind, Signalling.kind, Network.kind, Descriptions.kind):
        pack = packs.read_latest(workspace, kind, organism)
        if pack is not None:
            yield pack


def _genes(pack: Pack) -> Iterator[str]:
    if isinstance(pack, Regulation):
        yield from (gene for pair in pack.signs for gene in pair)
    elif isinstance(pack, Network):
        yield from (gene for edge in pack.edges for gene in edge[:2])
    elif isinstance(pack, Descriptions):
        yield from pack.texts


def _knowledge(found: list[Pack]) -> Knowledge:
    signs: dict[tuple[str, str], int] = {}
    interactions: set[frozenset[str]] = set()
    for pack in found:
        if isinstance(pack, Regulation):
            for (factor, target), sign in pack.signs.items():
                pair = factor.casefold(), target.casefold()
                signs[pair] = sign if signs.get(pair, sign) == sign else 0  # two packs that disagree leave the direction open
        elif isinstance(pack, Network):
            interactions |= {frozenset((a.casefold(), b.casefold())) for a, b, score in pack.edges if score >= LEAST_SCORE}
    sources = tuple(pack.kind for pack in found if isinstance(pack, Regulation | Network))
    return Knowledge(signs, interactions, sources)
