"""Gene sets to be summarised: PerturbQA's JSON lists of genes, each with a text that describes it
or null."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from annotated_types import MinLen

from core.base.file_io import read_file
from core.base.records import parse

MAX_BYTES = 1 << 24


@dataclass(frozen=True, slots=True)
class GeneSet:
    """A set of genes; label: a person's description of it, or None."""

    genes: Annotated[tuple[Annotated[str, MinLen(1)], ...], MinLen(1), "a list of symbols"]
    label: str | None


_Sets = Annotated[
    tuple[GeneSet, ...], MinLen(1), 'a list of {"genes": [symbols], "label": text or null}'
]


def read_gene_sets(path: Path) -> tuple[GeneSet, ...]:
    """Return the gene sets of a file of at most 16 MiB. Raise InputError that names the entry that
    is wrong."""
    return parse(_Sets, read_file(path, MAX_BYTES), path.name, unknown="ignore")
