"""What a file of cells holds, and what was made of it, as results."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from core.base.result import LabelMarks, Summary
from core.base.texts import list_some
from core.features.cells.groups import MIN_CELLS
from core.features.cells.screen import NOT_SHRUNK, Description

_SHOWN = 8
_SHOWN_OF_RECORD = (
    *("columns", "perturbations", "genes", "cells", "control_cells", "failed_guides", "note"),
    *("within", "strata", "test", "replicates", "calibration", "notes"),
)
CONFOUNDED = (
    "confounded: perturbations that share too few cells of their batches with controls, and get no"
    " labels"
)


def describe(found: Description) -> Summary:
    """Return the content of a file and the automatic choices."""
    columns, groups, names = found.conditions.columns, found.groups, found.gene_names
    how = {
        name: "given" if name in columns.given else "found by name"
        for name in ("perturbation", "control", "batch", "guide")
    }
    sizes = sorted(groups.n_cells.tolist())
    few = sum(n < MIN_CELLS for n in sizes)
    inside = (
        ", inside of which cells are compared"
        if (found.batches or 0) > 1 and not found.within
        else ""
    )
    batches = "" if found.batches is None else f", {found.batches:,} batches{inside}"
    several = list_some(sorted(names.ambiguous), _SHOWN)
    lines = [
        f"perturbation  {columns.perturbation} ({how['perturbation']})"
        + (f"; could also be {', '.join(columns.others)}" if columns.others else ""),
        f"control       {columns.control} ({how['control']}), {groups.n_control:,} cells",
        f"batch         {columns.batch or 'none'}"
        + (f" ({how['batch']}){batches}" if columns.batch else ""),
        f"guide         {columns.guide or 'none'}"
        + (f" ({how['guide']})" if columns.guide else ""),
        f"gene names    {names.column or 'index'} of var"
        + (
            f"; {len(names.ambiguous):,} names of several genes, which go by the index ({several})"
            if several
            else ""
        ),
        *found.conditions.lines(),
        f"perturbations of one gene: {len(sizes):,}, with {sizes[0]:,} to {sizes[-1]:,} cells",
    ]
    if few:
        lines.append(f"perturbations with fewer than {MIN_CELLS} cells: {few:,}")
    counted = (
        ("perturbed genes that are not among the genes", groups.unknown),
        ("perturbations with cells in batches without controls", groups.without_controls),
        (CONFOUNDED, groups.confounded),
    )
    lines += [f"{what}: {len(of):,} ({list_some(of, _SHOWN)})" for what, of in counted if of]
    sentence = f"{len(groups.of_cell):,} cells × {len(names.names):,} genes"
    return Summary("What the file holds", sentence, _facts_of(found), tuple(lines))


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
    lines += [*comparison_lines(record), *calibration_lines(record)]
    most = record["settings"]["most_remaining"]
    counted = (
        ("perturbations of several genes, left out", left_out["perturbations of several genes"]),
        ("perturbations with few cells, left out", left_out["perturbations with few cells"]),
        (CONFOUNDED, confounded),
        ("perturbed genes that are not among the genes", record["targets_not_among_the_genes"]),
        (
            "perturbations with cells in batches without controls",
            record["perturbations_in_batches_without_controls"],
        ),
        (
            f"failed guides, which leave more than {most:.0%} of their target's expression",
            record["failed_guides"],
        ),
    )
    lines += [
        f"{what}: {len(names):,} ({list_some(names, _SHOWN)})" for what, names in counted if names
    ]
    for what in ("unassigned cells", "cells that look like controls", "cells without counts"):
        if left_out.get(what):
            lines.append(f"{what}, left out: {left_out[what]:,}")
    lines += [
        f"differs between controls and perturbed cells: {each}" for each in record["confounders"]
    ]
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


def comparison_lines(record: Mapping[str, Any]) -> list[str]:
    """Return lines on the strata of the comparison and on the replicates."""
    lines = []
    inside = [*record["within"], *(["depth"] if record["by_depth"] else [])]
    if inside:
        lines.append(f"compared inside of {record['strata']:,} strata of {' and '.join(inside)}")
    if not record["cells"]:
        return lines
    found = record["replicates"]
    if found is None:
        asked = record["settings"]["design"]["cells_alone"]
        why = (
            "replicates not tested, as asked"
            if asked
            else "no replicates: too few guides or batches"
        )
        return [*lines, f"{why}; labels rest on cells alone"]
    degrees = found["degrees_of_freedom"]
    lines.append(
        f"each effect is also one between {found['kind']}s: t test of pseudobulks, "
        f"{f'{degrees:,.0f}' if degrees < 1_000 else 'more than 1,000'} degrees of freedom"
    )
    if found["agreement"] is not None:
        lines.append(
            f"{found['agreement']:.0%} of a perturbation's {found['kind']}s agree with an effect; "
            f"all do in {found['all_agree']:.0%}"
        )
    return lines


def calibration_lines(record: Mapping[str, Any]) -> list[str]:
    """Return lines on false effects from mock perturbations; none for a table, which has no
    cells."""
    if not record["cells"]:
        return []
    found = record["calibration"]
    if found is None:
        return ["false effects: not known, too few controls for mock perturbations"]
    guides = f", of {found['guides']:,} guides at most" if found["guides"] else ""
    lines = [
        (
            f"false effects: {found['false_effects']:.2f} in each of {found['mocks']:,} mock"
            f" perturbations ({found['cells']:,} control cells{guides}; {found['genes']:,} of"
            f" {found['of_genes']:,} genes), beside {found['real_effects']:.1f} in a real one"
        ),
        (
            f"expected share of false effects: {found['false_share']:.1%} (nominal"
            f" {found['nominal']:.0%})"
        ),
    ]
    marks = LabelMarks(found["false_share"], found["nominal"])
    return [*lines, marks.sentence] if marks.marked else lines
