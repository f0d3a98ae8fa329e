"""protein_interactions: with which proteins a gene's product interacts."""

from __future__ import annotations

from datetime import datetime
from typing import TypedDict

from core.evidence import string_db
from core.evidence.packs import Partner
from core.evidence.source_client import source_of
from core.evidence.symbol_table import Table
from core.evidence.tool import Answer, Query, Tool, look_up


class Scored(TypedDict):
    """A partner and its score in 1–1000."""

    symbol: str
    score: int


class Interactions(TypedDict):
    """All partners, the highest score first; of a public source the best 25."""

    symbol: str
    partners: list[Scored]


def _body(symbol: str, partners: tuple[Partner, ...]) -> Interactions:
    return Interactions(symbol=symbol, partners=[Scored(symbol=name, score=score) for name, score in partners])


async def _ask(query: Query) -> Answer:
    table, at = await partner_table(query)
    return look_up(query.symbol, table, _body)._replace(retrieved_at=at)


async def partner_table(query: Query) -> tuple[Table[tuple[Partner, ...]], datetime | None]:
    """Where a query's symbol is looked up: the pack, or what STRING says of it, and when it did. Raises SourceError."""
    if query.web is None:
        return query.packs.partners, None
    found, kept = await string_db.partners(query.web, query.symbol)
    return Table(found, source_of(string_db.SITE, kept)), kept.retrieved_at


TOOL = Tool("protein_interactions", "Interaction partners of a gene, with scores.", ("pert", "gene"), _ask)
