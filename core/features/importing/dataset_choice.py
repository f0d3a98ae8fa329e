"""The dataset that the rows of a file of pairs join or become: by the name that a person gives,
else by what the rows are."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Final, NamedTuple

import pyarrow as pa

from core.base.archives import bare_name
from core.base.errors import StateError
from core.base.hashes import sha256_of
from core.base.texts import quote
from core.base.types import FileRows, Label, Pair, Rejected
from core.evidence.knowledge_packs import Organism, organism_of
from core.features.importing.import_target import ImportOptions
from core.features.importing.pairs import PairTable
from core.store import Cursor, datasets, imports, pairs
from core.store.datasets import Dataset

# As the challenge's files are called, also as a browser calls a second copy: "train (1).csv".
_CHALLENGE_FILE: Final = re.compile(r"(train|test)[\W\d_]*")
_CHALLENGE_COLUMNS: Final = ({"id", "pert", "gene", "label"}, {"id", "pert", "gene"})
_ORGANISMS: Final = ("mouse", "human")


class DatasetChoice(NamedTuple):
    """dataset: perhaps not in the store yet (is_new). reason: why it is this one, "" if
    a person named it or the ids tell."""

    dataset: Dataset
    is_new: bool
    reason: str

    def describe(self) -> str:
        """Return which dataset it is, in words: "new dataset my_screen, human"."""
        organism = f", {self.dataset.organism}" if self.dataset.organism in _ORGANISMS else ""
        return f"{'new dataset' if self.is_new else 'dataset'} {self.dataset.name}{organism}"


def choose_dataset(
    db: Cursor, table: PairTable, path: str, options: ImportOptions
) -> DatasetChoice:
    """Return the dataset that a file's rows belong to; nothing is written.

    Raise StateError where a person has to choose, and for rows that the dataset may not have: those
    of another organism, or of another kind of file.
    """
    wanted = options.dataset or options.name or table.cell_line
    name, reason = (wanted, "") if wanted is not None else _recognise(db, table, path)
    for dataset in datasets.list_all(db):
        if name in (dataset.id, dataset.name):
            _refuse_other_files(db, table, dataset, path)
            _refuse_other_organism(table, dataset, path)
            return DatasetChoice(dataset, False, reason)
    return DatasetChoice(_new_dataset(name, table), True, reason)


def _recognise(db: Cursor, table: PairTable, path: str) -> tuple[str, str]:
    """Return the name of the dataset that rows belong to if nobody says which, and why."""
    ids = table.rows["pair_id"]
    n_known = dict(pairs.datasets_with(db, ids))
    existing, holders = dict[str, Dataset](), list[str]()
    for dataset in datasets.list_all(db):
        existing[dataset.name] = dataset
        if 2 * n_known.get(dataset.id, 0) > len(ids) and _takes_rows(db, dataset):
            holders.append(dataset.name)
    if NAME in holders or (not holders and are_challenge(ids.to_pylist())):
        return NAME, ""
    if len(holders) > 1:
        raise StateError(f"{path}: may belong to {', '.join(holders)}; choose one with --dataset")
    if holders:
        return holders[0], ""
    if _looks_like_challenge(db, table, path, existing.get(NAME)):
        return (
            NAME,
            (
                "taken for the challenge's file by its name and columns; --name NAME makes another"
                " dataset"
            ),
        )
    name = Path(bare_name(Path(path).name)).stem
    if name in existing and existing[name].id not in n_known:
        is_other = _are_other_organisms(_organism(table), existing[name].organism)
        joins = "" if is_other else f"--dataset {name} adds them to it, "
        raise StateError(
            f"{path}: dataset {name} is here and has none of its ids; {joins}--name OTHER makes"
            " another dataset"
        )
    return name, "named after the file"


def _looks_like_challenge(db: Cursor, table: PairTable, path: str, dataset: Dataset | None) -> bool:
    """Return whether a file is called and laid out like the challenge's, and may be a made-up one:
    no other rows join those of the challenge itself."""
    stem = Path(bare_name(Path(path).name)).stem.lower()
    if (
        not _CHALLENGE_FILE.fullmatch(stem)
        or {*table.header} not in _CHALLENGE_COLUMNS
        or _organism(table) == "human"
    ):
        return False
    return dataset is None or (
        _takes_rows(db, dataset) and not are_challenge(pairs.labels(db, dataset.id))
    )


def _takes_rows(db: Cursor, dataset: Dataset) -> bool:
    """Return whether files of pairs may add to a dataset: not to the demo, a cell line of PerturbQA
    or a screen of cells."""
    return dataset.origin != datasets.DEMO and not any(
        imports.of_kind(db, dataset.id, kind) for kind in ("perturbqa", "cells")
    )


def _refuse_other_files(db: Cursor, table: PairTable, dataset: Dataset, path: str) -> None:
    """Raise StateError if this kind of file cannot be added to the dataset: a cell line has only
    PerturbQA's files."""
    if imports.of_kind(db, dataset.id, "cells"):
        raise StateError(
            f"{path}: dataset {dataset.name} was made from a file of cells, so no other rows can be"
            " added"
        )
    if (table.cell_line is not None) != bool(imports.of_kind(db, dataset.id, "perturbqa")):
        what = "no file of PerturbQA" if table.cell_line is None else "a file of PerturbQA"
        raise StateError(
            f"{path}: {what}, but dataset {dataset.name} is"
            f" {'one' if table.cell_line is None else 'none'} of its cell lines"
        )


