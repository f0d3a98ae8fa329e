"""gene_info: the name, summary and ortholog of a gene.

mygene.info: names, summaries, Gene Ontology processes and KEGG pathways of mouse genes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

from core.base.net.response_cache import CachedResponse
from core.base.types import JsonObject
from core.evidence.packs import Table
from core.evidence.source_client import Batch, SourceClient, describe_source
from core.evidence.sources import Site, SourceRequest, check_symbol, parse_json
from core.evidence.tool import Answer, Query, Tool, answer_from_table

MAX_SYMBOLS = 1_000  # in one request, as the source asks
_FIELDS = "symbol,name,summary,go.BP.term,pathway.kegg.name"
_ORGANISM = re.compile(r" - Mus musculus \([a-z ]*mouse\)$")  # at the end of every pathway's name


@dataclass(frozen=True)
class _Term:
    term: str


@dataclass(frozen=True)
class _Pathway:
    name: str


@dataclass(frozen=True)
class _Terms:
    BP: list[_Term] | _Term = field(default_factory=list)  # a single term is sent without a list


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


def _read_version(text: str) -> str:
    return parse_json(_Metadata, text).build_version


SITE = Site(
    "mygene",
    "mygene.info",
    per_s=1.0,
    version=SourceRequest("GET", "metadata"),
    read_version=_read_version,
)


async def fetch_genes(
    client: SourceClient, symbol: str
) -> tuple[dict[str, JsonObject], CachedResponse]:
    """Return the genes whose symbol equals this one in any case, by their symbol, and the response.
    Raise SourceError."""
    response = await client.fetch_one(
        BATCH, check_symbol(SITE, symbol), (*client.perts, *client.genes)
    )
    genes: list[JsonObject] = json.loads(response.body or "[]")
    # of equal symbols the first, which fits best
    return {gene["symbol"]: gene for gene in reversed(genes)}, response


def _request(symbols: Sequence[str]) -> SourceRequest:
    params = {"q": ",".join(symbols), "scopes": "symbol", "species": "mouse", "fields": _FIELDS}
    return SourceRequest("POST", "query", params)


async def _fetch(client: SourceClient, symbols: Sequence[str]) -> dict[str, str | None]:
    """Return the genes whose symbol equals the one asked for in any case, as JSON by symbol; hits
    by another name are dropped."""
    genes: dict[str, list[JsonObject]] = {}
    for hit in await client.send(SITE, _request(symbols), partial(parse_json, list[_Hit])) or []:
        if hit.symbol.casefold() == hit.query.casefold():
            processes, pathways = hit.go.BP, hit.pathway.kegg
            terms = {
                term.term for term in (processes if isinstance(processes, list) else [processes])
            }
            names = [
                pathway.name for pathway in (pathways if isinstance(pathways, list) else [pathways])
            ]
            kegg = list(dict.fromkeys(_ORGANISM.sub("", name) for name in names))
            genes.setdefault(hit.query, []).append(
                {
                    "symbol": hit.symbol,
                    "name": hit.name,
                    "summary": hit.summary,
                    "go_bp": sorted(terms),
                    "kegg": kegg,
                }
            )
    return {symbol: json.dumps(listed) for symbol, listed in genes.items()}


BATCH = Batch(SITE, lambda symbol: _request([symbol]), _fetch, MAX_SYMBOLS)


MAX_PROCESSES, MAX_PATHWAYS = 8, 5
_NAME_ONLY = "[no summary]"  # marks a text of the pack that is only a name


async def _ask(query: Query) -> Answer:
    answer = _ask_pack(query) if query.client is None else await _ask_mygene(query, query.client)
    orthologs = query.packs.ortholog_table
    used = answer.status == "ok" and orthologs.present
    return answer._replace(source=f"{answer.source}; {orthologs.source}") if used else answer


def _ask_pack(query: Query) -> Answer:
    def body(symbol: str, text: str) -> JsonObject | None:
        ortholog = _ortholog(query, symbol)
        name = text.removeprefix(_NAME_ONLY).strip() if text.startswith(_NAME_ONLY) else None
        summary = text.strip() if name is None else None
        if not (name or summary or ortholog):
            return None
        return {
            "symbol": symbol,
            "name": name or None,
            "summary": summary or None,
            "ortholog": ortholog,
        }

    return answer_from_table(query.symbol, query.packs.description_table, body)


async def _ask_mygene(query: Query, client: SourceClient) -> Answer:
    def body(symbol: str, gene: JsonObject) -> JsonObject:
        of_pack = {
            "symbol": symbol,
            "name": gene["name"],
            "summary": gene["summary"],
            "ortholog": _ortholog(query, symbol),
        }
        return {
            **of_pack,
            "go_bp": gene["go_bp"][:MAX_PROCESSES],
            "kegg": gene["kegg"][:MAX_PATHWAYS],
        }

    genes, response = await fetch_genes(client, query.symbol)
    table = Table(genes, describe_source(SITE, response))
    return answer_from_table(query.symbol, table, body)._replace(retrieved_at=response.retrieved_at)


def _ortholog(query: Query, symbol: str) -> str | None:
    """Return the gene's symbol in the other organism; None if none, or several spellings, are
    listed."""
    table = query.packs.ortholog_table
    spellings = table.spellings(symbol)
    return table.entries[spellings[0]] if len(spellings) == 1 else None


TOOL = Tool(
    "gene_info",
    "Name and summary of a gene, and its ortholog.",
    ("pert", "gene"),
    _ask,
    reads=("descriptions", "orthologs"),
)
