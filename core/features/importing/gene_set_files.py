"""Gene sets and networks in the formats of their publishers, as the JSON of a knowledge pack: GMT
(MSigDB, Reactome, Enrichr), GAF (Gene Ontology), STRING's protein.links beside its protein.info or
protein.aliases, and OmniPath's interactions."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, Literal

from core.base.archives import bare_name, unpack_file
from core.base.errors import InputError
from core.base.file_io import open_file
from core.base.file_limits import MAX_UNPACKED_BYTES
from core.evidence.knowledge_packs import are_genes
from core.features.importing.symbols.kinds import kind_of_names
from core.features.importing.symbols.spelling import clean

Kind = Literal["gmt", "gaf", "string", "omnipath"]
_GAF_SYMBOL, _GAF_QUALIFIER, _GAF_TERM, _GAF_COLUMNS = 2, 3, 4, 15
_ALIAS_SOURCES: Final = (  # that name a gene by its symbol
    *(
        "Ensembl_HGNC_symbol",
        "Ensembl_MGI_symbol",
        "BioMart_HUGO",
        "Ensembl_gene_name",
        "Ensembl_HGNC",
        "Ensembl_MGI",
    ),
)
_HEAD_BYTES: Final = 1 << 16
OMNIPATH_COLUMNS: Final = (
    "source_genesymbol",
    "target_genesymbol",
    "is_directed",
    "is_stimulation",
    "is_inhibition",
)
_OMNIPATH_FLAGS: Final = {"true": 1, "1": 1, "false": 0, "0": 0}


def kind_of_gene_sets(path: Path, name: str) -> Kind | None:
    """Return which of the formats a file has, by its first lines; None for any other."""
    with open_file(path, MAX_UNPACKED_BYTES) as file:
        plain = unpack_file(file, name)
        head = (
            (io.BufferedReader(plain) if plain is not None else file)
            .read(_HEAD_BYTES)
            .decode("utf-8", "replace")
        )
    lines = head.splitlines()[:20]
    if not lines:
        return None
    if lines[0].lower().startswith("!gaf-version"):
        return "gaf"
    if lines[0].split()[:3] == ["protein1", "protein2", "combined_score"] or lines[0].split()[
        :2
    ] == ["protein1", "protein2"]:
        return "string"
    if set(OMNIPATH_COLUMNS) <= set(lines[0].split("\t")):
        return "omnipath"
    fields = [line.split("\t") for line in lines[:-1] or lines]
    described = all(len(cells) > 2 for cells in fields) and all(
        cells[1] == "" or "://" in cells[1] for cells in fields
    )
    return "gmt" if bare_name(name).lower().endswith(".gmt") or described else None


def read_gene_sets(path: Path, name: str, kind: Kind) -> bytes:
    """Return the content of a file of a kind as the JSON of a knowledge pack: pathways by gene,
    edges by symbol, or signed signalling.

    Raise InputError for lines that are wrong, with their numbers, and for links whose proteins
    nothing beside the file names.
    """
    if kind == "string":
        return json.dumps(_read_links(path, name)).encode()
    if kind == "omnipath":
        return json.dumps(_read_omnipath(path, name)).encode()
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


def _read_omnipath(path: Path, name: str) -> dict[str, Any]:
    """Return the directed interactions of OmniPath's web service (fields genesymbols=1):
    "source|target" → 1 stimulates, −1 inhibits, 0 both, neither, or not the same on several lines.

    Interactions without a direction, of a gene with itself, and of complexes without a symbol are
    left out.
    """
    lines = _lines(path, name)
    header = next(lines)[1].rstrip("\r\n").split("\t")
    places = [header.index(column) for column in OMNIPATH_COLUMNS]
    signs: dict[str, int] = {}
    for number, line in lines:
        cells = line.rstrip("\r\n").split("\t")
        if len(cells) != len(header):
            raise InputError(f"{name}, line {number}: {len(cells)} columns, expected {len(header)}")
        source, target, *texts = (cells[place].strip() for place in places)
        odd = [text for text in texts if text.lower() not in _OMNIPATH_FLAGS]
        if odd:
            raise InputError(f"{name}, line {number}: {odd[0][:40]!r}, expected True or False")
        directed, stimulates, inhibits = (_OMNIPATH_FLAGS[text.lower()] for text in texts)
        source, target = clean(source), clean(target)
        if directed and source and target and source != target and "|" not in source + target:
            key, sign = f"{source}|{target}", stimulates - inhibits
            signs[key] = sign if signs.get(key, sign) == sign else 0
    if not signs:
        raise InputError(
            f"{name}: no directed interaction between two genes, expected at least one"
        )
    return {"meta": {"source": "OmniPath", "kind": "signalling"}, "pairs": signs}


def _lines(path: Path, name: str) -> Iterator[tuple[int, str]]:
    """Yield the number and the text of each line of a file that may be packed."""
    with open_file(path, MAX_UNPACKED_BYTES) as file:
        plain = unpack_file(file, name)
        stream = file if plain is None else io.BufferedReader(plain, 1 << 18)
        try:
            yield from enumerate(io.TextIOWrapper(stream, "utf-8-sig"), 1)
        except UnicodeDecodeError as error:
            raise InputError(f"{name}: text that is not UTF-8 ({error})") from error


def _read_gmt(path: Path, name: str) -> Iterator[tuple[str, str]]:
    for number, line in _lines(path, name):
        cells = [clean(cell) for cell in line.rstrip("\r\n").split("\t")]
        if not any(cells):
            continue
        if len(cells) < 3 or not cells[0]:
            raise InputError(
                f"{name}, line {number}: {len(cells)} columns, expected a name, a description and"
                " genes (GMT)"
            )
        for cell in cells[2:]:
            gene = cell.partition(",")[0]  # Enrichr writes weights behind it
            if gene:
                yield gene, cells[0]


def _read_gaf(path: Path, name: str) -> Iterator[tuple[str, str]]:
    for number, line in _lines(path, name):
        if line.startswith("!") or not line.strip():
            continue
        cells = line.rstrip("\r\n").split("\t")
        if len(cells) < _GAF_COLUMNS:
            raise InputError(
                f"{name}, line {number}: {len(cells)} columns, expected at least {_GAF_COLUMNS}"
                " (GAF 2)"
            )
        if "NOT" not in cells[_GAF_QUALIFIER].split("|"):
            yield clean(cells[_GAF_SYMBOL]), cells[_GAF_TERM]


def _read_links(path: Path, name: str) -> list[list[object]]:
    symbols = _protein_names(path, name)
    edges: list[list[object]] = []
    for number, line in _lines(path, name):
        cells = line.split()
        if number == 1 or not cells:
            continue
        if len(cells) < 3 or not cells[-1].isdecimal():
            raise InputError(
                f"{name}, line {number}: {line[:60].strip()!r}, expected two proteins and a"
                " combined score"
            )
        a, b = (symbols.get(protein) for protein in cells[:2])
        if a and b:
            edges.append([a, b, int(cells[-1])])
    if not edges:
        raise InputError(
            f"{name}: none of its proteins has a name in the file beside it; expected one organism"
        )
    return edges


def _protein_names(path: Path, name: str) -> dict[str, str]:
    """Return protein → symbol of STRING's protein.info or protein.aliases that lies beside a file
    of links."""
    organism = path.name.partition(".")[0]
    for part in ("protein.info", "protein.aliases"):
        for file in sorted(path.parent.glob(f"{organism}.{part}*")):
            # a link may lead out of what may be read
            found = {} if file.is_symlink() else _read_names(file, part)
            if found:
                return found
    raise InputError(
        f"{name}: STRING's links, which name proteins; put {organism}.protein.info…txt.gz (or"
        " protein.aliases) of that version beside it and import the links again"
    )


def _read_names(file: Path, part: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for number, line in _lines(file, file.name):
        cells = line.rstrip("\r\n").split("\t")
        if number == 1 or len(cells) < 2:
            continue
        if part == "protein.info":
            found[cells[0]] = cells[1]
        elif len(cells) > 2 and any(source in _ALIAS_SOURCES for source in cells[2].split()):
            found.setdefault(cells[0], cells[1])
    return found
