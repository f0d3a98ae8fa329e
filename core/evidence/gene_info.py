"""gene_info: what a gene is."""

from __future__ import annotations

from typing import TypedDict

from core.evidence.tool import Answer, Query, Tool, look_up

_NAME_ONLY = "[no summary]"  # how the pack marks a text that is a name alone


class GeneInfo(TypedDict):
    """name, summary: None where the pack has no such text; ortholog: in the other organism, None where none is known."""

    symbol: str
    name: str | None
    summary: str | None
    ortholog: str | None


def _ask(query: Query) -> Answer:
    counterparts = query.packs.counterparts

    def body(symbol: str, text: str) -> GeneInfo | None:
        known = counterparts.spellings(symbol)
        ortholog = counterparts.entries[known[0]] if len(known) == 1 else None
        name = text.removeprefix(_NAME_ONLY).strip() if text.startswith(_NAME_ONLY) else None
        summary = text.strip() if name is None else None
        if not (name or summary or ortholog):
            return None
        return GeneInfo(symbol=symbol, name=name or None, summary=summary or None, ortholog=ortholog)

    answer = look_up(query.symbol, query.packs.texts, body)
    used = answer.status == "ok" and counterparts.present
    return answer._replace(source=f"{answer.source}; {counterparts.source}") if used else answer


TOOL = Tool("gene_info", "Name and summary of a gene, and its ortholog.", ("pert", "gene"), _ask)
