"""gene_class: the kind of a gene symbol, and the curated program that the gene belongs to."""

from __future__ import annotations

from typing import Literal, TypedDict

from core.evidence.programs import program_of
from core.evidence.tool import Answer, Query, Tool
from core.symbols import SymbolKind, symbol_kind

SOURCE = "symbol patterns and curated programs"


class GeneClass(TypedDict):
    """naming: the kind of the symbol. uncharacterised: whether the symbol is provisional. program: the curated program of
    the gene, None for none; expected: the direction in which a perturbation tends to move that program's genes."""

    symbol: str
    naming: SymbolKind
    uncharacterised: bool
    program: str | None
    expected: Literal["up", "down"] | None


def _ask(query: Query) -> Answer:
    spelling, program = program_of(query.symbol)
    kind = symbol_kind(spelling)
    body = GeneClass(
        symbol=spelling,
        naming=kind,
        uncharacterised=kind != "named",
        program=program.name if program else None,
        expected=program.expected if program else None,
    )
    return Answer("ok", SOURCE, body if spelling == query.symbol else {**body, "asked": query.symbol})


TOOL = Tool(
    "gene_class",
    "Whether a gene is uncharacterised, and its stress, p53, ribosome or cell cycle program.",
    ("pert", "gene"),
    _ask,
)
