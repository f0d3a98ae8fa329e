"""What pages load from the store: records, frames and the numbers made from them, each cached until its rows change.

cache     one reading of the store's counters a page run, and the caches that are keyed by them
records   datasets, runs, imports, changes, presets
labels    samples of texts that people read, and what they answered
rows      the rows of one run: filters, lists, and all that the page Rows shows of one row
texts     the texts of all runs of a dataset that hold a phrase
scores    scores, controls and protocols of runs
more_scores  of each gene or perturbation, of three classes, by distance to the training rows
benchmarks  benchmarks that were started here, and what they found
asked_again  rows that were asked again, and how sure judges are
attributions  which evidence moved runs, as it was asked here
jobs      background jobs other than runs
leakage   what splits share, and which rows, texts, spaces and runs give labels away
spaces    gene spaces, knowledge packs and what is computed from them
"""

from core.ui.shared.loaders.asked_again import again_report, askings_of_row, seed_report
from core.ui.shared.loaders.attributions import attribution_report, count_done_arms, saved_attributions
from core.ui.shared.loaders.benchmarks import benchmark_plan, benchmark_report, saved_benchmarks
from core.ui.shared.loaders.cache import refresh, run_version, versions_of
from core.ui.shared.loaders.jobs import other_jobs
from core.ui.shared.loaders.labels import labels, samples, texts_by_place
from core.ui.shared.loaders.leakage import leakage_audit, probe_power
from core.ui.shared.loaders.more_scores import (
    class_scores,
    distance_scores,
    distances,
    group_scores,
    labels_at_thresholds,
    labels_of_pairs,
)
from core.ui.shared.loaders.records import (
    all_datasets,
    all_imports,
    all_presets,
    all_runs,
    all_walks,
    chain_findings,
    dataset_counts,
    dataset_notes,
    dataset_row,
    dataset_rows,
    default_dataset,
    is_training_row,
    labelled_counts,
    latest_changes,
    ledger_entries,
    ledger_lines,
    predicting_runs,
    rejected_rows,
    settle_runs,
    tokens_by_run,
    walk_stops,
)
from core.ui.shared.loaders.rows import (
    RowDetails,
    debate_audit,
    filter_choices,
    flag_counts,
    gene_description,
    list_rows,
    matching_ids,
    p_de_values,
    read_ahead,
    row_details,
    runs_with_row,
    says_all_or_nothing,
    shared_row_counts,
    symbol_facts,
    symbol_rows,
    text_counts,
)
from core.ui.shared.loaders.scores import (
    cell_evaluation,
    comparison,
    count_score,
    ids_unlike,
    other_scores,
    protocol_sentences,
    ranks_moved,
    run_controls,
    run_rows,
    run_score,
    same_runs,
    scored_rows,
    space_controls,
    standing,
)
from core.ui.shared.loaders.spaces import (
    all_packs,
    all_spaces,
    cosine_cache,
    knn_contents,
    most_similar,
    principal_axes,
    prior_cache,
    row_index,
    space_coverage,
    space_matches,
    space_vectors,
)
from core.ui.shared.loaders.texts import search_texts

__all__ = [
    "RowDetails",
    "again_report",
    "all_datasets",
    "all_imports",
    "all_packs",
    "all_presets",
    "all_runs",
    "all_spaces",
    "all_walks",
    "askings_of_row",
    "attribution_report",
    "benchmark_plan",
    "benchmark_report",
    "cell_evaluation",
    "chain_findings",
    "class_scores",
    "comparison",
    "cosine_cache",
    "count_done_arms",
    "count_score",
    "dataset_counts",
    "dataset_notes",
    "dataset_row",
    "dataset_rows",
    "debate_audit",
    "default_dataset",
    "distance_scores",
    "distances",
    "filter_choices",
    "flag_counts",
    "gene_description",
    "group_scores",
    "ids_unlike",
    "is_training_row",
    "knn_contents",
    "labelled_counts",
    "labels",
    "labels_at_thresholds",
    "labels_of_pairs",
    "latest_changes",
    "leakage_audit",
    "ledger_entries",
    "ledger_lines",
    "list_rows",
    "matching_ids",
    "most_similar",
    "other_jobs",
    "other_scores",
    "p_de_values",
    "predicting_runs",
    "principal_axes",
    "prior_cache",
    "probe_power",
    "protocol_sentences",
    "ranks_moved",
    "read_ahead",
    "refresh",
    "rejected_rows",
    "row_details",
    "row_index",
    "run_controls",
    "run_rows",
    "run_score",
    "run_version",
    "runs_with_row",
    "same_runs",
    "samples",
    "saved_attributions",
    "saved_benchmarks",
    "says_all_or_nothing",
    "scored_rows",
    "search_texts",
    "seed_report",
    "settle_runs",
    "shared_row_counts",
    "space_controls",
    "space_coverage",
    "space_matches",
    "space_vectors",
    "standing",
    "symbol_facts",
    "symbol_rows",
    "text_counts",
    "texts_by_place",
    "tokens_by_run",
    "versions_of",
    "walk_stops",
]
