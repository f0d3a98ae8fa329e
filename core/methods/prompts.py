"""Prompts: texts of core/llm/prompts, the options that several methods share, and what the
challenge's tracks allow."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache, lru_cache
from importlib.resources import files
from itertools import islice
from string import Formatter
from typing import Annotated, Final, Literal

import numpy as np
from annotated_types import Ge, Le

from core.base.errors import InputError
from core.base.fields.setting import Count, setting
from core.base.types import Label, Options, Pair
from core.evidence.label_view import LabelView
from core.evidence.registry import tool_named
from core.evidence.tool import Tool
from core.llm.answers import AnswerSchema
from core.methods.coded_names import ALONE

# The limits of the challenge's tracks for each row; methods obey them and submissions are checked
# against them.
A_PROMPT_TOKENS: Final = 4_096
B_PROMPT_TOKENS: Final = 16_384  # of the system prompt with the definitions of its tools
B_TOOL_CALLS: Final = 250
B_TOOLS: Final = 100  # distinct ones
C_NEW_TOKENS: Final = 16_000
C_PARAMETERS_B: Final = 10.0  # billions; a model has fewer

CELLS = ("kit", "site", "k562", "rpe1", "hepg2", "jurkat")  # that prompts have a description of
SEED_STEP = 1_000  # between the seeds of two askings of the same
_GAP = re.compile(r"\n{3,}")

CellContext = Annotated[
    str,
    setting(
        "The cells as prompts describe them. kit: mouse macrophages, CRISPRi knockdown. site: Cas9"
        " knockout and nine hours of LPS. k562, rpe1, hepg2, jurkat: the human lines of PerturbQA."
        " Or a text.",
        title="Description of the cells",
    ),
]
Effort = Annotated[
    Literal["", "low", "medium", "high"],
    setting("Reasoning effort; empty leaves it to the server."),
]
Structured = Annotated[
    bool,
    setting(
        "Whether the server is held to an answer in JSON, by a schema (response_format).",
        title="Answer in JSON by schema",
        added=True,
    ),
]
MaxTokens = Annotated[Count, setting("The longest answer in tokens, reasoning included.")]
Sources = Annotated[
    Literal["packs", "web", "cache"],
    setting(
        "Where gene_info, protein_interactions, pathway_neighbours and literature look: packs asks"
        " nobody, web asks public sources, cache takes what they answered before."
    ),
]
Literature = Annotated[
    Literal["passage", "keyword"],
    setting(
        "What literature brings: the best 5 sentences of abstracts (passage), or 4 whole abstracts"
        " (keyword)."
    ),
]
Tools = Annotated[str, setting("Evidence tools, in this order.")]
# The tools that read only packs; literature asks a public source, so it must be named to be used.
PACK_TOOLS = (
    "gene_info,gene_class,base_rates,pathway_neighbours,protein_interactions,train_lookup,"
    "regulators"
    ",pathways,lps_response"
)
Shots = Annotated[
    int,
    Ge(0),
    Le(40),
    setting(
        "Measured pairs to show, half of them unchanged.", title="Measured pairs in the prompt"
    ),
]


@cache
def prompt_text(name: str) -> str:
    """Return the text of core/llm/prompts/NAME.md, without the newline at its end."""
    return (files("core.llm") / "prompts" / f"{name}.md").read_text("utf-8").strip()


def with_form(request: str, schema: AnswerSchema | None) -> str:
    """Return a request for an answer; one by a schema shows the JSON object that is wanted."""
    return (
        request
        if schema is None
        else f"{request}\n\n{fill(prompt_text('structured'), form=schema.form)}"
    )


def fill(template: str, **values: str) -> str:
    """Return a template with its fields filled in; braces inside values are never read as fields.

    Empty values leave no gap of blank lines. Raise InputError for a field without a value, see
    `check_fields`.
    """
    check_fields("prompt", template, tuple(values))
    return _GAP.sub("\n\n", template.format_map(values)).strip()


@lru_cache(maxsize=64)
def check_fields(what: str, template: str, allowed: tuple[str, ...]) -> frozenset[str]:
    """Return the fields of a template. Raise InputError if braces hold anything but an allowed
    name.

    A literal brace is doubled, as in Python. what: the name of the template in the message.
    """
    expected = (
        f"expected {', '.join(f'{{{name}}}' for name in allowed)}, and {{{{ or }}}} for a brace"
        " itself"
    )
    try:
        parts = [part[1:] for part in Formatter().parse(template) if part[1] is not None]
    except ValueError as error:
        raise InputError(f"{what}: braces that do not match ({error}), {expected}") from None
    for name, spec, conversion in parts:
        if name not in allowed or spec or conversion:
            written = "".join(
                (name or "", f"!{conversion}" if conversion else "", f":{spec}" if spec else "")
            )
            raise InputError(f"{what}: {{{written}}} is not known, {expected}")
    return frozenset(str(part[0]) for part in parts)


def cell_desc(options: Options) -> str:
    """Return the description of the cells in words, or the option's own text. Raise InputError if
    it is empty."""
    given = str(options["context"]).strip()
    if not given:
        raise InputError(
            f"context: empty, expected {', '.join(CELLS)}, or a text that describes the cells"
        )
    return prompt_text(f"context_{given}") if given in CELLS else given


def tools_of(names: str) -> tuple[Tool, ...]:
    """Return evidence tools from "a,b,c", each once. Raise NotFound for an unknown tool, InputError
    for too many."""
    found = tuple(dict.fromkeys(name.strip() for name in names.split(",") if name.strip()))
    if len(found) > B_TOOLS:
        raise InputError(f"tools: got {len(found)}, expected at most {B_TOOLS}")
    return tuple(map(tool_named, found))


def dossier_tools(options: Options) -> tuple[Tool, ...]:
    """Return the tools of the option `tools`; none where names are shown alone. Raise as
    `tools_of`."""
    found = tools_of(options["tools"])
    return () if options.get("names") == ALONE else found


def read_seeds(seeds_text: str, default: int | None = None) -> tuple[int, ...]:
    """Return distinct seeds from "42,43,44"; for an empty text, `default` if there is one. Raise
    InputError for others."""
    words = [word.strip() for word in seeds_text.split(",") if word.strip()]
    if not words and default is not None:
        return (default,)
    if (
        not words
        or len(set(words)) < len(words)
        or not all(word.isdecimal() and len(word) < 10 for word in words)
    ):
        raise InputError(
            f"seeds: got {seeds_text!r}, expected distinct whole numbers such as 42,43,44"
        )
    return tuple(map(int, words))


def examples(pair: Pair, view: LabelView, shots: int, seed: int) -> str:
    """Return a paragraph of `shots` measured pairs, the larger half unchanged, never the row
    itself; "" for none.

    The seed alone decides the draw from the view, so every row with the same view sees the same
    pairs. Fewer are shown if the view holds too few.
    """
    if not shots:
        return ""
    order = [view.rows[i] for i in np.random.default_rng(seed).permutation(len(view))]
    itself = pair.pert.casefold(), pair.gene.casefold()
    others = [row for row in order if (row.pert.casefold(), row.gene.casefold()) != itself]
    quiet = islice((row for row in others if row.label is Label.NONE), shots - shots // 2)
    moved = islice((row for row in others if row.label is not Label.NONE), shots // 2)
    chosen = sorted((*quiet, *moved), key=lambda row: (row.gene, row.pert))
    return fill(prompt_text("examples"), examples=_lines(chosen)) if chosen else ""


def _lines(rows: Sequence[Pair]) -> str:
    words = {Label.DE: "changed, direction unknown"}
    return "\n".join(
        f"{row.pert} -> {row.gene}: {words.get(row.label, row.label) if row.label else ''}"
        for row in rows
    )
