"""Gene sets and networks in the formats of their publishers, as the JSON of a knowledge pack: GMT
(MSigDB, Reactome, Enrichr), GAF (Gene Ontology), and STRING's protein.links beside its
protein.info."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from core.base.archives import bare_name, unpack_file
from core.base.errors import InputError
from core.base.file_io import open_file
from core.base.file_limits import MAX_UNPACKED_BYTES
from core.evidence.knowledge_packs import are_genes
from core.features.importing.name_kinds import kind_of_names
from core.features.importing.symbols import clean

Kind = Literal["gmt", "gaf", "string"]
_GAF_SYMBOL, _GAF_QUALIFIER, _GAF_TERM, _GAF_COLUMNS = 2, 3, 4, 15


def kind_of_gene_sets(head: bytes, name: str) -> Kind | None:
    """Return which of the formats a file has, by its first bytes; None for any other."""
    lines = head.decode("utf-8", "replace").splitlines()[:20]
    if not lines:
        return None
    if lines[0].lower().startswith("!gaf-version"):
        return "gaf"
    if lines[0].split()[:2] == ["protein1", "protein2"]:
        return "string"
    for line in () if bare_name(name).lower().endswith(".gmt") else lines[:-1] or lines:
        cells = line.split("\t")
        if len(cells) < 3 or (cells[1] and "://" not in cells[1]):
            return None
    return "gmt"


def read_gene_sets(path: Path, name: str, kind: Kind) -> bytes:
    """Return the content of a file of a kind as the JSON of a knowledge pack: pathways by gene,
    or edges by symbol.

    Raise InputError for lines that are wrong, with their numbers, and for links whose proteins
    nothing beside the file names.
    """
    if kind == "string":
        return json.dumps(_read_links(path, name)).encode()
    sets: dict[str, dict[str, None]] = {}
    for gene, term in _read_gmt(path, name) if kind == "gmt" else _read_gaf(path, name):
        sets.setdefault(gene, {})[term] = None
    if not sets:
        raise InputError(f"{name}: no gene in a set, expected at least one")
    if other := kind_of_names([*sets]):
        first = next(iter(sets))
        raise InputError(
            f"{name}: its genes are {other}, such as {first}; expected symbols, as in the file"
            " …symbols.gmt of MSigDB"
        )
    # sets that are named after a gene, as those of its targets, would be taken for genes
    mark = (
        " (set)"
        if kind == "gmt" and are_genes(term for terms in sets.values() for term in terms)
        else ""
    )
    return json.dumps(
        {gene: [f"{term}{mark}" for term in terms] for gene, terms in sets.items()}
    ).encode()


def _rows(
    path: Path, name: str, kind: str, least: int, separator: str | None = "\t"
) -> Iterator[tuple[int, list[str]]]:
    """Yield the number and the cells of each line that is neither empty nor a remark. Raise
    InputError for one with fewer cells than `least`."""
    with open_file(path, MAX_UNPACKED_BYTES) as file:
        plain = unpack_file(file, name)
        stream = file if plain is None else io.BufferedReader(plain, 1 << 18)
        try:
            for number, line in enumerate(io.TextIOWrapper(stream, "utf-8-sig"), 1):
                cells = [clean(cell) for cell in line.rstrip("\r\n").split(separator)]
                if not any(cells) or line.startswith("!"):
                    continue
                if len(cells) < least:
                    raise InputError(
                        f"{name}, line {number}: {len(cells)} columns, expected at least {least}"
                        f" ({kind})"
                    )
                yield number, cells
        except UnicodeDecodeError as error:
            raise InputError(f"{name}: text that is not UTF-8 ({error})") from error


def _read_gmt(path: Path, name: str) -> Iterator[tuple[str, str]]:
    for _, (term, _, *genes) in _rows(path, name, "GMT: a name, a description, genes", 3):
        # Enrichr writes weights behind a gene
        yield from ((gene.partition(",")[0], term) for gene in genes if gene.partition(",")[0])


def _read_gaf(path: Path, name: str) -> Iterator[tuple[str, str]]:
    for _, cells in _rows(path, name, "GAF 2", _GAF_COLUMNS):
        if "NOT" not in cells[_GAF_QUALIFIER].split("|"):
            yield cells[_GAF_SYMBOL], cells[_GAF_TERM]


def _read_links(path: Path, name: str) -> list[list[object]]:
    organism = path.name.partition(".")[0]
    # a link may lead out of what may be read
    files = [f for f in sorted(path.parent.glob(f"{organism}.protein.info*")) if not f.is_symlink()]
    if not files:
        raise InputError(
            f"{name}: STRING's links, which name proteins; put {organism}.protein.info…txt.gz of"
            " that version beside it and import the links again"
        )
    symbols = {cells[0]: cells[1] for _, cells in _rows(files[0], files[0].name, "STRING", 2)}
    edges: list[list[object]] = []
    for number, (first, second, *scores) in _rows(path, name, "STRING", 3, separator=None):
        a, b = symbols.get(first), symbols.get(second)
        if number > 1 and not scores[-1].isdecimal():
            raise InputError(
                f"{name}, line {number}: {scores[-1][:60]!r}, expected a combined score"
            )
        if a and b:
            edges.append([a, b, int(scores[-1])])
    if not edges:
        raise InputError(
            f"{name}: none of its proteins has a name in the file beside it; expected one organism"
        )
    return edges
