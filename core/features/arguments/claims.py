"""Claims: "X activates Y" in briefs, as a model reads them, checked against the knowledge packs of
the dataset's organism, which support a claim, contradict it, or do not know it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, NamedTuple

import pandas as pd

from core.evidence.knowledge_packs import Pack
from core.features.arguments.findings import FindingKind
from core.features.arguments.rubric import Rubric
from core.features.arguments.schema import Field, Schema
from core.runs import packs
from core.runs.component_loader import default_dataset
from core.runs.workspace import Workspace
from core.store import pairs

Relation = Literal["activates", "represses", "regulates", "binds", "acts with"]
RELATIONS: Final[tuple[Relation, ...]] = (
    "activates",
    "represses",
    "regulates",
    "binds",
    "acts with",
)
SYMMETRIC: Final = frozenset({"binds", "acts with"})
Status = Literal["supported", "contradicted", "not known"]
STATUSES: Final[tuple[Status, ...]] = ("supported", "contradicted", "not known")
# the least score of an interaction that counts: STRING's medium confidence
LEAST_SCORE: Final = 400
MOST_GENES, MOST_SHARE = (
    500,
    0.05,
)  # in a pathway that counts, and as share of its pack's genes: chance explains sharing a wider one
FEWEST_GENES = 15  # a pathway of this many genes always counts, even in a small pack
_SIGNS: Final[Mapping[Relation, int]] = {"activates": 1, "represses": -1}
_WORDS: Final = {1: "activates", -1: "represses", 0: "regulates, in no known direction,"}


class Claim(NamedTuple):
    """A statement that one gene acts on another. In a symmetric relation the subject is the
    alphabetically first gene."""

    subject: str
    relation: Relation
    object: str

    def answers(self, pert: str, gene: str) -> bool:
        """Return whether it only answers its row's question: the perturbation acts on the target
        gene, or with it."""
        pair = (self.subject, self.object)
        return pair == (pert, gene) or (self.relation in SYMMETRIC and pair == (gene, pert))


class Verdict(NamedTuple):
    """The verdict on a claim. pack, entry: the deciding pack and the words of its entry; "" if no
    pack lists the claim."""

    status: Status
    pack: str = ""
    entry: str = ""


@dataclass(frozen=True)
class Knowledge:
    """The contents of packs about genes, by the name of the pack; genes in lower case.

    regulation: (regulator, target) → 1 activates, −1 represses, 0 in an unknown direction.
    interactions: pair of genes → score. pathways: gene → its pathways from `narrow_pathways`.
    kinds: the kind of each pack.
    """

    regulation: Mapping[str, Mapping[tuple[str, str], int]] = field(default_factory=dict)
    interactions: Mapping[str, Mapping[frozenset[str], int]] = field(default_factory=dict)
    pathways: Mapping[str, Mapping[str, frozenset[str]]] = field(default_factory=dict)
    kinds: Mapping[str, str] = field(default_factory=dict)

    def check(self, claim: Claim) -> Verdict:
        """Return the verdict on a claim.

        A regulation in the same direction supports the claim, one in the other direction
        contradicts it. If two packs disagree, the claim stays unknown. Interactions and pathways
        have no sign: they support and never contradict. A pair that no pack lists is unknown.
        """
        subject, object_ = claim.subject.casefold(), claim.object.casefold()
        if claim.relation == "binds":
            return self._interaction(frozenset((subject, object_)))
        if claim.relation == "acts with":
            return self._shared_pathway(subject, object_)
        return self._regulation(claim, (subject, object_))

    def _interaction(self, pair: frozenset[str]) -> Verdict:
        scores = {pack: of_pack.get(pair, 0) for pack, of_pack in self.interactions.items()}
        pack = max(scores, key=scores.__getitem__, default="")
        if not scores.get(pack):
            return Verdict("not known")
        status: Status = "supported" if scores[pack] >= LEAST_SCORE else "not known"
        return Verdict(status, pack, f"score {scores[pack]}")

    def _shared_pathway(self, a: str, b: str) -> Verdict:
        for pack, of_gene in self.pathways.items():
            shared = of_gene.get(a, frozenset()) & of_gene.get(b, frozenset())
            if shared:
                more = f" and {len(shared) - 1} more" if len(shared) > 1 else ""
                return Verdict("supported", pack, f"both in {min(shared)}{more}")
        return Verdict("not known")

    def _regulation(self, claim: Claim, pair: tuple[str, str]) -> Verdict:
        listed = {pack: of[pair] for pack, of in self.regulation.items() if pair in of}
        if not listed:
            return Verdict("not known")
        directed = {pack: sign for pack, sign in listed.items() if sign}
        pack, sign = next(iter((directed or listed).items()))
        entry = f"{claim.subject} {_WORDS[sign]} {claim.object}".rstrip(",")
        claimed = _SIGNS.get(claim.relation, 0)
        if not claimed:
            return Verdict("supported", pack, entry)
        if not directed:
            return Verdict("not known", pack, entry)
        if len(set(directed.values())) > 1:
            said = "; ".join(f"{name}: {_WORDS[sign]}" for name, sign in directed.items())
            return Verdict("not known", pack, f"the packs disagree ({said})")
        return Verdict("supported" if claimed == sign else "contradicted", pack, entry)


def narrow_pathways(names: Mapping[str, tuple[str, ...]]) -> dict[str, frozenset[str]]:
    """Return the pathways of each gene, in lower case, except those of more than `MOST_GENES` genes
    or `MOST_SHARE` of all."""
    sizes = Counter(name for of_gene in names.values() for name in set(of_gene))
    most = min(MOST_GENES, max(FEWEST_GENES, MOST_SHARE * len(names)))
    return {
        gene.casefold(): frozenset(name for name in of_gene if sizes[name] <= most)
        for gene, of_gene in names.items()
    }


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


QUESTION = (
    "Does the brief claim something about two genes, apart from the effect that is asked about?"
)
CLAIMS = FindingKind(
    Schema(
        Rubric("claims", QUESTION),
        listed="claims",
        of="text",
        role=(
            "You read a text that a language model wrote about two genes, and list what it claims"
            " about genes: which gene does what to which other gene."
        ),
        request="List every claim that the text makes about two genes.",
        fields=(
            Field("subject", "the gene that acts, spelled as in the text.", "word"),
            Field(
                "relation",
                '"regulates" leaves the direction open; "binds" is a physical interaction; "acts'
                ' with" is a shared pathway or process.',
                "choice",
                RELATIONS,
            ),
            Field("object", "the gene that is acted on, spelled as in the text.", "word"),
            Field("quote", "the sentence that makes the claim, copied word for word."),
        ),
        key=("subject", "relation", "object"),
        note=(
            'A loss turns the relation around: "knockdown of X lowers Y" claims that X activates Y.'
            " What is asked, denied or doubted is no claim. If the text claims nothing, the list is"
            " empty."
        ),
    ),
    texts="texts",
    statuses=STATUSES,
    settle=settle,
    worth=STATUSES,
    load_knowledge=load_knowledge,
)
