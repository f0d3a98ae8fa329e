"""What a file of cells holds, and what was made of it, as results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from core.base.result import LabelMarks, Summary
from core.base.texts import list_some
from core.features.cells.confounders import DIFFERS
from core.features.cells.groups import MIN_CELLS
from core.features.cells.screen import NOT_SHRUNK, Description

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
