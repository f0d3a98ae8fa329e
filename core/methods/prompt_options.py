"""Options that several methods share: the description of the cells, evidence tools, seeds, and measured pairs to show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

import numpy as np

from core.errors import InputError
from core.evidence.label_view import LabelView
from core.evidence.registry import tool_named
from core.evidence.tool import Tool
from core.methods.base import Option
from core.methods.prompt_texts import fill, prompt_text
from core.methods.track_limits import B_TOOLS
from core.types import Label, Pair

EFFORTS = ("", "low", "medium", "high")
MOST_SHOTS = 40

CONTEXT = Option(
    "context",
    "text",
    "kit",
    "The cells as prompts describe them: kit (CRISPRi knockdown), site (Cas9 knockout and nine hours of LPS), or a text.",
)
SOURCES = Option(
    "sources",
    "choice",
    "packs",
    "Where gene_info, protein_interactions, pathway_neighbours and literature look: packs asks nobody, web asks public "
    "sources, cache takes what they answered before.",
    ("packs", "web", "cache"),
)
LITERATURE = Option(
    "literature",
    "choice",
    "passage",
    "What literature brings: the best 5 sentences of abstracts (passage), or 4 whole abstracts (keyword).",
    ("passage", "keyword"),
)
# The tools that read only packs; literature asks a public source, so it must be named to be used.
TOOLS = Option(
    "tools",
    "text",
    "gene_info,gene_class,base_rates,pathway_neighbours,protein_interactions,train_lookup,regulators,pathways,lps_response",
    "Evidence tools, in this order.",
)
SHOTS = Option("shots", "int", 0, "Measured pairs to show, half of them unchanged.", least=0, most=MOST_SHOTS)


def cell_desc(options: Mapping[str, Any]) -> str:
    """Returns the description of the cells in words, or the option's own text. Raises InputError if it is empty."""
    given = str(options["context"]).strip()
    if not given:
        raise InputError("context: empty, expected kit, site, or a text that describes the cells")
    return prompt_text(f"context_{given}") if given in ("kit", "site") else given


def tools_of(names: str) -> tuple[Tool, ...]:
    """Returns evidence tools from "a,b,c", each once. Raises NotFound for an unknown tool, InputError for too many."""
    found = tuple(dict.fromkeys(name.strip() for name in names.split(",") if name.strip()))
    if len(found) > B_TOOLS:
        raise InputError(f"tools: got {len(found)}, expected at most {B_TOOLS}")
    return tuple(map(tool_named, found))


def read_seeds(seeds_text: str, default: int | None = None) -> tuple[int, ...]:
    """Returns distinct seeds from "42,43,44"; for an empty text, `default` if there is one. Raises InputError for others."""
    words = [word.strip() for word in seeds_text.split(",") if word.strip()]
    if not words and default is not None:
        return (default,)
    if not words or len(set(words)) < len(words) or not all(word.isdecimal() and len(word) < 10 for word in words):
        raise InputError(f"seeds: got {seeds_text!r}, expected distinct whole numbers such as 42,43,44")
    return tuple(map(int, words))


def examples(pair: Pair, view: LabelView, shots: int, seed: int) -> str:
    """Returns a paragraph of `shots` measured pairs, the larger half unchanged, never the row itself; "" for none.

    The seed alone decides the draw from the view, so every row with the same view sees the same pairs. Fewer are shown if
    the view holds too few.
    """
    rng = np.random.default_rng(seed)
    order = [view.rows[i] for i in rng.permutation(len(view))] if shots else []
    itself = pair.pert.casefold(), pair.gene.casefold()
    others = [row for row in order if (row.pert.casefold(), row.gene.casefold()) != itself]
    quiet = islice((row for row in others if row.label is Label.NONE), shots - shots // 2)
    moved = islice((row for row in others if row.label is not Label.NONE), shots // 2)
    chosen = sorted((*quiet, *moved), key=lambda row: (row.gene, row.pert))
    return fill(prompt_text("examples"), examples=_lines(chosen)) if chosen else ""


def _lines(rows: Sequence[Pair]) -> str:
    words = {Label.DE: "changed, direction unknown"}
    return "\n".join(f"{row.pert} -> {row.gene}: {words.get(row.label, row.label) if row.label else ''}" for row in rows)
