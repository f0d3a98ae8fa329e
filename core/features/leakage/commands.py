"""The audit commands: audit debate, audit leakage."""

from __future__ import annotations

import numpy as np
import typer
from numpy.typing import NDArray

from core.base.errors import InputError
from core.cli.base import show_result
from core.cli.names import DatasetName, RunName
from core.features.leakage import pack_texts
from core.features.leakage.leak_power import leak_power
from core.features.leakage.result import LeakageAudit, check_counts
from core.features.leakage.row_leaks import check_rows
from core.features.leakage.run_leaks import check_run
from core.features.leakage.shared_symbols import compare_splits, read_symbol_tables
from core.features.leakage.space_leaks import SpaceCheck, check_space
from core.runs import component_loader
from core.runs.workspace import Workspace
from core.scoring.debate_audit import load_audit
from core.scoring.run_scores import add_count_controls, score_run, scored_rows
from core.store import pairs, predictions, runs, spaces
from core.store.datasets import Dataset
from core.store.spaces import SpaceRecord
from core.transfer.row_index import RowIndex

app = typer.Typer(no_args_is_help=True)


@app.command()
def debate(context: typer.Context, run: RunName) -> None:
    """Find out whether a run was a debate: briefs that answer instead of arguing, rows without an
    argument, no verdict."""
    with context.obj.store.read() as db:
        found = runs.find(db, run)
        result = load_audit(db, found.id)
    if not result.roles:
        raise InputError(
            f"audit debate {run}: method {found.method}, which writes no briefs; expected a debate"
        )
    show_result(result)


@app.command()
def leakage(
    context: typer.Context,
    dataset: DatasetName = None,
) -> None:
    """Find what splits share, texts, spaces and runs that have seen labels, and what the no-biology
    baseline scores."""
    chosen = component_loader.default_dataset(context.obj, dataset)
    index = component_loader.load_index(context.obj, chosen)
    tables = read_symbol_tables(context.obj, chosen.organism)
    with context.obj.store.read() as db:
        rows, known_spaces = pairs.frame(db, chosen.id), spaces.list_all(db)
        known_runs = {run.id: run for run in runs.list_predicting(db, chosen.id)}
        frames = {key: add_count_controls(predictions.frame(db, key), rows) for key in known_runs}
    splits = rows["split"].to_numpy()
    predicted = [
        scored_rows(run, known_runs.get, frames[run.id], index, chosen)
        for run in known_runs.values()
    ]
    show_result(
        LeakageAudit(
            chosen,
            check_counts(rows),
            tuple(compare_splits(rows, tables)),
            check_rows(rows),
            pack_texts.check_all(context.obj, index),
            tuple(
                _check_space(context.obj, chosen, index, splits, space) for space in known_spaces
            ),
            tuple(check_run(each, score_run(each)) for each in predicted),
            tables.notes,
            leak_power(index) if known_spaces else (),
        ),
    )


def _check_space(
    workspace: Workspace,
    dataset: Dataset,
    index: RowIndex,
    splits: NDArray[np.object_],
    record: SpaceRecord,
) -> SpaceCheck:
    return check_space(
        record,
        lambda: component_loader.load_spaces(workspace, index, dataset, [record.name])[0],
        index,
        splits,
    )
