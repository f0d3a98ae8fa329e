"""Datasets: named sets of (perturbation, gene) pairs."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from core.base.result import UNMARKED, LabelMarks
from core.base.texts import check_name
from core.base.types import ASKED, HeadlineKind
from core.store.connection import Cursor
from core.store.queries import find_named, insert_values, one

if TYPE_CHECKING:
    import pandas as pd

DEMO = "simulated"


@dataclass(frozen=True, slots=True)
class Dataset:
    """One dataset. origin: "imported", or "simulated" for the demo. headline: the number that its
    runs are judged by. marks: how far its labels can be trusted, as far as that is known."""

    id: str
    name: str
    organism: str
    context: str
    origin: str
    headline: HeadlineKind = "mean"
    marks: LabelMarks = UNMARKED


_COLUMNS = "id, name, organism, context, origin, headline, false_share, nominal_share, confounded"


def add(cursor: Cursor, dataset: Dataset) -> None:
    """Create a dataset; its id and name must be new. Raise InputError for a name as `check_name`
    does."""
    check_name("dataset", dataset.name)
    values, marks = asdict(dataset), dataset.marks
    del values["marks"]
    values |= {"false_share": marks.false_share, "nominal_share": marks.nominal}
    insert_values(cursor, "dataset", {**values, "confounded": marks.confounded})


def list_all(cursor: Cursor) -> list[Dataset]:
    """Return every dataset by name, the demo last."""
    rows = cursor.execute(
        f"SELECT {_COLUMNS} FROM dataset ORDER BY origin = 'simulated', name"
    ).fetchall()
    return [
        Dataset(key, name, organism, context, origin, headline, LabelMarks(*marks))
        for key, name, organism, context, origin, headline, *marks in rows
    ]


def find(cursor: Cursor, name: str) -> Dataset:
    """Return the dataset of a name or id. Raise NotFound, which lists the existing ones."""
    return find_named(list_all(cursor), name, "dataset")


def default(cursor: Cursor) -> Dataset | None:
    """Return the dataset that was made or used last, by an import or a run; the demo only where it
    is alone.

    None in an empty workspace.
    """
    row = one(
        cursor,
        """SELECT id FROM dataset d ORDER BY origin = 'simulated', greatest(
             (SELECT max(imported_at) FROM import WHERE dataset = d.id),
             (SELECT max(created_at) FROM run WHERE dataset = d.id)) DESC NULLS LAST, name LIMIT
               1""",
    )
    return None if row is None else find(cursor, row[0])


def counts(cursor: Cursor) -> pd.DataFrame:
    """One row per dataset and split: dataset, name, origin, split, rows, perts, genes, up, down,
    none, de, unlabelled."""
    return cursor.execute(
        """SELECT d.id AS dataset, d.name, d.origin, p.split, count(*) AS rows, count(DISTINCT pert)
          AS perts,
             count(DISTINCT gene) AS genes, count(*) FILTER (label = 'up') AS up, count(*) FILTER
               (label = 'down') AS down,
             count(*) FILTER (label = 'none') AS none, count(*) FILTER (label = 'de') AS de,
             count(*) FILTER (label IS NULL) AS unlabelled
           FROM pair p JOIN dataset d ON d.id = p.dataset AND p.split <> $asked
           GROUP BY d.id, d.name, d.origin, p.split ORDER BY d.origin = 'simulated', d.name, p.split
             DESC""",
        {"asked": ASKED},
    ).df()


def drop_if_empty(cursor: Cursor, dataset: str) -> bool:
    """Delete a dataset that has neither pairs nor runs left, and return whether it did."""
    return (
        one(
            cursor,
            """DELETE FROM dataset WHERE id = ? AND NOT EXISTS (SELECT 1 FROM pair WHERE dataset =
              ?)
               AND NOT EXISTS (SELECT 1 FROM run WHERE dataset = ?) RETURNING id""",
            [dataset, dataset, dataset],
        )
        is not None
    )
