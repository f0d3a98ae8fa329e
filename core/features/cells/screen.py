"""From a file of cells to labelled pairs: columns, checks, differential expression, labels and the
sample, in one call."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Final

import numpy as np
import pandas as pd
from annotated_types import Ge

from core.base.errors import InputError
from core.base.fields.record import identity_of
from core.base.fields.setting import setting
from core.base.types import Rejected
from core.features.cells.anndata_file import CellFile, open_cells
from core.features.cells.columns import GeneNames, texts
from core.features.cells.comparisons import CompareEach, DesignSettings, build_design
from core.features.cells.conditions import (
    FOUND,
    READING_VERSION,
    Conditions,
    ReadingSettings,
    Within,
    compare_within,
    read_conditions,
    strata_of_batches,
)
from core.features.cells.differential_expression import (
    GeneChanges,
    compare_here,
    compare_with_controls,
)
from core.features.cells.groups import CellGroups, GroupSettings, group_cells
from core.features.cells.labels import (
    DOWN,
    LEFT_OUT,
    MOST_REMAINING,
    NONE,
    SPLITS,
    UP,
    Calibration,
    Sample,
    SamplingSettings,
    Thresholds,
    calibrate,
    knockdown_table,
    label_pairs,
    sample_pairs,
)
from core.features.cells.scales import read_counts
from core.stats.arrays import Codes

NOT_SHRUNK = "Fold changes are not shrunk; those of the BioReasoning challenge are."
# 3: cells are compared inside batches, with replicates
VERSIONS: Final = {"reading": READING_VERSION, "labelling": 3}
# of the codes from DOWN to LEFT_OUT
_LABELS: Final = np.array(["down", "none", "up", "left out"], dtype=object)
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class LabelSettings(ReadingSettings):
    """How labels are made of a file.

    batch, guide: None are found by name (`choose_columns`).
    columns: of a table of differential expression, role → column.
    most_remaining: the share of its target's expression that a working guide may leave.
    """

    batch: Annotated[
        str | None,
        setting(
            "A cell's batch, inside of which cells are compared; found by name. none: compare"
            " across batches.",
            title="Batch column",
            missing=FOUND,
            metavar="COLUMN",
        ),
    ] = None
    guide: Annotated[
        str | None,
        setting(
            "A cell's guide; found by name.", title="Guide column", missing=FOUND, metavar="COLUMN"
        ),
    ] = None
    within: Within = ()
    columns: Annotated[
        Mapping[str, str],
        setting(
            "A table of changes: which column is pert, gene, log2_fc, p, …",
            option="--column",
            metavar="ROLE=NAME",
            where="command",
            added=True,
        ),
    ] = field(default_factory=dict)
    groups: GroupSettings = field(default_factory=GroupSettings)
    design: DesignSettings = field(default_factory=DesignSettings)
    thresholds: Thresholds = field(default_factory=Thresholds)
    sampling: SamplingSettings = field(default_factory=SamplingSettings)
    most_remaining: Annotated[
        float,
        Ge(0),
        setting(
            "A guide failed if more than this share of its target's expression remains.",
            title="Most of a target's expression that a working guide leaves",
        ),
    ] = MOST_REMAINING

    def identity(self) -> dict[str, Any]:
        """Return the inputs of the labels, as plain data."""
        return identity_of(self) | VERSIONS

    def read_conditions(self, file: CellFile) -> Conditions:
        """Return the perturbations of the cells of a file. Raise InputError as
        `read_conditions`."""
        found = read_conditions(file, self, self.batch, self.guide)
        return compare_within(file, found, self.within)


@dataclass(frozen=True, slots=True, eq=False)
class Description:
    """The content of a file and the automatic choices, before any value is read. batches: their
    number, None without a column."""

    obs_columns: tuple[str, ...]
    conditions: Conditions
    gene_names: GeneNames
    groups: CellGroups
    batches: int | None
    within: tuple[str, ...]


def describe_cells(path: Path, settings: LabelSettings = LabelSettings()) -> Description:
    """Return the content of a file and the columns that would be chosen, without reading values.

    Perturbations with few cells, and those that are not among the genes, are part of the
    description, no error. Raise InputError as `open_cells` and `read_conditions`, and if there is
    no perturbation of a single gene.
    """
    with open_cells(path, layer=settings.layer) as file:
        found = settings.read_conditions(file)
        batch = found.columns.batch
        everything = GroupSettings(min_cells=2, leave_out_small=True, keep_unknown=True)
        groups = group_cells(file, found, None, everything, settings.groups.min_cells)
        batches = None if batch is None else len({*texts(file.obs[batch]).tolist()} - {""})
        return Description(
            tuple(map(str, file.obs.columns)),
            found,
            file.gene_names,
            groups,
            batches,
            settings.within,
        )


@dataclass(frozen=True, eq=False)
class ScreenLabels:
    """The labels of a file of cells. codes: of shape (n_targets, n_genes), as in `label_pairs`;
    knockdown: as in `knockdown_table`. rejected, of_table: rows of a table of changes, and what the
    record says of it."""

    conditions: Conditions
    gene_names: GeneNames
    whole_numbers: bool
    groups: CellGroups
    changes: GeneChanges
    codes: np.ndarray
    sample: Sample
    knockdown: pd.DataFrame
    compared_within: tuple[str, ...] = ()
    n_strata: int = 1
    by_depth: bool = False
    calibration: Calibration | None = None
    rejected: tuple[Rejected, ...] = ()
    of_table: Mapping[str, Any] = field(default_factory=dict)

    @property
    def genes(self) -> tuple[str, ...]:
        return self.gene_names.names

    @cached_property
    def pairs(self) -> pd.DataFrame:
        """The chosen rows: pert, gene (symbols), label, split."""
        rows = self.sample.rows
        pert = np.array(self.groups.targets, dtype=object)[rows["pert"].to_numpy()]
        gene = np.array(self.genes, dtype=object)[rows["gene"].to_numpy()]
        return pd.DataFrame(
            {"pert": pert, "gene": gene, "label": rows["label"], "split": rows["split"]}
        ).astype(object)

    def effects(self) -> pd.DataFrame:
        """Return a row for every perturbation and gene: pert, gene, log2_fc, p, fdr, label ("left
        out" between the others), replicates, agree (how many change as the mean does),
        replicate_fdr, marked."""
        n_targets, n_genes = self.codes.shape
        columns = {
            "pert": _categories(np.repeat(np.arange(n_targets), n_genes), self.groups.targets),
            "gene": _categories(np.tile(np.arange(n_genes), n_targets), self.genes),
            "log2_fc": self.changes.log2_fc.ravel().astype(np.float32),
            "p": self.changes.p.ravel(),
            "fdr": self.changes.fdr.ravel(),
            "label": pd.Categorical(_LABELS[self.codes.ravel() - DOWN]),
            "replicates": np.repeat(self.n_replicates.astype(np.int16), n_genes),
            "agree": self.agreeing.ravel(),
            "replicate_fdr": (
                np.nan if self.changes.replicates is None else self.changes.replicates.fdr.ravel()
            ),
        }
        marked = np.isin(self.codes, (UP, DOWN)) & (
            self.calibration is not None and self.calibration.marked
        )
        return pd.DataFrame({**columns, "marked": marked.ravel()})

    @property
    def n_replicates(self) -> Codes:
        """The number of replicates of each perturbation, of shape (n_targets,)."""
        return (
            np.zeros(len(self.codes), np.intp)
            if self.changes.replicates is None
            else self.changes.replicates.n
        )

    @cached_property
    def agreeing(self) -> np.ndarray:
        """How many replicates change a gene in the direction of the mean, int16 of shape
        (n_targets, n_genes)."""
        found = self.changes.replicates
        if found is None:
            return np.zeros(self.codes.shape, dtype=np.int16)
        return np.where(self.changes.log2_fc > 0, found.n_up, found.n[:, None] - found.n_up).astype(
            np.int16
        )

    def genes_of_controls(self) -> pd.DataFrame:
        """Return a row for each gene: gene, mean, variance (of counts per COUNTS_PER_CELL),
        detected (share of control cells). Empty for a table of changes."""
        if self.changes.controls is None:
            return pd.DataFrame(columns=["gene", "mean", "variance", "detected"])
        table = self.changes.controls.copy()
        table.insert(0, "gene", np.array(self.genes, dtype=object))
        return table

    def perturbations(self) -> pd.DataFrame:
        """Return a row for each perturbation: pert, n_cells, up, down, none, left_out, split (None
        if it has too few effects), rows (in the dataset), remaining, failed (its knockdown, missing
        if unknown), replicates, agreement (the mean share of them that agree with an effect, NaN
        without).
        """
        splits = np.array([*SPLITS, None], dtype=object)  # -1 for the last
        codes = (("up", UP), ("down", DOWN), ("none", NONE), ("left_out", LEFT_OUT))
        whole = self.knockdown[self.knockdown["guide"] == ""].set_index("target")
        own = whole.reindex(self.groups.targets).reset_index()
        effect = np.isin(self.codes, (UP, DOWN))
        pairs, agree = effect.sum(axis=1) * self.n_replicates, (self.agreeing * effect).sum(axis=1)
        columns = {
            "pert": self.groups.targets,
            "n_cells": self.groups.n_cells,
            **{name: (self.codes == code).sum(axis=1) for name, code in codes},
            "split": pd.Series(splits[self.sample.pert_split], dtype=object),
            "rows": np.bincount(self.sample.rows["pert"], minlength=len(self.codes)),
            "remaining": own["remaining"],
            "failed": own["failed"],
            "replicates": self.n_replicates,
            "agreement": np.divide(agree, pairs, out=np.full(len(pairs), np.nan), where=pairs > 0),
        }
        return pd.DataFrame(columns)


def _categories(codes: np.ndarray, names: tuple[str, ...]) -> pd.Categorical:
    return pd.Categorical.from_codes(codes, pd.Index(names, dtype=object))


def label_screen(
    path: Path, settings: LabelSettings, say: Say, compare_each: CompareEach = compare_here
) -> ScreenLabels:
    """Return the labels of a file of cells.

    say: called with lines of progress. compare_each: runs the comparisons with the controls.

    Raise InputError for a file that is malformed (see `open_cells`, `read_counts`, `group_cells`)
    or of which no row is left, MissingPackage without anndata or pdex, and what `compare_each`
    raises.
    """
    with open_cells(path, settings.layer) as file:
        found = settings.read_conditions(file)
        handled = (*settings.across, *settings.within)
        found.refuse_unclear(str(path), handled, within=True)
        # errors are reported before the values are read
        groups, batch_column = group_cells(file, found, None, settings.groups), found.columns.batch
        if len(groups.confounded) == len(groups.targets):
            raise InputError(
                f"{path}: no perturbation shares values of {batch_column} with enough control"
                f" cells: its effects cannot be told from the batch's. If {batch_column} is no"
                " batch, name the column that is with --batch, or say --batch none"
            )
        say(f"reading {file.n_cells:,} cells × {file.n_genes:,} genes")
        counts = read_counts(file, settings.values)
        groups = group_cells(file, found, counts.totals, settings.groups)
        say(
            f"comparing {len(groups.targets):,} perturbations with {groups.n_control:,} control"
            " cells"
        )

        def say_share(share: float) -> None:
            say(f"{share:.0%} of the genes compared")

        batch = found.strata
        if batch is None and batch_column is not None:
            names = np.where(groups.of_cell == -2, "", texts(file.obs[batch_column]))
            batch = strata_of_batches(names, groups.of_cell == -1)
        design = build_design(groups, batch, counts, file.n_genes, settings.design)
        changes = compare_with_controls(file, groups, counts, say_share, compare_each, design)
    codes = label_pairs(changes, groups.targets, file.gene_names, settings.thresholds)
    codes[[groups.targets.index(pert) for pert in groups.confounded]] = LEFT_OUT
    compared = [i for i, pert in enumerate(groups.targets) if pert not in set(groups.confounded)]
    effects = float(np.isin(codes[compared], (UP, DOWN)).sum(axis=1).mean())
    return ScreenLabels(
        conditions=found,
        gene_names=file.gene_names,
        whole_numbers=counts.whole_numbers,
        groups=groups,
        changes=changes,
        codes=codes,
        sample=sample_pairs(codes, changes.fdr, settings.sampling),
        knockdown=knockdown_table(changes.guides, settings.most_remaining),
        compared_within=settings.within
        or ((batch_column,) if batch_column and batch is not None else ()),
        by_depth=design.strata is not design.batch,
        n_strata=1 if design.strata is None else int(design.strata.max()) + 1,
        calibration=(
            None
            if changes.mocks is None
            else calibrate(changes.mocks, settings.thresholds, effects, file.n_genes)
        ),
    )
