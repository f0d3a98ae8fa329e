"""What is known of the claims of texts: each is supported by imported knowledge, contradicted by it, or not known."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from core.audit.claims import SYMMETRIC, Claim, Relation
from core.audit.kind_settings import TextKind
from core.fields.record import setting

Status = Literal["supported", "contradicted", "not known"]
STATUSES: Final[tuple[Status, ...]] = ("supported", "contradicted", "not known")
LEAST_SCORE: Final = 400  # of an interaction that counts: what STRING calls medium confidence
_SIGNS: Final[Mapping[Relation, int]] = {"activates": 1, "represses": -1}


@dataclass(frozen=True, slots=True)
class ClaimsRequest:
    """Which claims a person asks for: of which texts, and about what."""

    texts: TextKind = setting(
        "", "By default the first that the run has.", metavar="brief|rebuttal|answer|thought|text|verdict", key="texts"
    )
    role: str = setting("", "Only texts of this role.", key="of_role")
    subject: str = setting("", "Only claims that this gene acts.", title="Gene that acts", key="acts", missing="any")
    relation: Literal["", "activates", "represses", "regulates", "binds"] = setting("", "Only this relation.", title="Relation")
    object: str = setting("", "Only claims that this gene is acted on.", title="Gene acted on", key="acted_on", missing="any")
    status: Literal["", "supported", "contradicted", "not known"] = setting("", "Only what is known like this.", title="Known as")


@dataclass(frozen=True)
class Knowledge:
    """What packs say of pairs of genes, found in any case.

    signs: (regulator, target) → 1 activates, −1 represses, 0 in an unknown direction, or where packs disagree.
    interactions: pairs of genes. sources: the names of the packs.
    """

    signs: Mapping[tuple[str, str], int] = field(default_factory=dict)
    interactions: Collection[frozenset[str]] = frozenset()
    sources: tuple[str, ...] = ()

    def status(self, claim: Claim) -> Status:
        """Return what is known of a claim.

        A regulation of the same direction supports it, one of the other contradicts it. That no pack lists a pair says nothing.
        """
        subject, object_ = claim.subject.casefold(), claim.object.casefold()
        if claim.relation in SYMMETRIC:
            return "supported" if frozenset((subject, object_)) in self.interactions else "not known"
        known, claimed = self.signs.get((subject, object_)), _SIGNS.get(claim.relation, 0)
        if known is None or (claimed and not known):
            return "not known"
        return "contradicted" if claimed and known != claimed else "supported"
