"""pathways: the pathways that a gene is part of."""

from __future__ import annotations

from core.evidence.tool import Answer, Query, Tool, answer_from_table


def _ask(query: Query) -> Answer:
    def body(symbol: str, names: tuple[str, ...]) -> dict[str, object] | None:
        return {"symbol": symbol, "pathways": [*names]} if names else None

    return answer_from_table(query.symbol, query.packs.pathway_table, body)


TOOL = Tool(
    "pathways",
    "Pathways that a gene is part of, the most specific first.",
    ("gene",),
    _ask,
    reads=("pathways",),
)
