"""The leakage audit of a dataset, from parts that are cached separately: a new run does not repeat
the probes of spaces."""

from __future__ import annotations

from core.features.leakage import pack_texts, run_leaks, space_leaks
from core.features.leakage import result as leakage
from core.features.leakage.label_statements import TextCheck
from core.features.leakage.leak_power import LeakPower, leak_power
from core.features.leakage.result import LeakageAudit
from core.features.leakage.row_leaks import RowFinding, check_rows
from core.features.leakage.run_leaks import RunCheck
from core.features.leakage.shared_symbols import SplitOverlap, compare_splits, read_symbol_tables
from core.features.leakage.space_leaks import SpaceCheck
from core.stats.count_controls import CountControls
from core.ui.loaders.cache import cache_by
from core.ui.loaders.records import (
    all_datasets,
    all_spaces,
    dataset_rows,
    predicting_runs,
    row_index,
    space_vectors,
)
from core.ui.loaders.scores import run_score, scored_rows
from core.ui.server_workspace import read_workspace


def leakage_audit(dataset: str) -> LeakageAudit:
    """Return every check of a dataset (id): its splits, all spaces, and its runs."""
    [record] = [each for each in all_datasets() if each.id == dataset]
    counts, rows = _check_labels(dataset)
    splits, notes, texts = _check_splits_and_texts(dataset)
    return LeakageAudit(
        record,
        counts,
        splits,
        rows,
        texts,
        tuple(_space_check(dataset, space.name) for space in all_spaces()),
        tuple(_run_check(run.id) for run in predicting_runs() if run.dataset == dataset),
        notes,
    )


def leaks(dataset: str) -> list[tuple[str, str]]:
    """Return where a dataset (id) leaks, and how."""
    return [(leak.name, leak.what) for leak in leakage_audit(dataset).findings]


@cache_by("datasets", entries=4)
def probe_power(dataset: str) -> tuple[LeakPower, ...]:
    """Return the weakest leak of a space that the probes find on a dataset (id). It takes
    seconds."""
    return leak_power(row_index(dataset))


@cache_by("datasets", entries=4)
def _check_labels(dataset: str) -> tuple[CountControls, tuple[RowFinding, ...]]:
    """Return what the counts of a dataset's rows reveal, and the leaks in the rows."""
    rows = dataset_rows(dataset)
    return leakage.check_counts(rows), check_rows(rows)


@cache_by("datasets", "spaces", entries=4)
def _check_splits_and_texts(
    dataset: str,
) -> tuple[tuple[SplitOverlap, ...], tuple[str, ...], tuple[TextCheck, ...]]:
    """Return what the splits of a dataset share, splits that could not be compared, and what texts
    of packs say of its rows."""
    [record] = [each for each in all_datasets() if each.id == dataset]
    tables = read_symbol_tables(read_workspace(), record.organism)
    overlaps = tuple(compare_splits(dataset_rows(dataset), tables))
    return overlaps, tables.notes, pack_texts.check_all(read_workspace(), row_index(dataset))


@cache_by("datasets", "spaces", entries=100)
def _space_check(dataset: str, space: str) -> SpaceCheck:
    """Return the probe of a space (name) on a dataset (id)."""
    [record] = [each for each in all_spaces() if each.name == space]
    splits = dataset_rows(dataset)["split"].to_numpy()
    return space_leaks.check_space(
        record, lambda: space_vectors(dataset, space), row_index(dataset), splits
    )


@cache_by("run:{0}", "datasets", entries=100)
def _run_check(run: str) -> RunCheck:
    return run_leaks.check_run(scored_rows(run), run_score(run))
