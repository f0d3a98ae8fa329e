"""targets: the genes that a transcription factor acts on, and how."""

from __future__ import annotations

from typing import TypedDict

from core.evidence.packs import Regulated
from core.evidence.tool import Answer, Query, Tool, answer_from_table


class Targets(TypedDict):
    """Genes in alphabetical order; unknown: those that are regulated in an unknown direction."""

    symbol: str
    activated: list[str]
    repressed: list[str]
    unknown: list[str]


def _body(symbol: str, targets: tuple[Regulated, ...]) -> Targets:
    activated, repressed, unknown = ([t.symbol for t in targets if t.sign == sign] for sign in (1, -1, 0))
    return Targets(symbol=symbol, activated=activated, repressed=repressed, unknown=unknown)


def _ask(query: Query) -> Answer:
    return answer_from_table(query.symbol, query.packs.target_table, _body)


TOOL = Tool("targets", "Genes that a transcription factor activates or represses.", ("pert",), _ask, reads=("signs",))
