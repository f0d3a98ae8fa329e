"""lps_response: how lipopolysaccharide changes a gene's expression in published macrophages."""

from __future__ import annotations

from core.evidence.tool import Answer, Query, Tool, answer_from_table


def _ask(query: Query) -> Answer:
    return answer_from_table(
        query.symbol,
        query.packs.lps_table,
        lambda symbol, response: {"symbol": symbol, **response._asdict()},
    )


TOOL = Tool(
    "lps_response",
    "How a gene's expression in macrophages answers LPS.",
    ("gene",),
    _ask,
    reads=("responses",),
)
