"""lps_response: how lipopolysaccharide changes a gene's expression in published macrophages."""

from __future__ import annotations

from typing import Any

from core.evidence.packs import Response
from core.evidence.tool import Answer, Query, Tool, answer_from_table


def _body(symbol: str, response: Response) -> dict[str, Any]:
    """Return the symbol and the fields of the response."""
    return {"symbol": symbol, **response._asdict()}


def _ask(query: Query) -> Answer:
    return answer_from_table(query.symbol, query.packs.lps_table, _body)


TOOL = Tool("lps_response", "How a gene's expression in macrophages answers LPS.", ("gene",), _ask, reads=("responses",))
