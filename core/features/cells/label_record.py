"""A dataset's record of how its labels were made; what it says, and what a file of cells holds, as
results."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd

from core.base.errors import StoreDamaged
from core.base.file_io import replace_file
from core.base.result import LabelMarks, Summary
from core.base.texts import list_some
from core.features.cells.anndata_file import COUNTS_PER_CELL
from core.features.cells.comparisons import FOLD_LIMIT, ReplicateChanges
from core.features.cells.confounders import DIFFERS
from core.features.cells.groups import MIN_CELLS
from core.features.cells.labels import DOWN, LEFT_OUT, UP
from core.features.cells.screen import NOT_SHRUNK, Description, LabelSettings, ScreenLabels

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


_SHOWN = 8
_SHOWN_OF_RECORD = (
    "columns",
    "perturbations",
    "genes",
    "cells",
    "control_cells",
    "failed_guides",
    "note",
    "within",
    "strata",
    "test",
    "replicates",
    "calibration",
    "notes",
)
_UNKNOWN = "perturbed genes that are not among the genes"
_WITHOUT_CONTROLS = "perturbations with cells in batches without controls"
_CONFOUNDED = (
    "confounded: perturbations that share too few cells of their batches with controls, and get no"
    " labels"
)


def describe(found: Description) -> Summary:
    """Return the content of a file and the automatic choices."""
    columns, groups, names = found.conditions.columns, found.groups, found.gene_names
    perturbation, control, batch, guide = (
        f"{name:<13} {value or 'none'}"
        + (f" ({'given' if name in columns.given else 'found by name'})" if value else "")
        for name, value in (
            ("perturbation", columns.perturbation),
            ("control", columns.control),
            ("batch", columns.batch),
            ("guide", columns.guide),
        )
    )
    if columns.others:
        perturbation += f"; could also be {', '.join(columns.others)}"
    if found.batches is not None:
        batch += f", {found.batches:,} batches"
        if found.batches > 1 and not found.within:
            batch += ", inside of which cells are compared"
    gene_names = f"gene names    {names.column or 'index'} of var"
    if names.ambiguous:
        gene_names += (
            f"; {len(names.ambiguous):,} names of several genes, which go by the index"
            f" ({list_some(sorted(names.ambiguous), _SHOWN)})"
        )
    sizes = groups.n_cells
    lines = [
        perturbation,
        f"{control}, {groups.n_control:,} cells",
        batch,
        guide,
        gene_names,
        *found.conditions.lines(),
        f"perturbations of one gene: {len(sizes):,}, with {sizes.min():,} to {sizes.max():,} cells",
    ]
    if few := int((sizes < MIN_CELLS).sum()):
        lines.append(f"perturbations with fewer than {MIN_CELLS} cells: {few:,}")
    lines += _count_names(
        {
            _UNKNOWN: groups.unknown,
            _WITHOUT_CONTROLS: groups.without_controls,
            _CONFOUNDED: groups.confounded,
        }
    )
    sentence = f"{len(groups.of_cell):,} cells × {len(names.names):,} genes"
    return Summary("What the file holds", sentence, _facts_of(found), tuple(lines))


def _count_names(groups: Mapping[str, Sequence[str]]) -> list[str]:
    return [
        f"{what}: {len(names):,} ({list_some(names, _SHOWN)})"
        for what, names in groups.items()
        if names
    ]


def _facts_of(found: Description) -> dict[str, Any]:
    conditions, groups = found.conditions, found.groups
    return {
        "cells": len(groups.of_cell),
        "genes": len(found.gene_names.names),
        "columns": conditions.columns,
        "obs_columns": found.obs_columns,
        "control_cells": groups.n_control,
        "perturbations": dict(zip(groups.targets, groups.n_cells.tolist(), strict=True)),
        "values": conditions.names.record(),
        "gene_names": found.gene_names.column,
        "confounders": [each.line() for each in conditions.confounders],
        "multiple": groups.multiple,
        "unknown": groups.unknown,
        "unassigned_cells": groups.unassigned,
        "batches": found.batches,
        "in_batches_without_controls": groups.without_controls,
        "confounded": groups.confounded,
    }


def summarize_labels(dataset: str, record: Mapping[str, Any], *, new: bool = False) -> Summary:
    """Return the content of a dataset made from cells, and the exclusions. record: that of
    `record_of`. new: just made."""
    labels, left_out = record["labels"], record["left_out"]
    confounded = left_out["confounded perturbations"]
    few = len(left_out["perturbations with few effects"]) + len(confounded)
    columns = record["columns"]
    chosen = ", ".join(
        f"{name} = {columns[name]}" for name in ("perturbation", "batch", "guide") if columns[name]
    )
    lines = [
        (
            f"from a table of differential expression, without cells; columns: {chosen}"
            if not record["cells"]
            else (
                f"{record['cells']:,} cells, {record['control_cells']:,} of them controls"
                f" ({columns['control']}); columns: {chosen}"
            )
        ),
        (
            f"{record['perturbations'] - few:,} of {record['perturbations']:,} perturbations have"
            " enough effects"
        ),
        (
            "pairs that are neither changed nor unchanged, left out:"
            f" {left_out['pairs without a label']:,}"
        ),
    ]
    lines += [*_comparison_lines(record), *_calibration_lines(record)]
    most = record["settings"]["most_remaining"]
    lines += _count_names(
        {
            "perturbations of several genes, left out": left_out["perturbations of several genes"],
            "perturbations with few cells, left out": left_out["perturbations with few cells"],
            _CONFOUNDED: confounded,
            _UNKNOWN: record["targets_not_among_the_genes"],
            _WITHOUT_CONTROLS: record["perturbations_in_batches_without_controls"],
            f"failed guides, which leave more than {most:.0%} of their target's expression": record[
                "failed_guides"
            ],
        }
    )
    lines += [
        f"{what}, left out: {left_out[what]:,}"
        for what in ("unassigned cells", "cells that look like controls", "cells without counts")
        if left_out.get(what)
    ]
    lines += [f"{DIFFERS}: {each}" for each in record["confounders"]]
    lines += record.get("notes", [])
    if record["gene_names"]:
        lines.append(f"genes by {record['gene_names']} of var")
    if not record["whole_numbers"]:
        lines.append("not all values are whole numbers: are these counts?")
    sentence = (
        f"{dataset}: {record['rows']:,} pairs: {labels['up']:,} up, {labels['down']:,} down,"
        f" {labels['none']:,} none"
    )
    facts = {
        "dataset": dataset,
        "pairs": record["rows"],
        **labels,
        "left_out": left_out,
        "new": new,
    }
    shown = {name: record.get(name) for name in _SHOWN_OF_RECORD}
    return Summary("How the labels were made", sentence, facts | shown, tuple(lines), (NOT_SHRUNK,))


def _comparison_lines(record: Mapping[str, Any]) -> list[str]:
    """Return lines on the strata of the comparison and on the replicates."""
    lines, found = list[str](), record["replicates"]
    if inside := [*record["within"], *(["depth"] if record["by_depth"] else [])]:
        lines.append(f"compared inside of {record['strata']:,} strata of {' and '.join(inside)}")
    if record["cells"] and found is None:
        asked = record["settings"]["design"]["cells_alone"]
        why = (
            "replicates not tested, as asked"
            if asked
            else "no replicates: too few guides or batches"
        )
        lines.append(f"{why}; labels rest on cells alone")
    elif record["cells"]:
        degrees = found["degrees_of_freedom"]
        lines.append(
            f"each effect is also one between {found['kind']}s: t test of pseudobulks, "
            f"{f'{degrees:,.0f}' if degrees < 1_000 else 'more than 1,000'} degrees of freedom"
        )
        if found["agreement"] is not None:
            lines.append(
                f"{found['agreement']:.0%} of a perturbation's {found['kind']}s agree with an"
                f" effect; all do in {found['all_agree']:.0%}"
            )
    return lines


def _calibration_lines(record: Mapping[str, Any]) -> list[str]:
    """Return lines on false effects from mock perturbations; none for a table, which has no
    cells."""
    found = record["calibration"]
    if not record["cells"]:
        return []
    if found is None:
        return ["false effects: not known, too few controls for mock perturbations"]
    guides = f", of {found['guides']:,} guides at most" if found["guides"] else ""
    marks = LabelMarks(found["false_share"], found["nominal"])
    return [
        (
            f"false effects: {found['false_effects']:.2f} in each of {found['mocks']:,} mock"
            f" perturbations ({found['cells']:,} control cells{guides}; {found['genes']:,} of"
            f" {found['of_genes']:,} genes), beside {found['real_effects']:.1f} in a real one"
        ),
        (
            f"expected share of false effects: {found['false_share']:.1%} (nominal"
            f" {found['nominal']:.0%})"
        ),
        *([marks.sentence] if marks.marked else []),
    ]
