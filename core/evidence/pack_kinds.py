"""What a JSON file of knowledge about genes is, by its keys and values, and whose genes they are,
by how these are written."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, Literal, NamedTuple

Organism = Literal["mouse", "human", ""]  # "" if the symbols do not tell
Kind = Literal[
    "descriptions",
    "orthologs",
    "proteins",
    "pathways",
    "network",
    "regulation",
    "signalling",
    "lps_response",
]

# the share of the entries from which on a file is of a kind; the others are then errors that name
# the entry
MOST = 0.5
SAME = 0.7  # the share of the symbols that are written in an organism's way
PROTEIN_ID = re.compile(r"ENS[A-Z]*P\d{11}")
_ENSEMBL_ID = re.compile(r"ENS([A-Z]*)[GTP]\d{11}(?:\.\d+)?")

_SYMBOL = re.compile(r"(?=.*[A-Z0-9])[A-Za-z0-9]+(?:[-.@][A-Za-z0-9]+)*")
_LONGEST_SYMBOL = 30  # characters
_PATHWAY_ID = re.compile(r"R-[A-Z]{3}-\d+|[a-z]{2,4}\d{5}|WP\d+|PWY\S*", re.ASCII)
_EDGE_FIELDS = 3


class Recognised(NamedTuple):
    """A file's kind; None for an unknown kind, with a description of the content."""

    kind: Kind | None
    found: str = ""


def kind_of(content: Any) -> Recognised:
    """Return the kind of parsed JSON, by most of its keys and values: a few odd entries do not
    change it."""
    if isinstance(content, list):
        edges = sum(
            isinstance(edge, list) and 0 < len(edge) <= _EDGE_FIELDS and isinstance(edge[0], str)
            for edge in content
        )
        if content and edges >= MOST * len(content):
            return Recognised("network")
        return Recognised(
            None,
            f"a list of entries such as {_quote(str(content[0]))}" if content else "no entries",
        )
    if not isinstance(content, dict) or not content:
        return Recognised(
            None, "no entries" if content in ({}, None, "") else f"a bare {type(content).__name__}"
        )
    kinds_of_tables: dict[str, Kind] = {"pairs": "regulation", "prior": "lps_response"}
    for key, kind in kinds_of_tables.items():
        if set(content) == {"meta", key} and isinstance(content[key], dict):
            meta = content["meta"]
            is_signalling = (
                kind == "regulation" and isinstance(meta, dict) and meta.get("kind") == "signalling"
            )
            return Recognised("signalling" if is_signalling else kind)
    odd = [key for key in content if not is_symbol(key)]
    if len(odd) > MOST * len(content):
        return Recognised(
            None,
            f"{len(odd):,} of {len(content):,} keys that are no gene symbols, such as"
            f" {_quote(odd[0])}",
        )
    lists = [value for value in content.values() if isinstance(value, list)]
    if len(lists) >= MOST * len(content):
        return _kind_of_lists(lists)
    texts = [value for value in content.values() if isinstance(value, str)]
    if len(texts) >= MOST * len(content):
        return _kind_of_texts(texts)
    return Recognised(
        None, f"gene symbols with values such as {_quote(str(next(iter(content.values()))))}"
    )


def _kind_of_lists(lists: Sequence[list[Any]]) -> Recognised:
    """Return pathways by gene; genes by anything else are not."""
    items = [item for each in lists for item in each if isinstance(item, str)]
    if are_genes(items):
        first = next(filter(_is_surely_gene, items))
        return Recognised(
            None,
            f"lists of gene symbols, such as {_quote(first)}, where a gene's pathways should stand",
        )
    return Recognised("pathways")


def are_genes(names: Iterable[str]) -> bool:
    """Return whether most names are gene symbols, and no names of pathways."""
    surely = [_is_surely_gene(name) for name in names]
    return bool(surely) and sum(surely) >= MOST * len(surely)


def _kind_of_texts(texts: Sequence[str]) -> Recognised:
    """Return proteins if most texts are protein ids, descriptions if most have several words,
    orthologs if most are symbols."""
    if sum(PROTEIN_ID.fullmatch(text) is not None for text in texts) > MOST * len(texts):
        return Recognised("proteins")
    if sum(" " in text for text in texts) > MOST * len(texts):
        return Recognised("descriptions")
    odd = [text for text in texts if not is_symbol(text)]
    if len(odd) > MOST * len(texts):
        return Recognised(None, f"gene symbols with values such as {_quote(odd[0])}")
    if len(set(texts)) < MOST * len(texts):
        return Recognised(
            None,
            f"{len(set(texts)):,} values for {len(texts):,} genes, such as {_quote(texts[0])}:"
            " groups of genes",
        )
    return Recognised("orthologs")


def is_symbol(text: str) -> bool:
    """Return whether a text looks like a gene symbol: one word with a capital letter or a digit
    (Stat1, 1110059E24Rik)."""
    return len(text) <= _LONGEST_SYMBOL and _SYMBOL.fullmatch(text) is not None


def _is_surely_gene(text: str) -> bool:
    """Return whether a text is a gene symbol and no pathway's name or id: one word with a digit, or
    in capitals."""
    written = any(c.isdigit() for c in text) or (text.isupper() and len(text) > 1)
    return written and is_symbol(text) and _PATHWAY_ID.fullmatch(text) is None


def organism_of(symbols: Iterable[str]) -> Organism:
    """Return whose gene symbols these are: mouse if most have small letters (Stat1), human if most
    have none (STAT1, C9orf85).

    Ids of Ensembl show it by their prefix. Symbols with one letter (C3) or none do not count.
    "" if too few count, or they disagree.
    """
    mouse = told = 0
    for symbol in symbols:
        if ensembl := _ENSEMBL_ID.fullmatch(symbol):
            told, mouse = told + (ensembl[1] in ("", "MUS")), mouse + (ensembl[1] == "MUS")
            continue
        letters = [c for c in symbol.replace("orf", "") if c.isalpha()]
        if len(letters) > 1:
            told, mouse = told + 1, mouse + any(c.islower() for c in letters)
    if told and mouse >= SAME * told:
        return "mouse"
    return "human" if told and mouse <= (1 - SAME) * told else ""


def _quote(text: str) -> str:
    return repr(text if len(text) <= 40 else f"{text[:40]}…")
