"""gene_info: what a gene is."""

from __future__ import annotations

from typing import NotRequired, TypedDict

from core.evidence import mygene
from core.evidence.mygene import Gene
from core.evidence.source_client import SourceClient, source_of
from core.evidence.symbol_table import Table
from core.evidence.tool import Answer, Query, Tool, look_up

PROCESSES, PATHWAYS = 8, 5
_NAME_ONLY = "[no summary]"  # how the pack marks a text that is a name alone


class GeneInfo(TypedDict):
    """name, summary: None where there is no such text; ortholog: in the other organism, None where none is known.

    go_bp: biological processes in order of characters, the first 8; kegg: the first 5 pathways; of a public source alone.
    """

    symbol: str
    name: str | None
    summary: str | None
    ortholog: str | None
    go_bp: NotRequired[list[str]]
    kegg: NotRequired[list[str]]


async def _ask(query: Query) -> Answer:
    answer = _of_pack(query) if query.web is None else await _of_source(query, query.web)
    counterparts = query.packs.counterparts
    used = answer.status == "ok" and counterparts.present
    return answer._replace(source=f"{answer.source}; {counterparts.source}") if used else answer


def _of_pack(query: Query) -> Answer:
    def body(symbol: str, text: str) -> GeneInfo | None:
        ortholog = _ortholog(query, symbol)
        name = text.removeprefix(_NAME_ONLY).strip() if text.startswith(_NAME_ONLY) else None
        summary = text.strip() if name is None else None
        if not (name or summary or ortholog):
            return None
        return GeneInfo(symbol=symbol, name=name or None, summary=summary or None, ortholog=ortholog)

    return look_up(query.symbol, query.packs.texts, body)


async def _of_source(query: Query, web: SourceClient) -> Answer:
    def body(symbol: str, gene: Gene) -> GeneInfo:
        return GeneInfo(
            symbol=symbol,
            name=gene["name"],
            summary=gene["summary"],
            ortholog=_ortholog(query, symbol),
            go_bp=gene["go_bp"][:PROCESSES],
            kegg=gene["kegg"][:PATHWAYS],
        )

    found, kept = await mygene.genes(web, query.symbol)
    table = Table(found, source_of(mygene.SITE, kept))
    return look_up(query.symbol, table, body)._replace(retrieved_at=kept.retrieved_at)


def _ortholog(query: Query, symbol: str) -> str | None:
    counterparts = query.packs.counterparts
    known = counterparts.spellings(symbol)
    return counterparts.entries[known[0]] if len(known) == 1 else None


TOOL = Tool("gene_info", "Name and summary of a gene, and its ortholog.", ("pert", "gene"), _ask)
