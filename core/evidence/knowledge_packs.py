"""Knowledge packs: facts about genes apart from the labels. One JSON file per kind, recognised by
its content."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NoReturn

from core.base.errors import InputError, UnknownFormat
from core.base.file_io import read_file
from core.base.hashes import sha256_of
from core.base.row_schema import is_finite_number
from core.base.texts import HALF_CHARACTER, is_encodable, quote
from core.base.types import JsonObject
from core.evidence.packs import Response

MAX_BYTES = 1 << 28

_LPS_FIELDS = ("logfc", "p_value", "p_adj", "mean_lps", "mean_ctrl")
_GENE_SETS = "; a list of gene sets is summarised by `perturbdesk gene-sets FILE`"
_KINDS = (
    "descriptions, orthologs, proteins, pathways, STRING edges, signed regulation or signalling, or"
    " an LPS response"
)


@dataclass(frozen=True)
class Pack:
    """Facts of one kind about genes. source: where they come from, "" if the file does not say.

    entries: gene → its text, its ortholog's symbol, its Ensembl protein, its pathways or its
    `Response`; of a network (gene, gene, score from 1 to 1000), each pair of genes once under its
    highest score and no gene with itself; of regulation and signalling (factor, target) → 1
    activates, −1 represses, 0 acts in an unknown direction.
    """

    kind: Kind
    entries: Any
    sha256: str
    source: str = ""

    def __len__(self) -> int:
        return len(self.entries)

    @property
    def organism(self) -> Organism:
        """The organism whose genes it is about, for orthologs that of the keys; "" if its symbols
        do not show it."""
        symbols = self.entries.values() if self.kind == "proteins" else self.entries
        if self.kind in ("network", "regulation", "signalling"):
            symbols = (symbol for pair in symbols for symbol in pair[:2])
        return organism_of(symbols)


def read_knowledge(content: bytes, name: str) -> Pack:
    """Return the pack in a JSON file; `name` is for messages. Raise UnknownFormat, or InputError
    with the wrong entry."""
    found = _parse(content, name)
    kind = kind_of(found)
    if kind is None:
        shown = quote(content[:100].decode("utf-8-sig", "replace"))
        is_sets = isinstance(found, list) and found and isinstance(found[0], dict)
        raise UnknownFormat(
            f"{name}: JSON that is no knowledge pack, {shown}; expected"
            f" {_KINDS}{_GENE_SETS if is_sets and 'genes' in found[0] else ''}"
        )
    has_meta = kind in ("regulation", "signalling", "lps_response")
    source = _source(found["meta"], name) if has_meta else ""
    return Pack(kind, _entries(found, kind, name), sha256_of(content), source)


def _entries(found: Any, kind: Kind, name: str) -> Any:
    match kind:
        case "network":
            return _edges(found, name)
        case "regulation" | "signalling":
            return _signs(found["pairs"], name)
        case "lps_response":
            return _lps(found["prior"], name)
        case "pathways":
            return {gene: _texts(gene, value, name) for gene, value in found.items()}
        case "proteins":
            return _require_valid(found, PROTEIN_ID.fullmatch, "an Ensembl protein id", name)
        case "descriptions":
            return _require_valid(found, lambda _: True, "text", name)
        case "orthologs":
            return _require_valid(found, re.compile(r"\S+").fullmatch, "a gene symbol", name)


def read_knowledge_path(path: Path, name: str = "") -> Pack:
    """As `read_knowledge`, from a file of at most 256 MiB; name: by default the path's. Raise
    InputError if it cannot be."""
    return read_knowledge(read_file(path, MAX_BYTES), name or path.name)


def _parse(content: bytes, name: str) -> Any:
    def require_distinct_keys(entries: list[tuple[str, Any]]) -> JsonObject:
        found = dict(entries)
        if len(found) < len(entries):
            twice = next(key for key, n in Counter(key for key, _ in entries).items() if n > 1)
            raise InputError(f"{name}: {twice!r} stands there twice, expected every key once")
        return found

    def refuse_constant(constant: str) -> NoReturn:
        raise InputError(f"{name}: the number {constant}, expected finite numbers")

    try:
        found = json.loads(
            content.decode("utf-8-sig"),
            object_pairs_hook=require_distinct_keys,
            parse_constant=refuse_constant,
        )
        is_odd = b"\\ud" in content.lower()  # half of a surrogate pair, perhaps
        if is_odd and not is_encodable(json.dumps(found, ensure_ascii=False)):
            raise InputError(f"{name}: {HALF_CHARACTER}")
        return found
    except (ValueError, RecursionError) as error:
        raise UnknownFormat(f"{name}: not JSON ({error}), expected {_KINDS}") from error


def _require_valid(
    entries: Mapping[str, Any], valid: Callable[[str], object], expected: str, name: str
) -> dict[str, str]:
    """Return texts by gene. Raise InputError for an entry without a key, that is not a text, or
    that is not valid."""
    for key, value in entries.items():
        if not key or not isinstance(value, str) or not valid(value):
            raise InputError(f"{name}: {key!r} has {str(value)[:60]!r}, expected {expected}")
    return dict(entries)


def _texts(gene: str, value: Any, name: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise InputError(f"{name}: {gene!r} has {str(value)[:60]!r}, expected a list of pathways")
    return tuple(value)


def _edges(edges: list[Any], name: str) -> tuple[tuple[str, str, int], ...]:
    scores: dict[tuple[str, str], int] = {}
    for i, edge in enumerate(edges):
        match edge:
            case [str(a), str(b), int(score)] if (
                a and b and 1 <= score <= 1000 and type(score) is int
            ):
                pair = (a, b) if a <= b else (b, a)
                if a != b and score > scores.get(pair, 0):
                    scores[pair] = score
            case _:
                raise InputError(
                    f"{name}: edge {i + 1} is {str(edge)[:60]}, expected two genes and a score in"
                    " 1–1000"
                )
    return tuple((a, b, score) for (a, b), score in scores.items())


def _source(meta: Any, name: str) -> str:
    if not isinstance(meta, dict) or not isinstance(meta.get("source"), str):
        raise InputError(f"{name}: 'meta' has no 'source', expected where the data come from")
    return str(meta["source"])


def _signs(pairs: JsonObject, name: str) -> dict[tuple[str, str], int]:
    signs: dict[tuple[str, str], int] = {}
    for key, sign in pairs.items():
        factor, bar, target = key.partition("|")
        if (
            not (factor and bar and target)
            or "|" in target
            or type(sign) is not int
            or sign not in (-1, 0, 1)
        ):
            raise InputError(
                f"{name}: {key!r} has {str(sign)[:60]}, expected factor|target with 1, 0 or −1"
            )
        signs[factor, target] = sign
    return signs


def _lps(prior: JsonObject, name: str) -> dict[str, Response]:
    genes: dict[str, Response] = {}
    for gene, value in prior.items():
        numbers: list[Any] = (
            [value.get(field) for field in _LPS_FIELDS] if isinstance(value, dict) else []
        )
        if not numbers or not all(map(is_finite_number, numbers)):
            raise InputError(
                f"{name}: {gene!r} has {str(value)[:60]}, expected finite numbers"
                f" {', '.join(_LPS_FIELDS)}"
            )
        response = Response(*map(float, numbers))
        if not (
            0 <= response.p_value <= 1
            and 0 <= response.p_adj <= 1
            and min(response.mean_lps, response.mean_ctrl) >= 0
        ):
            raise InputError(
                f"{name}: {gene!r} has {str(value)[:60]}, expected p-values in [0, 1] and means of"
                " at least 0"
            )
        genes[gene] = response
    return genes


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
_NO_LETTER = re.compile(r"[\W\d_]")
_PATHWAY_ID = re.compile(r"R-[A-Z]{3}-\d+|[a-z]{2,4}\d{5}|WP\d+|PWY\S*", re.ASCII)
_EDGE_FIELDS = 3


def kind_of(content: Any) -> Kind | None:
    """Return the kind of parsed JSON, by most of its keys and values: a few odd entries do not
    change it. None if it is no knowledge pack."""
    if isinstance(content, list):
        edges = [
            edge
            for edge in content
            if isinstance(edge, list) and 0 < len(edge) <= _EDGE_FIELDS and isinstance(edge[0], str)
        ]
        return "network" if edges and len(edges) >= MOST * len(content) else None
    if not isinstance(content, dict):
        return None
    match content:
        case {"meta": {"kind": "signalling"}, "pairs": dict()} if len(content) == 2:
            return "signalling"
        case {"meta": _, "pairs": dict()} if len(content) == 2:
            return "regulation"
        case {"meta": _, "prior": dict()} if len(content) == 2:
            return "lps_response"
    if sum(map(is_symbol, content)) < MOST * len(content):
        return None
    lists = [value for value in content.values() if isinstance(value, list)]
    if lists and len(lists) >= MOST * len(content):
        # pathways by gene; genes by anything else are not
        items = [item for each in lists for item in each if isinstance(item, str)]
        return None if are_genes(items) else "pathways"
    texts = [value for value in content.values() if isinstance(value, str)]
    return _kind_of_texts(texts) if len(texts) >= MOST * len(content) else None


def are_genes(names: Iterable[str]) -> bool:
    """Return whether most names are gene symbols, and no names of pathways."""
    surely = [_is_surely_gene(name) for name in names]
    return bool(surely) and sum(surely) >= MOST * len(surely)


def _kind_of_texts(texts: Sequence[str]) -> Kind | None:
    """Return proteins if most texts are protein ids, descriptions if most have several words,
    orthologs if most are symbols and distinct: others are groups of genes."""
    most = MOST * len(texts)
    if sum(PROTEIN_ID.fullmatch(text) is not None for text in texts) > most:
        return "proteins"
    if sum(" " in text for text in texts) > most:
        return "descriptions"
    is_orthologs = sum(map(is_symbol, texts)) >= most and len(set(texts)) >= most
    return "orthologs" if texts and is_orthologs else None


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
        letters = _NO_LETTER.sub("", symbol.replace("orf", ""))
        if len(letters) > 1:
            told, mouse = told + 1, mouse + (letters != letters.upper())
    if told and mouse >= SAME * told:
        return "mouse"
    return "human" if told and mouse <= (1 - SAME) * told else ""
