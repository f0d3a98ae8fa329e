"""The dataset that the rows of a file of pairs join or become: by the name that a person gives,
else by what the rows are."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final, NamedTuple

from core.base.archives import bare_name
from core.base.errors import StateError
from core.base.hashes import sha256_of
from core.base.texts import quote
from core.evidence.knowledge_packs import Organism, organism_of
from core.features.importing import challenge
from core.features.importing.cell_lines import cell_line_context
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
    dataset = next((d for d in datasets.list_all(db) if name in (d.id, d.name)), None)
    if dataset is None:
        return DatasetChoice(_new_dataset(name, table), True, reason)
    _refuse_other_files(db, table, dataset, path)
    _refuse_other_organism(table, dataset, path)
    return DatasetChoice(dataset, False, reason)


def _recognise(db: Cursor, table: PairTable, path: str) -> tuple[str, str]:
    """Return the name of the dataset that rows belong to if nobody says which, and why."""
    ids = [pair.pair_id for pair in table.pairs]
    existing = {d.name: d for d in datasets.list_all(db)}
    n_known = dict(pairs.datasets_with(db, ids))
    holders = [
        name
        for name, dataset in existing.items()
        if 2 * n_known.get(dataset.id, 0) > len(ids) and _takes_rows(db, dataset)
    ]
    if challenge.NAME in holders or (not holders and challenge.are_challenge(ids)):
        return challenge.NAME, ""
    if len(holders) > 1:
        raise StateError(f"{path}: may belong to {', '.join(holders)}; choose one with --dataset")
    if holders:
        return holders[0], ""
    if _looks_like_challenge(db, table, path, existing.get(challenge.NAME)):
        return (
            challenge.NAME,
            (
                "taken for the challenge's file by its name and columns; --name NAME makes another"
                " dataset"
            ),
        )
    name = Path(bare_name(Path(path).name)).stem
    if name in existing and existing[name].id not in n_known:
        raise StateError(
            f"{path}: dataset {name} is here and has none of its ids;"
            f" {_advise(db, table, existing[name])}"
        )
    return name, "named after the file"


def _advise(db: Cursor, table: PairTable, dataset: Dataset) -> str:
    another = "--name OTHER makes another dataset"
    may_join = _takes_rows(db, dataset) and not _are_other_organisms(
        _organism(table), dataset.organism
    )
    return f"--dataset {dataset.name} adds these rows to it, {another}" if may_join else another


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
        _takes_rows(db, dataset) and not challenge.are_challenge(pairs.labels(db, dataset.id))
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
        first = table.pairs[0]
        raise StateError(
            f"{path}: {organism} genes ({quote(first.pert)}, {quote(first.gene)}, …), but dataset"
            f" {dataset.name} is {dataset.organism}, and rows of two organisms are never merged;"
            " --name OTHER alone makes another dataset"
        )


def _are_other_organisms(one: str, other: str) -> bool:
    return one != other and one in _ORGANISMS and other in _ORGANISMS


def _organism(table: PairTable) -> Organism:
    return organism_of({symbol for pair in table.pairs for symbol in (pair.pert, pair.gene)})


def _new_dataset(name: str, table: PairTable) -> Dataset:
    """Return a dataset that is not in the store yet: a cell line of PerturbQA, the challenge's, or
    another."""
    key, organism = sha256_of(name)[:8], _organism(table)
    if table.cell_line is not None:
        return Dataset(
            key, name, organism or "human", cell_line_context(table.cell_line), "imported", "macro"
        )
    if name == challenge.NAME and organism != "human":
        return Dataset(key, name, challenge.ORGANISM, challenge.CONTEXT, "imported")
    return Dataset(key, name, organism, "", "imported")
