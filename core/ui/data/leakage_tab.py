"""Data, tab Spaces and leaks: what splits share, what reveals labels, and the baselines' scores."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pandas as pd
import streamlit as st

from core.audit.shared_symbols import Paralogs
from core.report.figures import gene_rows
from core.scoring.leakage import NOT_PROBED, LeakageAudit
from core.scoring.sentences import limits_text
from core.scoring.space_leaks import TASKS, UNITS, ProbedRows, describe_space
from core.stats.count_controls import CountControls
from core.stats.run_probe import LIMIT
from core.stats.space_probe import LIMITS
from core.texts import NO_BIOLOGY, number_text
from core.ui.shared import loaders, tables
from core.ui.shared.score_box import score_text
from core.ui.shared.shell import PageContext
from core.ui.shared.widgets import Number, as_text, show_captioned, show_empty, show_numbers

_CEILING = (
    "How well the vectors predict label shares, beside the noise ceiling, the best possible without seeing these labels. Four "
    "standard errors above it are a finding."
)
_SPEARMAN = (
    f"Rank correlation of the run's {{number}} with the {NO_BIOLOGY}, {{control}}, in the split where it is largest. Above 0.9 "
    "is a finding."
)
_SEEN = (
    f"AUROC over all rows, with its interval. A run is suspiciously good if the dataset's headline is {LIMIT:.2f} or more. It "
    f"is suspiciously wrong from {1 - LIMIT:.2f} downwards. Both also require the same order among rows from genes and "
    "perturbations of equal rates. That is a reason to look, not a proof."
)
_COUNT = st.column_config.NumberColumn(format="localized")


def show(context: PageContext) -> None:
    """Show the leakage audit of the chosen dataset, and how many rows its genes have."""
    if context.dataset is None:
        show_empty("There is no dataset yet.")
        return
    with st.spinner("Checking splits, spaces and runs for leaks …"):
        rows, audit = loaders.dataset_rows(context.dataset.id), loaders.leakage_audit(context.dataset.id)
    _show_findings(audit)
    _show_splits(audit)
    if audit.texts:
        st.markdown("**Texts**")
        lines = [{"pack": text.name, "found": text.describe()} for text in audit.texts]
        tables.show_table(pd.DataFrame(lines), "texts")
    _show_spaces(audit)
    _show_runs(audit)
    if rows["label"].notna().any():
        _show_counts(audit.counts)
        show_captioned(gene_rows.of_dataset(context.dataset.name, rows), "gene-counts")
    _show_row_counts(rows)


def _show_findings(audit: LeakageAudit) -> None:
    """Show every finding, or what was checked."""
    st.markdown("**Findings**")
    if not audit.findings:
        st.markdown(
            "None. No two splits share a perturbation or a target gene. These probes found no label in rows, texts, spaces and "
            "runs. No run copies the no-biology baseline."
        )
    for finding in audit.findings:
        st.markdown(f"**{as_text(finding.name)}**: {as_text(finding.what)}")
    st.caption(NOT_PROBED)
    for note in audit.notes:
        st.caption(as_text(note))


def _show_splits(audit: LeakageAudit) -> None:
    """Show what two splits share, and paralogs, which are not leaks."""
    if not audit.splits:
        return
    st.markdown("**Splits**")
    lines = [
        {
            "splits": f"{pair.a} and {pair.b}",
            "shared perturbations": len(pair.perts),
            "shared target genes": len(pair.genes),
            "in another case": len(pair.perts.other_case) + len(pair.genes.other_case),
            "under another name": len(pair.perts.aliases) + len(pair.genes.aliases),
        }
        for pair in audit.splits
    ]
    tables.show_table(pd.DataFrame(lines), "shared symbols", dict.fromkeys(list(lines[0])[1:], _COUNT))
    for pair in audit.splits:
        groups = {group.ortholog: group for group in (*pair.perts.paralogs, *pair.genes.paralogs)}
        if groups:
            text = "; ".join(_paralogs_text(group) for group in groups.values())
            st.caption(as_text(f"Different genes of {pair.a} and {pair.b} with the same ortholog, which is not a leak: {text}"))


def _paralogs_text(group: Paralogs) -> str:
    return f"{', '.join(group.a)} and {', '.join(group.b)} ({group.ortholog})"


def _show_spaces(audit: LeakageAudit) -> None:
    """Show the probes of every space, one line for each axis and task, and the weakest leak that they can find."""
    if not audit.spaces:
        return
    st.markdown("**Spaces**")
    found = pd.DataFrame([{"space": space.name, "found": describe_space(space)} for space in audit.spaces])
    tables.show_table(found, "findings in spaces")
    lines = [_probe_line(space.name, probe) for space in audit.spaces for probe in space.probes]
    if lines:
        tables.show_table(pd.DataFrame(lines), "probes of spaces", _probe_columns())
    st.caption("The weakest leak that would be found, tested by planting leaks. A weaker one would pass.")
    power = [{"probe": line.describe()} for line in loaders.probe_power(audit.dataset.id)]
    tables.show_table(pd.DataFrame(power, columns=["probe"]), "power of the probes")


def _probe_line(space: str, probe: ProbedRows) -> dict[str, object]:
    by_kind = {score.kind: score.value for score in probe.within.scores}
    return {
        "space": space,
        "vectors of": UNITS[probe.axis][1],
        "task": probe.task,
        "rows": probe.split,
        "shares predicted": probe.shares.correlation,
        "noise ceiling": probe.shares.ceiling,
        "within, by similarity": by_kind.get("similarity"),
        "within, by a column": by_kind.get("column"),
    }


def _probe_columns() -> dict[str, Any]:
    limits = ", ".join(f"{LIMITS[task, 'similarity']:.2f} for {task}" for task in TASKS)
    columns = ", ".join(f"{LIMITS[task, 'column']:.2f} for {task}" for task in TASKS)
    within = (
        "AUROC of which perturbations moved a gene (or which genes a perturbation moved), from the vectors alone. The smaller "
        "of the values within genes and within perturbations. Suspect from {limits}."
    )
    helps = {
        "shares predicted": _CEILING,
        "noise ceiling": "The split-half reliability of the shares. Empty where sampling fixed the shares.",
        "within, by similarity": within.format(limits=limits),
        "within, by a column": within.format(limits=columns),
    }
    return {name: st.column_config.NumberColumn(format="%.3f", help=text) for name, text in helps.items()}


def _show_runs(audit: LeakageAudit) -> None:
    """Show the score of every run beside the controls that its ranking may copy."""
    if not audit.runs:
        return
    st.markdown("**Runs**")
    lines = [
        {
            "run": run.name,
            "DE": score_text(check.score.de),
            "DIR": score_text(check.score.dir),
            "scored": check.score.scored if check.score.n_labelled else None,
            "like count-only": _largest(found.de for found in check.likeness.values()),
            "like rarer gene": _largest(found.up for found in check.likeness.values()),
        }
        for run, check in audit.runs
    ]
    helps = {
        "like count-only": _SPEARMAN.format(number="P(DE)", control="which uses only how often each gene was measured"),
        "like rarer gene": _SPEARMAN.format(number="P(up | DE)", control="here the rule that rarely measured genes go up"),
    }
    tables.show_table(
        pd.DataFrame(lines),
        "likeness of runs",
        {
            **{name: st.column_config.TextColumn(help=_SEEN) for name in ("DE", "DIR")},
            **{name: st.column_config.NumberColumn(format="%+.2f", help=text) for name, text in helps.items()},
        },
    )


def _largest(correlations: Iterable[float]) -> float | None:
    """Return the correlation farthest from 0, to two decimals; None if all are undefined."""
    largest = max((value for value in correlations if value == value), key=abs, default=None)
    return None if largest is None else round(largest, 2) + 0.0  # adding 0 makes -0 a 0


def _show_counts(counts: CountControls) -> None:
    """Show the score of the no-biology baseline."""
    st.markdown(
        f"**The {NO_BIOLOGY}**  \nHow far the number of times that a gene was measured predicts its label. Use such a score as "
        "a control for a model, never as its input."
    )
    controls = (
        ("DE, count-only", counts.count_only_de, "AUROC of the number of times that each gene was measured."),
        ("DE, without genes measured once", counts.count_only_de_without_singletons, "The same on the other rows."),
        (
            "DIR, rarer gene",
            counts.rarer_up_dir,
            "AUROC of the rule that genes measured less often go up.",
        ),
    )
    numbers = [Number(name, number_text(found.value), meaning, limits_text(found.shown)) for name, found, meaning in controls]
    show_numbers("row-counts", numbers, 3)
    none = "all are" if counts.singletons == counts.singletons_none else f"{counts.singletons_none:,} of them are"
    st.caption(
        f"{counts.singletons:,} labelled rows are of genes measured once; {none} labelled none. "
        "Chance is 0.5. Intervals allow for shared perturbations and genes."
    )


def _show_row_counts(rows: pd.DataFrame) -> None:
    """Show per split how many genes have how many rows."""
    st.markdown("**Genes by how often they were measured**")
    counts = rows.groupby(["split", "gene"]).size().reset_index(name="rows")
    counts["rows of the gene"] = counts["rows"].clip(upper=20).astype(str).where(counts["rows"] < 20, "20 or more")
    table = counts.pivot_table(index="split", columns="rows of the gene", values="gene", aggfunc="count", fill_value=0)
    order = sorted(table.columns, key=lambda name: int(name.split()[0]))
    tables.show_table(table[order].reset_index(), "genes by row count")
