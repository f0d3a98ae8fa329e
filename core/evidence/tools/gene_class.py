"""gene_class: what a symbol says by itself, and whether the gene belongs to a curated program."""

from __future__ import annotations

from typing import Literal, TypedDict

from core.evidence.programs import program_of
from core.evidence.tool import Answer, Query, Tool
from core.symbols import SymbolKind, symbol_kind

SOURCE = "symbol patterns and curated programs"


class GeneClass(TypedDict):
    """uncharacterised: the symbol is provisional. program, expected: the curated program, and where its genes tend to go."""

    symbol: str
    naming: SymbolKind
    uncharacterised: bool
    program: str | None
    expected: Literal["up", "down"] | None


def _ask(query: Query) -> Answer:
    spelled, program = program_of(query.symbol)
    named = symbol_kind(spelled)
    body = GeneClass(
        symbol=spelled,
        naming=named,
        uncharacterised=named != "named",
        program=program.name if program else None,
        expected=program.expected if program else None,
    )
    return Answer("ok", SOURCE, body if spelled == query.symbol else {**body, "asked": query.symbol})


TOOL = Tool(
    "gene_class",
    "Whether a gene is uncharacterised, and its stress, p53, ribosome or cell cycle program.",
    ("pert", "gene"),
    _ask,
)
