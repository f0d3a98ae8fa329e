"""mygene.info: names, summaries, Gene Ontology processes and KEGG pathways of mouse genes."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, TypedDict

from core.evidence.source_client import Batch, SourceClient
from core.evidence.sources import Request, Site, askable
from core.net.response_cache import CachedResponse

if TYPE_CHECKING:
    from pydantic import TypeAdapter

MOST = 1_000  # symbols a request, as the source asks
_FIELDS = "symbol,name,summary,go.BP.term,pathway.kegg.name"
_ORGANISM = re.compile(r" - Mus musculus \([a-z ]*mouse\)$")  # KEGG says it of every pathway


class Gene(TypedDict):
    """A gene as the source knows it; go_bp in order of characters, kegg in the source's order."""

    symbol: str
    name: str | None
    summary: str | None
    go_bp: list[str]
    kegg: list[str]


@dataclass(frozen=True)
class _Term:
    term: str


@dataclass(frozen=True)
class _Pathway:
    name: str


@dataclass(frozen=True)
class _Terms:
    BP: list[_Term] | _Term = field(default_factory=list)  # a single one comes without a list


@dataclass(frozen=True)
class _Pathways:
    kegg: list[_Pathway] | _Pathway = field(default_factory=list)


@dataclass(frozen=True)
class _Hit:
    query: str
    symbol: str = ""
    name: str | None = None
    summary: str | None = None
    go: _Terms = field(default_factory=_Terms)
    pathway: _Pathways = field(default_factory=_Pathways)


@dataclass(frozen=True)
class _Metadata:
    build_version: str


@cache
def _hits() -> TypeAdapter[list[_Hit]]:
    from pydantic import TypeAdapter

    return TypeAdapter(list[_Hit])


def _version(text: str) -> str:
    from pydantic import TypeAdapter

    return TypeAdapter(_Metadata).validate_json(text).build_version


SITE = Site("mygene", "mygene.info", per_s=1.0, version=Request("GET", "metadata"), read_version=_version)


async def genes(web: SourceClient, symbol: str) -> tuple[dict[str, Gene], CachedResponse]:
    """The genes that are spelled like a symbol, in whatever case, and when that was found. Raises SourceError."""
    kept = await web.one(BATCH, askable(SITE, symbol), (*web.perts, *web.genes))
    found: list[Gene] = json.loads(kept.body or "[]")
    return {gene["symbol"]: gene for gene in reversed(found)}, kept  # of equal symbols the first, which fits best


def _request(symbols: Sequence[str]) -> Request:
    params = {"q": ",".join(symbols), "scopes": "symbol", "species": "mouse", "fields": _FIELDS}
    return Request("POST", "query", params)


async def _fetch(web: SourceClient, symbols: Sequence[str]) -> dict[str, str | None]:
    """Of each symbol the hits that are spelled so, in whatever case; hits by another name are not taken."""
    found: dict[str, list[Gene]] = {}
    for hit in await web.ask(SITE, _request(symbols), lambda text: _hits().validate_json(text)) or []:
        if hit.symbol.casefold() == hit.query.casefold():
            found.setdefault(hit.query, []).append(_gene(hit))
    return {symbol: json.dumps(hits) for symbol, hits in found.items()}


def _gene(hit: _Hit) -> Gene:
    processes, pathways = hit.go.BP, hit.pathway.kegg
    terms = {one.term for one in (processes if isinstance(processes, list) else [processes])}
    names = [one.name for one in (pathways if isinstance(pathways, list) else [pathways])]
    kegg = list(dict.fromkeys(_ORGANISM.sub("", name) for name in names))
    return Gene(symbol=hit.symbol, name=hit.name, summary=hit.summary, go_bp=sorted(terms), kegg=kegg)


BATCH = Batch(SITE, lambda symbol: _request([symbol]), _fetch, MOST)
