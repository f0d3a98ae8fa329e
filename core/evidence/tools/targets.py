"""targets: the genes that a transcription factor acts on, and how."""

from __future__ import annotations

from core.evidence.tool import Answer, Query, Tool, answer_from_table
from core.evidence.tools.regulators import by_sign


def _ask(query: Query) -> Answer:
    kinds = "activated", "repressed"
    return answer_from_table(
        query.symbol,
        query.packs.target_table,
        lambda symbol, others: by_sign(symbol, others, kinds),
    )


TOOL = Tool(
    "targets",
    "Genes that a transcription factor activates or represses.",
    ("pert",),
    _ask,
    reads=("signs",),
)
