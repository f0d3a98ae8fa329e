"""cell-eval's table for a file of predicted cells, stored with the run made from the file."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path

from core.actions.workspace import Workspace
from core.cells.cell_eval import CellEvaluation, evaluate_cells
from core.cells.cell_formats import hash_cells, is_cell_file
from core.cells.challenge_score import BaselineScores, score_from_baseline
from core.cells.evaluation_cells import CellChoice
from core.cells.predicted_expression import ComparedCellOptions
from core.cells.strata import within_setting
from core.datasets.archives import SUFFIX, predictions_in
from core.errors import InputError, NotFound
from core.fields.record import check_values, setting
from core.importing.other_formats import refuse_other_format
from core.store import Cursor, cell_evaluations, changes, datasets, runs
from core.store.cell_evaluations import StoredEvaluation
from core.store.runs import Run

_COMMAND = "cell-eval takes minutes and both files, so the page names the command"


@dataclass(frozen=True, slots=True)
class EvaluationOptions:
    """The comparison, and where its table is stored. run: the run made from the file, by name or id.

    dataset: finds that run by the file instead; without either the table is not stored. cells: how both files are read; real is
    needed. within: columns of obs inside of whose values cells are compared. sample: cells drawn of each perturbation, None for
    all.
    """

    cells: ComparedCellOptions = field(default_factory=ComparedCellOptions)
    run: str | None = setting(None, "The run made from the file; the table is stored with it.", not_on_form=_COMMAND)
    dataset: str | None = setting(None, "The run made from the file, given by its dataset.", not_on_form=_COMMAND)
    within: tuple[str, ...] = within_setting(not_on_form=_COMMAND)
    sample: int | None = setting(
        None, "Compare this many cells of each perturbation, drawn at random.", least=1, not_on_form=_COMMAND
    )


def evaluate_predictions(workspace: Workspace, path: Path, options: EvaluationOptions) -> tuple[CellEvaluation, Run | None]:
    """Return cell-eval's table for a file, and the run with which it is stored, replacing an earlier table.

    Raise what `evaluate_cells` raises, NotFound for the run or dataset, InputError for a table instead of cells, a sample below
    1, and a run that was made from another file.
    """
    is_archive = path.suffix.lower() == SUFFIX
    if not (is_archive or is_cell_file(path)):
        refuse_other_format(path, path.name)
        raise InputError(f"{path}: cell-eval compares cells, expected AnnData (.h5ad), not a table of predicted changes")
    check_values(options)
    with predictions_in(path) if is_archive else nullcontext(path) as cells:
        return _evaluate(workspace, path, CellChoice(cells, options.cells, options.sample, within=options.within), options)


def score_evaluation(workspace: Workspace, run: str, baseline: str) -> BaselineScores:
    """Return cell-eval's score of a run against a baseline run, from the tables stored with both.

    Raise NotFound for a run without a table, InputError for tables against other real cells, and what `score_from_baseline`
    raises.
    """
    with workspace.store.read() as db:
        tables = [_require_table(db, runs.find_predicting(db, name)) for name in (run, baseline)]
    if tables[0].real_sha256 != tables[1].real_sha256:
        files = " and ".join(each.real_file for each in tables)
        raise InputError(f"{run} and {baseline}: compared with different real cells ({files}), expected the same file")
    return score_from_baseline(*(CellEvaluation.from_json(each.content) for each in tables))


def _require_table(db: Cursor, run: Run) -> StoredEvaluation:
    found = cell_evaluations.find(db, run.id)
    if found is None:
        raise NotFound(f"run {run.name}: has no table of cell-eval; make one with `cells evaluate FILE --run RUN`")
    return found


def _evaluate(
    workspace: Workspace, path: Path, choice: CellChoice, options: EvaluationOptions
) -> tuple[CellEvaluation, Run | None]:
    """path: the file that the run was made from, which may be an archive of the cells of `choice`."""
    if options.run is None and options.dataset is None:
        return evaluate_cells(choice), None
    workspace.refuse_if_read_only("cells evaluate", str(path))
    sha256 = hash_cells(path)
    run = _find_run(workspace, path, sha256, options)
    found = evaluate_cells(choice)
    assert options.cells.real is not None
    real_sha256 = hash_cells(options.cells.real)
    stored = StoredEvaluation(run.id, sha256, options.cells.real.name, real_sha256, found.as_json(), workspace.settings.author)
    with workspace.change("cells evaluate", run.name) as (db, detail):
        cell_evaluations.put(db, stored)
        changes.bump(db, "runs", f"run:{run.id}")
        detail |= {"run": run.id, "file": path.name, "real_file": stored.real_file, "cell_eval": found.version}
    return found, run


def _find_run(workspace: Workspace, path: Path, sha256: str, options: EvaluationOptions) -> Run:
    """Return the named run, or the newest one of the dataset that was made from the file."""
    with workspace.store.read() as db:
        dataset = None if options.dataset is None else datasets.find(db, options.dataset)
        if options.run is not None:
            run = runs.find_predicting(db, options.run)
            if run.spec.get("file_sha256") != sha256 or (dataset is not None and run.dataset != dataset.id):
                made_from = run.spec.get("file", "no file")
                raise InputError(f"{path}: run {run.name} was made from {made_from}, expected the run of this file")
            return run
        assert dataset is not None
        made = [run for run in runs.list_all(db, dataset.id) if run.spec.get("file_sha256") == sha256]
    if not made:
        raise InputError(
            f"{path}: no run of dataset {dataset.name} was made from this file; make one with `cells predictions`, or leave out "
            "--dataset"
        )
    return made[-1]
