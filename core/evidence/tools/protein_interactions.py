"""protein_interactions: the proteins that a gene's product interacts with.

STRING: interaction partners of mouse proteins.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from core.base.types import JsonObject
from core.evidence.packs import Partner, Table
from core.evidence.source_client import Batch, SourceClient, describe_source
from core.evidence.sources import Site, SourceRequest, check_symbol, parse_json
from core.evidence.tool import Answer, Query, Tool, answer_from_table

MAX_PARTNERS = 25
MAX_SYMBOLS = 50  # in one request: STRING is not meant for thousands at once
_CALLER = "perturbdesk"
_MOUSE = "10090"
_HITS_PER_SYMBOL = "5"  # the best hit may be a protein that only has the symbol as an alias


@dataclass(frozen=True)
class _Protein:
    queryItem: str
    stringId: str
    preferredName: str


@dataclass(frozen=True)
class _Interaction:
    stringId_A: str
    preferredName_B: str
    score: float


@dataclass(frozen=True)
class _Version:
    string_version: str


def _read_version(text: str) -> str:
    versions = parse_json(list[_Version], text)
    if not versions:
        raise ValueError("no version")
    return versions[0].string_version


SITE = Site(
    *("string", "STRING"),
    per_s=1.0,
    serial=True,
    version=SourceRequest("GET", "json/version"),
    read_version=_read_version,
    identify=lambda settings: {"caller_identity": f"{_CALLER} {settings.contact}".strip()},
)


def _partners_request(identifiers: Collection[str]) -> SourceRequest:
    params = {"identifiers": "\r".join(identifiers), "species": _MOUSE, "limit": str(MAX_PARTNERS)}
    return SourceRequest("POST", "json/interaction_partners", params, may_be_missing=True)


async def _fetch(client: SourceClient, symbols: Sequence[str]) -> dict[str, str | None]:
    """Return the proteins whose name equals each symbol in any case, with their partners, as JSON
    by symbol."""
    params = {
        "identifiers": "\r".join(symbols),
        "species": _MOUSE,
        "limit": _HITS_PER_SYMBOL,
        "echo_query": "1",
    }
    request = SourceRequest("POST", "json/get_string_ids", params)
    hits = await client.send(SITE, request, partial(parse_json, list[_Protein]))
    same_name = [
        hit for hit in hits or [] if hit.preferredName.casefold() == hit.queryItem.casefold()
    ]
    partners = await _fetch_partners_by_id(client, {hit.stringId for hit in same_name})
    proteins: dict[str, dict[str, list[Partner]]] = {}
    # of equal names the first, which fits best, comes last and stays
    for hit in reversed(same_name):
        proteins.setdefault(hit.queryItem, {})[hit.preferredName] = partners.get(hit.stringId, [])
    return {symbol: json.dumps(by_name) for symbol, by_name in proteins.items()}


async def _fetch_partners_by_id(client: SourceClient, ids: set[str]) -> dict[str, list[Partner]]:
    """Return the best partners of each protein, by STRING's id of the protein."""
    if not ids:
        return {}
    request = _partners_request(sorted(ids))
    partners: dict[str, list[Partner]] = {}
    for interaction in (
        await client.send(SITE, request, partial(parse_json, list[_Interaction])) or []
    ):
        partner = Partner(interaction.preferredName_B, round(interaction.score * 1000))
        partners.setdefault(interaction.stringId_A, []).append(partner)
    return {
        key: sorted(listed, key=lambda p: (-p.score, p.symbol))[:MAX_PARTNERS]
        for key, listed in partners.items()
    }


BATCH = Batch(SITE, lambda symbol: _partners_request([symbol]), _fetch, MAX_SYMBOLS)


async def _ask(query: Query) -> Answer:
    def body(symbol: str, partners: tuple[Partner, ...]) -> JsonObject:
        return {"symbol": symbol, "partners": [partner._asdict() for partner in partners]}

    table, retrieved_at = await partner_table(query)
    return answer_from_table(query.symbol, table, body)._replace(retrieved_at=retrieved_at)


async def partner_table(query: Query) -> tuple[Table[tuple[Partner, ...]], datetime | None]:
    """Return the partners by symbol, of the pack or as STRING knows them, and when STRING gave
    them. Raise SourceError."""
    client, symbol = query.client, query.symbol
    if client is None:
        return query.packs.partner_table, None
    # Only names of the same kind are fetched beside: there are many more genes than perturbations,
    # and few may be needed.
    expected = client.perts if symbol in client.perts else client.genes
    response = await client.fetch_one(BATCH, check_symbol(SITE, symbol), expected)
    listed: dict[str, list[tuple[str, int]]] = json.loads(response.body or "{}")
    partners = {
        name: tuple(Partner(*partner) for partner in found)
        for name, found in listed.items()
        if found
    }
    return Table(partners, describe_source(SITE, response)), response.retrieved_at


TOOL = Tool(
    "protein_interactions",
    "Interaction partners of a gene, with scores.",
    ("pert", "gene"),
    _ask,
    reads=("edges",),
)
