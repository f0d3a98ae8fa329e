"""lps_response: how lipopolysaccharide changes a gene's expression in published macrophages."""

from __future__ import annotations

from typing import TypedDict

from core.evidence.packs import Response
from core.evidence.tool import Answer, Query, Tool, answer_from_table


class LpsResponse(TypedDict):
    """Log fold change, p-values in [0, 1] as the source rounds them, mean expression with (lps) and without LPS (ctrl)."""

    symbol: str
    logfc: float
    p_value: float
    p_adj: float
    mean_lps: float
    mean_ctrl: float


def _body(symbol: str, response: Response) -> LpsResponse:
    return LpsResponse(
        symbol=symbol,
        logfc=response.logfc,
        p_value=response.p_value,
        p_adj=response.p_adj,
        mean_lps=response.mean_lps,
        mean_ctrl=response.mean_ctrl,
    )


def _ask(query: Query) -> Answer:
    return answer_from_table(query.symbol, query.packs.lps_table, _body)


TOOL = Tool("lps_response", "How a gene's expression in macrophages answers LPS.", ("gene",), _ask, reads=("responses",))
