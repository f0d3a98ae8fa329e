"""pathways: the pathways that a gene is part of."""

from __future__ import annotations

from typing import TypedDict

from core.evidence.tool import Answer, Query, Tool, answer_from_table


class Memberships(TypedDict):
    """The names of the pathways, those with the fewest genes first."""

    symbol: str
    pathways: list[str]


def _body(symbol: str, names: tuple[str, ...]) -> Memberships | None:
    return Memberships(symbol=symbol, pathways=list(names)) if names else None


def _ask(query: Query) -> Answer:
    return answer_from_table(query.symbol, query.packs.pathway_table, _body)


TOOL = Tool("pathways", "Pathways that a gene is part of, the most specific first.", ("gene",), _ask, reads=("pathways",))