def _refuse_other_organism(table: PairTable, dataset: Dataset, path: str) -> None:
    organism = _organism(table)
    if _are_other_organisms(organism, dataset.organism):
        pert, gene = (table.rows[name][0].as_py() for name in ("pert", "gene"))
        raise StateError(
            f"{path}: {organism} genes ({quote(pert)}, {quote(gene)}, …), but dataset"
            f" {dataset.name} is {dataset.organism}, and rows of two organisms are never merged;"
            " --name OTHER alone makes another dataset"
        )


def _are_other_organisms(one: str, other: str) -> bool:
    return one != other and one in _ORGANISMS and other in _ORGANISMS


def _organism(table: PairTable) -> Organism:
    return organism_of(symbols_of(table.rows))


def symbols_of(rows: pa.Table) -> set[str]:
    """Return the perturbations and genes of rows."""
    return {symbol for name in ("pert", "gene") for symbol in rows[name].unique().to_pylist()}


def _new_dataset(name: str, table: PairTable) -> Dataset:
    """Return a dataset that is not in the store yet: a cell line of PerturbQA, the challenge's, or
    another."""
    key, organism = sha256_of(name)[:8], _organism(table)
    if table.cell_line is not None:
        return Dataset(
            key, name, organism or "human", cell_line_context(table.cell_line), "imported", "macro"
        )
    if name == NAME and organism != "human":
        return Dataset(key, name, ORGANISM, CONTEXT, "imported")
    return Dataset(key, name, organism, "", "imported")


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


NAME: Final = "bmdm"
ORGANISM: Final = "mouse"
CONTEXT: Final = "bone-marrow-derived macrophages"
# SHA-256 of the sorted ids, a line each: of train.csv, of test.csv, and of both.
IDS: Final = frozenset(
    (
        "0e8017e1da1d0f8562610a89a4578b96dc0902be565222475a1fac3471482372",
        "6fb42dc4982640109cc45e44d55d951aa7b6c35a46c6a011cbfbb25b590de590",
        "b14ac383a9396260a2de604d234cb662e47f1334a0ff6fed780cf8a4724c384b",
    )
)

_MOST_IDS: Final = 9_518  # of both


def digest_of(ids: Collection[str]) -> str:
    """Return the SHA-256 of ids, whatever their order."""
    return sha256_of("\n".join(sorted({*ids})))


def are_challenge(ids: Collection[str]) -> bool:
    """Return whether these are all ids of the challenge's train.csv, of its test.csv, or of
    both."""
    return len(ids) <= _MOST_IDS and digest_of(ids) in IDS
