"""regulators: the transcription factors that act on a gene, and how."""

from __future__ import annotations

from collections.abc import Iterable

from core.base.types import JsonObject
from core.evidence.packs import Regulated
from core.evidence.tool import Answer, Query, Tool, answer_from_table


def by_sign(symbol: str, others: Iterable[Regulated], kinds: tuple[str, str]) -> JsonObject:
    """Return the other genes of a symbol's regulations: those of sign 1 and −1 under these kinds,
    and the unknown ones."""
    signs = zip((*kinds, "unknown"), (1, -1, 0), strict=True)
    return {
        "symbol": symbol,
        **{kind: [other.symbol for other in others if other.sign == sign] for kind, sign in signs},
    }


def _ask(query: Query) -> Answer:
    kinds = "activators", "repressors"
    return answer_from_table(
        query.symbol,
        query.packs.regulator_table,
        lambda symbol, others: by_sign(symbol, others, kinds),
    )


TOOL = Tool(
    "regulators",
    "Transcription factors that activate or repress a gene.",
    ("gene",),
    _ask,
    reads=("signs",),
)
