"""The tables of a screen, saved beside its dataset as Parquet, and the record of how its labels
were made, written last."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from core.base.errors import StoreDamaged
from core.base.file_io import replace_file
from core.features.cells.screen import ScreenLabels

RECORD = "record.json"
TableName = Literal["effects", "perturbations", "guides", "genes"]
TABLES: tuple[TableName, ...] = ("effects", "perturbations", "guides", "genes")


@dataclass(frozen=True, slots=True)
class ScreenFolder:
    """The folder of a dataset's screen."""

    path: Path

    @property
    def is_whole(self) -> bool:
        """Whether record and tables exist."""
        return all(
            (self.path / name).is_file()
            for name in (RECORD, *(f"{table}.parquet" for table in TABLES))
        )

    def write(self, labels: ScreenLabels, record: dict[str, Any]) -> None:
        """Write the tables and then the record. Raise OSError."""
        self.path.mkdir(parents=True, exist_ok=True)
        tables = (
            labels.effects(),
            labels.perturbations(),
            labels.knockdown,
            labels.genes_of_controls(),
        )
        for name, table in zip(TABLES, tables, strict=True):
            table.to_parquet(self.path / f"{name}.parquet", index=False)
        replace_file(self.path / RECORD, json.dumps(record, indent=1).encode(), durable=True)

    def genes(self) -> pd.DataFrame | None:
        """Return statistics of genes in the controls: gene, mean, variance, detected; None for
        labels without cells.

        Raise StoreDamaged.
        """
        genes = self.table("genes") if self.path.is_dir() else pd.DataFrame()
        return None if genes.empty else genes

    def record(self) -> dict[str, Any]:
        """Return the record. Raise StoreDamaged if it is missing or no JSON object."""
        try:
            record = json.loads((self.path / RECORD).read_bytes())
        except (OSError, ValueError) as error:
            raise StoreDamaged(f"{self.path / RECORD}: cannot be read ({error})") from error
        if not isinstance(record, dict):
            raise StoreDamaged(f"{self.path / RECORD}: {type(record).__name__}, expected an object")
        return record

    def table(self, name: TableName, pert: str | None = None) -> pd.DataFrame:
        """Return a table, of the effects those of one perturbation if it is named. Raise
        StoreDamaged."""
        path = self.path / f"{name}.parquet"
        try:
            return pd.read_parquet(path, filters=None if pert is None else [("pert", "==", pert)])
        except (OSError, ValueError) as error:  # pyarrow's errors are both
            raise StoreDamaged(f"{path}: cannot be read ({error})") from error
