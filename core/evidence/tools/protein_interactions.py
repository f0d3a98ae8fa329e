"""protein_interactions: the proteins that a gene's product interacts with."""

from __future__ import annotations

from datetime import datetime
from typing import TypedDict

from core.evidence import string_db
from core.evidence.packs import Partner, Table
from core.evidence.source_client import describe_source
from core.evidence.tool import Answer, Query, Tool, answer_from_table


class ScoredPartner(TypedDict):
    """An interaction partner and its score, 1 to 1000."""

    symbol: str
    score: int


class Interactions(TypedDict):
    """The partners, the highest score first: all that the pack has, or the best 25 of STRING."""

    symbol: str
    partners: list[ScoredPartner]


def _body(symbol: str, partners: tuple[Partner, ...]) -> Interactions:
    return Interactions(symbol=symbol, partners=[ScoredPartner(symbol=name, score=score) for name, score in partners])


async def _ask(query: Query) -> Answer:
    table, retrieved_at = await partner_table(query)
    return answer_from_table(query.symbol, table, _body)._replace(retrieved_at=retrieved_at)


async def partner_table(query: Query) -> tuple[Table[tuple[Partner, ...]], datetime | None]:
    """The partners by symbol, of the pack or as STRING knows them, and when STRING gave them. Raises SourceError."""
    if query.client is None:
        return query.packs.partner_table, None
    partners, response = await string_db.fetch_partners(query.client, query.symbol)
    return Table(partners, describe_source(string_db.SITE, response)), response.retrieved_at


TOOL = Tool("protein_interactions", "Interaction partners of a gene, with scores.", ("pert", "gene"), _ask, reads=("edges",))
