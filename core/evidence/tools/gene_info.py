"""gene_info: the name, summary and ortholog of a gene."""

from __future__ import annotations

from typing import NotRequired, TypedDict

from core.evidence import mygene
from core.evidence.mygene import Gene
from core.evidence.packs import Table
from core.evidence.source_client import SourceClient, describe_source
from core.evidence.tool import Answer, Query, Tool, answer_from_table

MAX_PROCESSES, MAX_PATHWAYS = 8, 5
_NAME_ONLY = "[no summary]"  # marks a text of the pack that is only a name


class GeneInfo(TypedDict):
    """name, summary: None if there is no such text. ortholog: in the other organism, None if none is known.

    go_bp: the first 8 biological processes in alphabetical order; kegg: the first 5 pathways. A pack has neither.
    """

    symbol: str
    name: str | None
    summary: str | None
    ortholog: str | None
    go_bp: NotRequired[list[str]]
    kegg: NotRequired[list[str]]


async def _ask(query: Query) -> Answer:
    answer = _ask_pack(query) if query.client is None else await _ask_mygene(query, query.client)
    orthologs = query.packs.ortholog_table
    used = answer.status == "ok" and orthologs.present
    return answer._replace(source=f"{answer.source}; {orthologs.source}") if used else answer


def _ask_pack(query: Query) -> Answer:
    def body(symbol: str, text: str) -> GeneInfo | None:
        ortholog = _ortholog(query, symbol)
        name = text.removeprefix(_NAME_ONLY).strip() if text.startswith(_NAME_ONLY) else None
        summary = text.strip() if name is None else None
        if not (name or summary or ortholog):
            return None
        return GeneInfo(symbol=symbol, name=name or None, summary=summary or None, ortholog=ortholog)

    return answer_from_table(query.symbol, query.packs.description_table, body)


async def _ask_mygene(query: Query, client: SourceClient) -> Answer:
    def body(symbol: str, gene: Gene) -> GeneInfo:
        return GeneInfo(
            symbol=symbol,
            name=gene["name"],
            summary=gene["summary"],
            ortholog=_ortholog(query, symbol),
            go_bp=gene["go_bp"][:MAX_PROCESSES],
            kegg=gene["kegg"][:MAX_PATHWAYS],
        )

    genes, response = await mygene.fetch_genes(client, query.symbol)
    table = Table(genes, describe_source(mygene.SITE, response))
    return answer_from_table(query.symbol, table, body)._replace(retrieved_at=response.retrieved_at)


def _ortholog(query: Query, symbol: str) -> str | None:
    """The gene's symbol in the other organism; None if none, or several spellings, are listed."""
    table = query.packs.ortholog_table
    spellings = table.spellings(symbol)
    return table.entries[spellings[0]] if len(spellings) == 1 else None


TOOL = Tool(
    "gene_info", "Name and summary of a gene, and its ortholog.", ("pert", "gene"), _ask, reads=("descriptions", "orthologs")
)
