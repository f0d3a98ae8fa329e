"""A cell line of PerturbQA: one dataset from its -de and -dir files, independent of the order of
imports and undos."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from core.base.types import FileRows, Label, Pair, Rejected

_DIRECTIONS = (Label.UP, Label.DOWN)
_K562 = "K562, chronic myeloid leukaemia"
_CONTEXTS: Mapping[str, str] = MappingProxyType(
    {
        "k562": f"{_K562}; CRISPRi",
        "rpe1": "RPE1, retinal pigment epithelium; CRISPRi",
        "hepg2": "HepG2, hepatocellular carcinoma; CRISPRi",
        "jurkat": "Jurkat, T-cell leukaemia; CRISPRi",
        "k562_set": f"{_K562}; CRISPRi; gene sets in place of target genes",
    }
)


@dataclass(frozen=True, slots=True)
class CellLine:
    """The rows of a cell line. sources: the import that brought each of them; rejected: the
    rejected rows of each import."""

    pairs: Sequence[Pair]
    sources: Sequence[str]
    rejected: Mapping[str, Sequence[Rejected]]


@dataclass(frozen=True, slots=True)
class _Row:
    """A row, the import that brought it, and the name of the file that its label is from."""

    pair: Pair
    source: str
    labelled_by: str


def cell_line_context(name: str) -> str:
    """Return the description of a line's cells; the name itself for a line that is not one of
    PerturbQA's five."""
    return _CONTEXTS.get(name, f"{name}; CRISPRi")


def combine_files(files: Sequence[FileRows]) -> CellLine:
    """Return the rows of a cell line from its files, in the order of their import.

    Files of effects (-de) come first, then those of directions (-dir): a direction completes a row
    that changed, or brings a row of its own. A row that contradicts an earlier one is rejected.
    """
    rows: dict[str, _Row] = {}
    rejected: dict[str, list[Rejected]] = {}
    for file in sorted(files, key=_has_directions):
        rejected[file.source] = []
        for line, pair in zip(file.lines, file.pairs, strict=True):
            known = rows.get(pair.pair_id)
            if known is None:
                rows[pair.pair_id] = _Row(pair, file.source, file.name)
            elif conflict := _conflict(pair, file.name, known):
                rejected[file.source].append(
                    Rejected(file.name, line, "conflicting label", conflict)
                )
            elif known.pair.label != pair.label:
                rows[pair.pair_id] = replace(known, pair=pair, labelled_by=file.name)
    return CellLine(
        [row.pair for row in rows.values()], [row.source for row in rows.values()], rejected
    )


def _has_directions(file: FileRows) -> bool:
    return any(pair.label in _DIRECTIONS for pair in file.pairs)


def _conflict(pair: Pair, file: str, known: _Row) -> str | None:
    """Return the contradiction between a file and earlier files about a row, if any."""
    there = known.pair
    if (pair.pert, pair.gene) != (there.pert, there.gene):
        said = f"{pair.pert} on {pair.gene}", f"{there.pert} on {there.gene}"
    elif pair.split != there.split:
        said = f"split {pair.split}", f"split {there.split}"
    elif pair.label == there.label or (there.label is Label.DE and pair.label in _DIRECTIONS):
        return None
    else:
        said = f"label {pair.label}", f"label {there.label}"
    return f"{pair.pair_id} has {said[0]} in {file}, {said[1]} in {known.labelled_by}"
