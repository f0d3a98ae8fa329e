"""A dataset's record of how its labels were made."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd

from core.base.errors import StoreDamaged
from core.base.file_io import replace_file
from core.base.result import LabelMarks
from core.features.cells.anndata_file import COUNTS_PER_CELL
from core.features.cells.comparisons import FOLD_LIMIT, ReplicateChanges
from core.features.cells.labels import DOWN, LEFT_OUT, UP
from core.features.cells.screen import NOT_SHRUNK, LabelSettings, ScreenLabels

_TEST = (
    "Wilcoxon rank sum (pdex, normal approximation, corrected for ties) of each gene against the"
    " control cells"
)
_FOLD_CHANGE = (
    f"log2 of the ratio of mean counts per {COUNTS_PER_CELL:,.0f}, limited to {FOLD_LIMIT:g}-fold"
    " where one is 0"
)


def _replicate_record(labels: ScreenLabels, found: ReplicateChanges) -> dict[str, Any]:
    """Return what replicates are, how many perturbations have some, and how many of them agree with
    an effect on average."""
    effect = np.isin(labels.codes, (UP, DOWN)) & (found.n[:, None] > 0)
    shares = (labels.agreeing / np.maximum(found.n, 1)[:, None])[effect]
    return {
        "kind": found.kind,
        "perturbations": int((found.n > 0).sum()),
        "median": float(np.median(found.n)),
        "degrees_of_freedom": round(found.degrees, 1),
        "agreement": float(shares.mean()) if len(shares) else None,
        "all_agree": float((shares == 1).mean()) if len(shares) else None,
    }


def marks_of(record: Mapping[str, Any]) -> LabelMarks:
    """Return how far labels can be trusted by their record."""
    calibration = record["calibration"] or {}
    confounded = record["left_out"]["confounded perturbations"]
    return LabelMarks(calibration.get("false_share"), calibration.get("nominal"), len(confounded))


def record_of(labels: ScreenLabels, settings: LabelSettings) -> dict[str, Any]:
    """Return a dataset's record of how its labels were made, as plain data."""
    replicates, calibration = labels.changes.replicates, labels.calibration
    groups, pairs = labels.groups, labels.pairs
    test, strata = _TEST, [*labels.compared_within, *(("depth",) if labels.by_depth else ())]
    if strata:
        test += f", inside of strata of {' and '.join(strata)}, pooled by van Elteren's weights"
    if replicates is not None:
        test += (
            f", and a moderated t test of pseudobulks of each {replicates.kind}, whose FDR has to"
            " be as low"
        )
    failed = labels.knockdown[
        (labels.knockdown["guide"] != "") & labels.knockdown["failed"].fillna(False).astype(bool)
    ]
    record = {
        "settings": settings.identity(),
        "columns": asdict(labels.conditions.columns),
        "values": labels.conditions.names.record(),
        "gene_names": labels.gene_names.column,
        "within": list(labels.compared_within),
        "strata": labels.n_strata,
        "by_depth": labels.by_depth,
        "replicates": None if replicates is None else _replicate_record(labels, replicates),
        "calibration": None if calibration is None else calibration.record(),
        "confounders": [each.line() for each in labels.conditions.confounders],
        "test": test,
        "fold_change": _FOLD_CHANGE,
        "false_discovery_rate": "Benjamini and Hochberg, among the genes of a perturbation",
        "note": NOT_SHRUNK,
        "packages": {name: version(name) for name in ("anndata", "pdex")},
        "cells": int(labels.conditions.is_chosen.sum()),
        "control_cells": groups.n_control,
        "genes": len(labels.genes),
        "perturbations": len(groups.targets),
        "whole_numbers": labels.whole_numbers,
        "left_out": {
            "unassigned cells": groups.unassigned,
            "cells that look like controls": groups.set_aside,
            "cells without counts": groups.empty,
            "perturbations of several genes": list(groups.multiple),
            "perturbations with few cells": list(groups.small),
            "confounded perturbations": list(groups.confounded),
            "perturbations with few effects": [
                pert
                for pert, split in zip(
                    groups.targets, labels.sample.pert_split.tolist(), strict=True
                )
                if split < 0 and pert not in groups.confounded
            ],
            "pairs without a label": int((labels.codes == LEFT_OUT).sum()),
        },
        "targets_not_among_the_genes": list(groups.unknown),
        "perturbations_in_batches_without_controls": list(groups.without_controls),
        "failed_guides": failed["guide"].tolist(),
        "missing_negatives": labels.sample.short,
        "labels": {name: int((pairs["label"] == name).sum()) for name in ("up", "down", "none")},
        "rows": len(pairs),
    }
    return {**record, **labels.of_table}


RECORD = "record.json"
TableName = Literal["effects", "perturbations", "guides", "genes"]


@dataclass(frozen=True, slots=True)
class ScreenFolder:
    """The folder of a dataset's screen."""

    path: Path

    @property
    def is_whole(self) -> bool:
        """Whether record and tables exist."""
        names = (RECORD, *(f"{table}.parquet" for table in get_args(TableName)))
        return all((self.path / name).is_file() for name in names)

    def write(self, labels: ScreenLabels, record: dict[str, Any]) -> None:
        """Write the tables and then the record. Raise OSError."""
        self.path.mkdir(parents=True, exist_ok=True)
        tables: dict[TableName, pd.DataFrame] = {
            "effects": labels.effects(),
            "perturbations": labels.perturbations(),
            "guides": labels.knockdown,
            "genes": labels.genes_of_controls(),
        }
        for name, table in tables.items():
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
