"""protein_interactions: with which proteins a gene's product interacts."""

from __future__ import annotations

from typing import TypedDict

from core.evidence.packs import Partner
from core.evidence.tool import Answer, Query, Tool, look_up


class Scored(TypedDict):
    """A partner and its score in 1–1000."""

    symbol: str
    score: int


class Interactions(TypedDict):
    """All partners, the highest score first."""

    symbol: str
    partners: list[Scored]


def _body(symbol: str, partners: tuple[Partner, ...]) -> Interactions:
    return Interactions(symbol=symbol, partners=[Scored(symbol=name, score=score) for name, score in partners])


def _ask(query: Query) -> Answer:
    return look_up(query.symbol, query.packs.partners, _body)


TOOL = Tool("protein_interactions", "Interaction partners of a gene, with scores.", ("pert", "gene"), _ask)
