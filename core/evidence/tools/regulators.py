"""regulators: the transcription factors that act on a gene, and how."""

from __future__ import annotations

from typing import TypedDict

from core.evidence.packs import Regulated
from core.evidence.tool import Answer, Query, Tool, answer_from_table


class Regulators(TypedDict):
    """Transcription factors in alphabetical order; unknown: those that regulate in an unknown direction."""

    symbol: str
    activators: list[str]
    repressors: list[str]
    unknown: list[str]


def _body(symbol: str, factors: tuple[Regulated, ...]) -> Regulators:
    activators, repressors, unknown = ([f.symbol for f in factors if f.sign == sign] for sign in (1, -1, 0))
    return Regulators(symbol=symbol, activators=activators, repressors=repressors, unknown=unknown)


def _ask(query: Query) -> Answer:
    return answer_from_table(query.symbol, query.packs.regulator_table, _body)


TOOL = Tool("regulators", "Transcription factors that activate or repress a gene.", ("gene",), _ask, reads=("signs",))
