"""Nine labelled rows, one to be predicted, and knowledge packs about them, small enough to count by hand."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterator, Sequence
from typing import Any, TypeVar

from core.base.types import Evidence, Label, Pair
from core.evidence.label_view import LabelView
from core.evidence.packs import PACK_NAMES, Packs, Response, Source
from core.evidence.registry import TOOLS, gather
from core.evidence.tool import Tool

T = TypeVar("T")
UP, DOWN, NONE, DE = Label.UP, Label.DOWN, Label.NONE, Label.DE


def pair(pair_id: str, label: Label | None, split: str = "train") -> Pair:
    pert, gene = pair_id.split("_")
    return Pair(pair_id, pert, gene, label, split)


TRAINING = (
    pair("Stat1_Cxcl10", DOWN),
    pair("Stat1_Il6", NONE),
    pair("Irf1_Cxcl10", DOWN),
    pair("Irf1_Actb", NONE),
    pair("Irf1_Cdkn1a", UP),
    pair("Psmd1_Cdkn1a", UP),
    pair("Psmd1_Il6", NONE),
    pair("Psmd4_Actb", NONE),
    pair("Psmd4_Cdkn1a", UP),
)
TEST = pair("Jak1_Gm12345", None, "test")
PAIRS = (*TRAINING, TEST)
ALL = LabelView(TRAINING)

SOURCES = {
    name: Source(f"{name} of the tests", f"{number}" * 64) for number, name in enumerate(PACK_NAMES)
}
PACKS = Packs(
    descriptions={
        "Stat1": "Signal transducer.\nActs downstream of interferons.",
        "Il6": "[no summary] interleukin 6",
        "Actb": "",
        "Cxcl10": "[no summary]",
    },
    orthologs={"Stat1": "STAT1", "Cxcl10": "CXCL10"},
    pathways={
        "Il6": ("Immune System", "Interleukin-6 signaling"),
        "Cxcl10": ("Immune System", "Chemokines"),
        "Cdkn1a": (),
    },
    edges=[
        ("Jak1", "Stat1", 990),
        ("Irf1", "Jak1", 900),
        ("Cxcl10", "Jak1", 700),
        ("Irf1", "Stat1", 995),
        ("Psmd1", "Psmd4", 999),
    ],
    signs={
        ("Stat1", "Cxcl10"): 1,
        ("Irf1", "Cxcl10"): 1,
        ("Bcl6", "Cxcl10"): -1,
        ("Spi1", "Cxcl10"): 0,
    },
    responses={
        "Cxcl10": Response(2.5, 1e-9, 0.0, 3.0, 0.5),
        "Actb": Response(-0.1, 0.5, 0.75, 4.0, 4.1),
    },
    sources=SOURCES,
)


def at_once(work: Coroutine[Any, Any, T]) -> T:
    """What a coroutine returns that waits for nothing, as no tool does that reads the packs alone."""
    try:
        work.send(None)
    except StopIteration as ended:
        return ended.value
    work.close()
    raise AssertionError("it waits for something")


def run(
    tool: Tool, pert: str | None, gene: str | None, packs: Packs = PACKS, view: LabelView = ALL
) -> Evidence:
    """What a tool says without public sources."""
    return at_once(tool.run(pert, gene, packs, view))


def gathered(
    row: Pair, packs: Packs, view: LabelView, names: Sequence[str]
) -> tuple[Evidence, ...]:
    """A row's dossier without public sources."""
    return asyncio.run(gather(row, packs, view, names))


def answers(name: str, packs: Packs, view: LabelView) -> Iterator[Evidence]:
    """All that a tool says when it is asked about every symbol, in two cases, in every way it can be asked."""
    tool = TOOLS[name]
    symbols = {symbol for row in PAIRS for symbol in (row.pert, row.gene)}
    spellings = [None, *sorted(symbols | {symbol.upper() for symbol in symbols})]
    for pert in spellings if "pert" in tool.takes else [None]:
        for gene in spellings if "gene" in tool.takes else [None]:
            given = sum(symbol is not None for symbol in (pert, gene))
            if given == min(1, len(tool.takes)) or (tool.takes_both and given == 2):
                yield run(tool, pert, gene, packs, view)
