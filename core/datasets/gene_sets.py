"""Gene sets to be summarised: PerturbQA's JSON lists of genes, each with a text that describes it or null."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.errors import InputError
from core.file_io import read_file
from core.texts import parse_json

MAX_BYTES = 1 << 24
_EXPECTED = 'a list of {"genes": [symbols], "label": text or null}'


@dataclass(frozen=True, slots=True)
class GeneSet:
    """Genes that belong together; label: what a person says they have in common, None if nobody said so."""

    genes: tuple[str, ...]
    label: str | None


def read_gene_sets(path: Path) -> tuple[GeneSet, ...]:
    """Returns the gene sets of a file of at most 16 MiB. Raises InputError that names the entry that is wrong."""
    try:
        found = parse_json(read_file(path, MAX_BYTES))
    except ValueError as error:
        raise InputError(f"{path.name}: not JSON ({error}), expected {_EXPECTED}") from error
    if not isinstance(found, list) or not found:
        raise InputError(f"{path.name}: {str(found)[:60]}, expected {_EXPECTED}")
    return tuple(_read_set(entry, f"{path.name}: entry {number}") for number, entry in enumerate(found, 1))


def _read_set(entry: Any, where: str) -> GeneSet:
    match entry:
        case {"genes": [_, *_] as genes, "label": None | str() as label} if all(isinstance(gene, str) and gene for gene in genes):
            return GeneSet(tuple(genes), label)
    raise InputError(f"{where} is {str(entry)[:60]}, expected one of {_EXPECTED}")
