"""From a file of cells to labelled pairs: columns, checks, differential expression, labels and the sample, in one call."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd

from core.cells.anndata_file import CellFile, CountSummary, open_cells, summarise_counts
from core.cells.cell_formats import hash_cells
from core.cells.cell_table import add_cell_table
from core.cells.columns import Columns, texts
from core.cells.conditions import FOUND, READING, READING_VERSION, Conditions, ReadingSettings, compare_within, read_conditions
from core.cells.confounders import describe_even, refuse_mixed_lines
from core.cells.differential_expression import (
    COUNTS_PER_CELL,
    FOLD_LIMIT,
    CompareEach,
    GeneChanges,
    compare_here,
    compare_with_controls,
)
from core.cells.gene_names import GeneNames
from core.cells.groups import CellGroups, GroupSettings, group_cells, refuse_confounded
from core.cells.labels import DOWN, LEFT_OUT, MOST_REMAINING, NONE, UP, Thresholds, knockdown_table, label_pairs
from core.cells.logarithms import refuse_other_logarithm
from core.cells.sampling import NAMES, SPLITS, Sample, SamplingSettings, sample_pairs
from core.cells.strata import within_setting
from core.errors import InputError
from core.fields.record import setting, without_effect

NOT_SHRUNK = "Fold changes are not shrunk; those of the BioReasoning challenge are."
_TEST = "Wilcoxon rank sum (pdex, normal approximation, corrected for ties) of each gene against the control cells"
_FOLD_CHANGE = f"log2 of the ratio of mean counts per {COUNTS_PER_CELL:,.0f}, limited to {FOLD_LIMIT:g}-fold where one is 0"
VERSIONS: Final = {"reading": READING_VERSION, "labelling": 2}  # 2: confounded perturbations have no labels
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class LabelSettings(ReadingSettings):
    """How labels are made of a file.

    obs: a table whose columns are added to obs. batch, guide: None are found by name (`choose_columns`).
    most_remaining: the share of its target's expression that a working guide may leave. in_memory: read the file at once.
    """

    obs: Path | None = setting(
        None,
        "A table with a row for each cell, whose columns are added to obs: what was done to it, beside a matrix of 10x Genomics.",
        metavar="TABLE",
        not_on_form="a second file beside a matrix of 10x, which a page does not take",
    )
    batch: str | None = setting(None, "A cell's batch; found by name.", title="Batch column", missing=FOUND, metavar="COLUMN")
    guide: str | None = setting(None, "A cell's guide; found by name.", title="Guide column", missing=FOUND, metavar="COLUMN")
    within: tuple[str, ...] = within_setting()
    groups: GroupSettings = field(default_factory=GroupSettings)
    thresholds: Thresholds = field(default_factory=Thresholds)
    sampling: SamplingSettings = field(default_factory=SamplingSettings)
    most_remaining: float = setting(
        MOST_REMAINING,
        "A guide failed if more than this share of its target's expression remains.",
        title="Most of a target's expression that a working guide leaves",
        least=0,
    )
    in_memory: bool = setting(False, "Read the whole file at once.", title="Read the whole file at once", changes_result=False)

    def identity(self) -> dict[str, Any]:
        """Returns what the labels depend on, as plain data; how the file is read does not change them. Settings of how cells are
        read are left out at their defaults. A table of cells stands there by its content."""
        usual = {name for name in (*READING, "within") if getattr(self, name) in (None, (), {})}
        left_out = usual | without_effect(LabelSettings) | {"obs"}
        table = {} if self.obs is None else {"obs": hash_cells(self.obs)}
        return {name: value for name, value in asdict(self).items() if name not in left_out} | table | VERSIONS

    def read_conditions(self, file: CellFile) -> Conditions:
        """Returns what was done to the cells of a file. Raises InputError as `add_cell_table` and `read_conditions`, and for a
        file that says nothing of its cells."""
        if self.obs is not None:
            add_cell_table(file, self.obs)
        if not len(file.obs.columns):
            raise InputError(f"{file.path}: says nothing of its cells; give a table of what was done to each with --obs TABLE")
        return compare_within(file, read_conditions(file, self, self.batch, self.guide), self.within)


@dataclass(frozen=True, slots=True)
class Description:
    """What a file holds and what would be chosen, before any value is read. cells: perturbation → number of its cells."""

    n_cells: int
    n_genes: int
    columns: Columns
    n_control: int
    cells: Mapping[str, int]
    unknown: tuple[str, ...]
    multiple: tuple[str, ...]
    unassigned: int
    batches: int | None
    without_controls: tuple[str, ...]
    confounded: tuple[str, ...]
    obs_columns: tuple[str, ...]
    conditions: Conditions
    gene_names: GeneNames


def describe_cells(path: Path, settings: LabelSettings = LabelSettings()) -> Description:
    """Returns what a file holds and which columns would be chosen; no value is read.

    Perturbations with few cells, and those that are not among the genes, are part of the description, no error. Raises InputError
    as `open_cells` and `read_conditions`, and if there is no perturbation of a single gene.
    """
    with open_cells(path, layer=settings.layer) as file:
        found = settings.read_conditions(file)
        columns = found.columns
        everything = GroupSettings(min_cells=2, leave_out_small=True, keep_unknown=True)
        groups = group_cells(file, found, None, everything)
        batches = None if columns.batch is None else len({*texts(file.obs[columns.batch]).tolist()} - {""})
        return Description(
            file.n_cells,
            file.n_genes,
            columns,
            groups.n_control,
            dict(zip(groups.targets, groups.n_cells.tolist(), strict=True)),
            groups.unknown,
            groups.multiple,
            groups.unassigned,
            batches,
            groups.without_controls,
            groups.confounded,
            tuple(map(str, file.obs.columns)),
            found,
            file.gene_names,
        )


@dataclass(frozen=True, eq=False)
class ScreenLabels:
    """The labels of a file of cells. codes: of shape (n_targets, n_genes), as in `label_pairs`; knockdown: as in
    `knockdown_table`."""

    genes: tuple[str, ...]
    conditions: Conditions
    gene_names: GeneNames
    counts: CountSummary
    groups: CellGroups
    changes: GeneChanges
    codes: np.ndarray
    sample: Sample
    knockdown: pd.DataFrame

    @cached_property
    def pairs(self) -> pd.DataFrame:
        """The chosen rows: pert, gene (symbols), label, split."""
        rows = self.sample.rows
        pert = np.array(self.groups.targets, dtype=object)[rows["pert"].to_numpy()]
        gene = np.array(self.genes, dtype=object)[rows["gene"].to_numpy()]
        return pd.DataFrame({"pert": pert, "gene": gene, "label": rows["label"], "split": rows["split"]}).astype(object)

    def effects(self) -> pd.DataFrame:
        """Returns a row for every perturbation and gene: pert, gene, log2_fc, p, fdr, label ("left out" between the others)."""
        n_targets, n_genes = self.codes.shape
        names = np.array([{**NAMES, LEFT_OUT: "left out"}[code] for code in (DOWN, NONE, UP, LEFT_OUT)], dtype=object)
        columns = {
            "pert": _categories(np.repeat(np.arange(n_targets), n_genes), self.groups.targets),
            "gene": _categories(np.tile(np.arange(n_genes), n_targets), self.genes),
            "log2_fc": self.changes.log2_fc.ravel().astype(np.float32),
            "p": self.changes.p.ravel(),
            "fdr": self.changes.fdr.ravel(),
            "label": pd.Categorical(names[self.codes.ravel() - DOWN]),
        }
        return pd.DataFrame(columns)

    def perturbations(self) -> pd.DataFrame:
        """Returns a row for each perturbation: pert, n_cells, up, down, none, left_out, split (None if it has too few effects),
        rows (in the dataset), remaining, failed (its knockdown, missing where it cannot be told)."""
        counts = {name: (self.codes == code).sum(axis=1) for name, code in (("up", UP), ("down", DOWN), ("none", NONE))}
        split = [SPLITS[i] if i >= 0 else None for i in self.sample.pert_split.tolist()]
        rows = np.bincount(self.sample.rows["pert"].to_numpy(), minlength=len(self.groups.targets))
        table = pd.DataFrame({"pert": self.groups.targets, "n_cells": self.groups.n_cells, **counts})
        table["left_out"] = len(self.genes) - table[["up", "down", "none"]].sum(axis=1)
        whole = self.knockdown[self.knockdown["guide"] == ""].set_index("target")
        own = whole.reindex(table["pert"])[["remaining", "failed"]].reset_index(drop=True)
        return table.assign(split=pd.Series(split, dtype=object), rows=rows, remaining=own["remaining"], failed=own["failed"])


def _categories(codes: np.ndarray, names: tuple[str, ...]) -> pd.Categorical:
    return pd.Categorical.from_codes(codes, pd.Index(names, dtype=object))


def label_screen(path: Path, settings: LabelSettings, say: Say, compare_each: CompareEach = compare_here) -> ScreenLabels:
    """Returns the labels of a file of cells.

    say: is called with a line of progress now and then. compare_each: where perturbations are compared with the controls.

    Raises InputError for a file that is malformed (see `open_cells`, `summarise_counts`, `group_cells`) or of which no row is
    left, MissingPackage without anndata or pdex, and what `compare_each` raises.
    """
    with open_cells(path, backed=not settings.in_memory, layer=settings.layer) as file:
        found = settings.read_conditions(file)
        refuse_mixed_lines(str(path), found.confounders, (*settings.across, *settings.within), within=True)
        # what is wrong with them is said before the values are read
        refuse_confounded(str(path), group_cells(file, found, None, settings.groups), found.columns.batch)
        say(f"reading {file.n_cells:,} cells × {file.n_genes:,} genes")
        refuse_other_logarithm(file, settings.values)
        counts = summarise_counts(file, settings.values)
        groups = group_cells(file, found, counts.totals, settings.groups)
        say(f"comparing {len(groups.targets):,} perturbations with {groups.n_control:,} control cells")

        def say_share(share: float) -> None:
            say(f"{share:.0%} of the genes compared")

        changes = compare_with_controls(file, groups, counts, say_share, compare_each, found.strata)
    codes = label_pairs(changes, groups.targets, file.gene_names, settings.thresholds)
    codes[[groups.targets.index(pert) for pert in groups.confounded]] = LEFT_OUT
    return ScreenLabels(
        genes=file.genes,
        conditions=found,
        gene_names=file.gene_names,
        counts=counts,
        groups=groups,
        changes=changes,
        codes=codes,
        sample=sample_pairs(codes, changes.fdr, settings.sampling),
        knockdown=knockdown_table(changes.guides, settings.most_remaining),
    )


def record_of(labels: ScreenLabels, settings: LabelSettings) -> dict[str, Any]:
    """Returns what a dataset keeps of how its labels were made, as plain data."""
    groups, pairs = labels.groups, labels.pairs
    failed = labels.knockdown[(labels.knockdown["guide"] != "") & labels.knockdown["failed"].fillna(False).astype(bool)]
    return {
        "settings": settings.identity(),
        "columns": asdict(labels.conditions.columns),
        "values": labels.conditions.names.record(),
        "gene_names": labels.gene_names.column,
        "within": list(settings.within),
        "confounders": [each.line() for each in labels.conditions.confounders],
        "even": describe_even(labels.conditions.even),
        "test": _TEST,
        "fold_change": _FOLD_CHANGE,
        "false_discovery_rate": "Benjamini and Hochberg, among the genes of a perturbation",
        "note": NOT_SHRUNK,
        "packages": {name: version(name) for name in ("anndata", "pdex")},
        "cells": int(labels.conditions.is_chosen.sum()),
        "control_cells": groups.n_control,
        "genes": len(labels.genes),
        "perturbations": len(groups.targets),
        "whole_numbers": labels.counts.whole_numbers,
        "left_out": {
            "unassigned cells": groups.unassigned,
            "cells that look like controls": groups.set_aside,
            "cells without counts": groups.empty,
            "perturbations of several genes": list(groups.multiple),
            "perturbations with few cells": list(groups.small),
            "confounded perturbations": list(groups.confounded),
            "perturbations with few effects": [
                pert
                for pert, split in zip(groups.targets, labels.sample.pert_split.tolist(), strict=True)
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
