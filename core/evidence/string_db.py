"""STRING: interaction partners of mouse proteins."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from core.evidence.packs import Partner
from core.evidence.source_client import Batch, SourceClient
from core.evidence.sources import Request, Site, askable
from core.net.response_cache import CachedResponse

if TYPE_CHECKING:
    from pydantic import TypeAdapter

PARTNERS = 25
MOST = 50  # symbols a request: it is no place for thousands at once
_ASKER = "perturbdesk"
_MOUSE = "10090"
_LOOKED_AT = "5"  # proteins a symbol: the best hit may be one that only has the symbol as another name


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


@cache
def _proteins() -> TypeAdapter[list[_Protein]]:
    from pydantic import TypeAdapter

    return TypeAdapter(list[_Protein])


@cache
def _interactions() -> TypeAdapter[list[_Interaction]]:
    from pydantic import TypeAdapter

    return TypeAdapter(list[_Interaction])


def _version(text: str) -> str:
    from pydantic import TypeAdapter

    told = TypeAdapter(list[_Version]).validate_json(text)
    if not told:
        raise ValueError("no version")
    return told[0].string_version


SITE = Site(
    *("string", "STRING"),
    per_s=1.0,
    serial=True,
    version=Request("GET", "json/version"),
    read_version=_version,
    about_asker=lambda net: {"caller_identity": f"{_ASKER} {net.contact}".strip()},
)


async def partners(web: SourceClient, symbol: str) -> tuple[dict[str, tuple[Partner, ...]], CachedResponse]:
    """The partners of the proteins that are spelled like a symbol, in whatever case, and when that was found.

    The highest score first, equal scores in order of characters. Raises SourceError.
    """
    expected = web.perts if symbol in web.perts else web.genes  # of many more genes than perturbations, few may be wanted
    kept = await web.one(BATCH, askable(SITE, symbol), expected)
    found: dict[str, list[tuple[str, int]]] = json.loads(kept.body or "{}")
    return {name: tuple(Partner(*partner) for partner in listed) for name, listed in found.items() if listed}, kept


def _request(identifiers: Collection[str]) -> Request:
    params = {"identifiers": "\r".join(identifiers), "species": _MOUSE, "limit": str(PARTNERS)}
    return Request("POST", "json/interaction_partners", params, may_lack=True)


async def _fetch(web: SourceClient, symbols: Sequence[str]) -> dict[str, str | None]:
    """Of each symbol the proteins that are spelled so, in whatever case, with their partners."""
    params = {"identifiers": "\r".join(symbols), "species": _MOUSE, "limit": _LOOKED_AT, "echo_query": "1"}
    hits = await web.ask(SITE, Request("POST", "json/get_string_ids", params), lambda text: _proteins().validate_json(text))
    spelled = [hit for hit in hits or [] if hit.preferredName.casefold() == hit.queryItem.casefold()]
    listed = await _partners_of(web, {hit.stringId for hit in spelled})
    found: dict[str, dict[str, list[Partner]]] = {}
    for hit in reversed(spelled):  # of equal names the first, which fits best, comes last and stays
        found.setdefault(hit.queryItem, {})[hit.preferredName] = listed.get(hit.stringId, [])
    return {symbol: json.dumps(proteins) for symbol, proteins in found.items()}


async def _partners_of(web: SourceClient, ids: set[str]) -> dict[str, list[Partner]]:
    """Partners by the id of a protein."""
    if not ids:
        return {}
    request = _request(sorted(ids))
    found: dict[str, list[Partner]] = {}
    for one in await web.ask(SITE, request, lambda text: _interactions().validate_json(text)) or []:
        found.setdefault(one.stringId_A, []).append(Partner(one.preferredName_B, round(one.score * 1000)))
    return {key: sorted(listed, key=lambda one: (-one.score, one.symbol))[:PARTNERS] for key, listed in found.items()}


BATCH = Batch(SITE, lambda symbol: _request([symbol]), _fetch, MOST)
