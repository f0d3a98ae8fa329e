"""kNN, fusion and decomposition: from the store's runs and spaces to runs again."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from dataclasses import replace as replace_in
from typing import Any

import numpy as np
import pandas as pd

from core.actions import run_writer
from core.actions import spaces as space_actions
from core.actions.run_folders import remove_folder
from core.actions.workspace import Workspace
from core.engine.dependencies import pairs_of
from core.engine.spec import dataset_sha256
from core.errors import InputError, StateError
from core.methods import fusion, knn, recovered
from core.stats.arrays import Bools, Codes, Floats
from core.stats.scores_and_labels import scores_from_probabilities
from core.store import Cursor, datasets, pairs, predictions, runs, spaces
from core.store.datasets import Dataset
from core.store.runs import Run
from core.transfer.fusion import Component, Reference, component_of, fuse, percentiles_of, weights_of
from core.transfer.fusion_decomposition import decompose_fusion
from core.transfer.knn_settings import KnnSettings, read_knn_settings
from core.transfer.prior_provenance import Provenance, explain_prior
from core.transfer.protocols import Evaluation, EvaluationProtocol, KnnPrediction, evaluate, predict_priors
from core.transfer.row_index import RowIndex, build_row_index
from core.transfer.similarity import Space, space_over
from core.types import Flag, RowResult

UNLABELLED = "no labels"  # what test rows are held against


@dataclass(frozen=True, slots=True, eq=False)
class Prepared:
    """A plan's priors: of the rows at these positions of the layout, and how long they took from vectors on."""

    layout: RowIndex
    rows: Codes
    predicted: KnnPrediction
    seconds: float

    def evaluation(self) -> Evaluation:
        """The score of the priors and of their null; NaN without labels."""
        return evaluate(self.layout.labels[self.rows], self.layout.rows.take(self.rows), self.predicted)


@dataclass(frozen=True, slots=True)
class Fusion:
    """What to fuse: ids of runs, and one weight a run of `others` for DE and for DIR; the base takes what is left of 1.

    references: run → the run on labelled rows that its percentiles are taken against, for `reference` "train"; a kNN has
    its own priors under folds.
    """

    base: str
    others: tuple[str, ...]
    w_de: tuple[float, ...]
    w_dir: tuple[float, ...]
    reference: Reference = "population"
    references: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, weights in (("w_de", self.w_de), ("w_dir", self.w_dir)):
            if len(weights) != len(self.others):
                raise InputError(f"{name}: got {len(weights)} weights for {len(self.others)} runs; expected one each")


def layout_of(workspace: Workspace, dataset: Dataset) -> RowIndex:
    """The rows of a dataset as codes."""
    with workspace.store.read() as db:
        frame = pairs.frame(db, dataset.id)
    labels = frame["label"].astype(object).where(frame["label"].notna(), None)
    return build_row_index(frame["pair_id"].tolist(), frame["pert"].tolist(), frame["gene"].tolist(), labels.to_numpy())


def spaces_over(workspace: Workspace, layout: RowIndex, dataset: Dataset, names: Sequence[str]) -> list[Space]:
    """The spaces of these names over a layout's symbols; one built from this dataset's labels can be rebuilt per fold."""
    with workspace.store.read() as db:
        records = [spaces.find(db, name) for name in names]
    table = space_actions.orthologs(workspace)
    found = []
    for space in records:
        vectors = space_actions.load(workspace, space)

        def rebuild(visible: Bools, of: spaces.SpaceRecord = space) -> Floats:
            rows = layout.known_positions[visible]
            symbols = layout.symbols
            pert, gene = ([symbols[code] for code in axis[rows]] for axis in (layout.rows.pert, layout.rows.gene))
            made = space_actions.coresponse_of((pert, gene, list(layout.labels[rows])), of.name, of.spec)
            return space_over(made, symbols, table).columns

        can_rebuild = space.kind == "coresponse" and space.built_from == dataset.name
        found.append(space_over(vectors, layout.symbols, table, rebuild if can_rebuild else None))
    return found


def prepare(workspace: Workspace, dataset: Dataset, plan: KnnSettings, pair_ids: Sequence[str] | None = None) -> Prepared:
    """The priors of a plan on a dataset: of these rows, or else of its labelled ones, under `test` of its unlabelled ones."""
    layout = layout_of(workspace, dataset)
    test = plan.protocol.kind == "test"
    mine = np.flatnonzero([(label is None) == test for label in layout.labels])
    rows = mine if pair_ids is None else layout.positions_of(pair_ids)
    if not len(rows) or not len(layout.known):
        lacking = "unlabelled rows to predict" if test and len(layout.known) else "labelled rows to learn from"
        raise InputError(f"knn under {plan.protocol.kind}: this dataset has no {lacking}")
    over = spaces_over(workspace, layout, dataset, plan.spaces)
    start = time.perf_counter()
    evaluated = UNLABELLED if test else dataset.name
    found = predict_priors(plan.protocol, layout.rows.take(rows), layout.known, over, plan.setting, evaluated)
    return Prepared(layout, rows, found, time.perf_counter() - start)


@dataclass(frozen=True, slots=True, eq=False)
class Neighbours:
    """Where one row's priors come from: provenance, and pair ids and labels of its neighbours in the same order."""

    plan: KnnSettings
    why: Provenance
    pair_ids: list[str]
    labels: list[str]


def neighbours_of(
    workspace: Workspace, dataset: Dataset, pair_id: str, plan: KnnSettings, *, chosen: bool = True, without: Sequence[str] = ()
) -> Neighbours:
    """The labelled rows behind one row's priors; `without` some of them, by id. A row without a label sees them all, and
    so does its plan unless `chosen` says that the protocol was asked for."""
    layout = layout_of(workspace, dataset)
    row = int(layout.positions_of([pair_id])[0])
    if layout.labels[row] is None and not chosen:
        plan = replace_in(plan, protocol=EvaluationProtocol("test"))
    query = layout.rows.take(np.array([row]))
    over = spaces_over(workspace, layout, dataset, plan.spaces)
    evaluated = UNLABELLED if layout.labels[row] is None else dataset.name
    [view] = predict_priors(plan.protocol, query, layout.known, over, plan.setting, evaluated).groups
    left_out = np.flatnonzero(np.isin(layout.known_positions[view.known_positions], layout.positions_of(without)))
    codes = int(query.pert[0]), int(query.gene[0])
    why = explain_prior(codes, view.known, view.similar, plan.setting.weighting, view.parts, left_out)
    at = layout.known_positions[view.known_positions[why.neighbours]]
    return Neighbours(plan, why, [layout.pair_ids[i] for i in at], [str(layout.labels[i]) for i in at])


def save_knn(
    workspace: Workspace,
    dataset: Dataset,
    plan: KnnSettings,
    name: str,
    *,
    replace: bool = False,
    prepared: Prepared | None = None,
) -> Run:
    """A plan's priors, `prepared` or made now, as a run; the existing one where its specification is the same."""
    workspace.refuse_if_read_only("knn", name)
    with workspace.store.read() as db:
        origin = run_writer.made_here(dataset.id, name, "knn", {**plan.as_spec(), **_made_from(db, dataset.id, plan)})
        there = run_writer.same_or_refused(db, workspace, origin, replace=replace)
    if there is not None:
        return there
    found = prepared or prepare(workspace, dataset, plan)
    return _save(
        workspace, origin, run_writer.audit_rows(knn.results(found.layout, found.rows, found.predicted, plan)), replace=replace
    )


def _made_from(db: Cursor, dataset: str, plan: KnnSettings) -> dict[str, Any]:
    """What a kNN's priors come from besides its plan."""
    return {"space_sha256": hashes_of(db, plan.spaces), "labels_sha256": space_actions.labelled_rows(db, dataset)[1]}


def hashes_of(db: Cursor, names: Sequence[str]) -> dict[str, str]:
    """Gene space → SHA-256 of its symbols and vectors. Raises NotFound for one that is not there."""
    return {name: spaces.find(db, name).sha256 for name in names}


def save_fusion(workspace: Workspace, wanted: Fusion, name: str, *, replace: bool = False) -> Run:
    """A fusion of runs as a run on the base's rows; the existing one where its specification is the same."""
    workspace.refuse_if_read_only("fuse", name)
    with workspace.store.read() as db:
        base, *others = (runs.find(db, run) for run in (wanted.base, *wanted.others))
        rows = predictions.frame(db, base.id)
        ids = [run.id for run in others]
        spec: dict[str, Any] = {"base": base.id, "with": ids, "w_de": list(wanted.w_de), "w_dir": list(wanted.w_dir)}
        spec |= {"reference": wanted.reference, "reference_runs": dict(wanted.references)}
        origin = run_writer.made_here(base.dataset, name, "fusion", spec, (base.id, *ids))
        there = run_writer.same_or_refused(db, workspace, origin, replace=replace)
    if there is not None:
        return there
    results = _fused(workspace, wanted, base, others, rows)
    return _save(
        workspace, replace_in(origin, track=base.track, model=base.model), run_writer.audit_rows(results), replace=replace
    )


def _fused(workspace: Workspace, wanted: Fusion, base: Run, others: Sequence[Run], rows: pd.DataFrame) -> list[RowResult]:
    weights = weights_of(wanted.w_de, wanted.w_dir)
    components = components_of(workspace, [base, *others], rows["pair_id"].tolist(), wanted)
    found = percentiles_of(components, wanted.reference)
    return fusion.results(_base_rows(rows), components, found, weights, fuse(found, weights), wanted.reference)


@dataclass(frozen=True, slots=True)
class Tables:
    """What methods that predict all rows at once may ask of a workspace and a dataset (see `core.methods.base.Tables`)."""

    workspace: Workspace
    dataset: Dataset

    def priors(self, plan: KnnSettings, pair_ids: Sequence[str]) -> tuple[RowIndex, Codes, KnnPrediction]:
        """A kNN's priors of these rows."""
        found = prepare(self.workspace, self.dataset, plan, pair_ids)
        return found.layout, found.rows, found.predicted

    def fused(self, options: Mapping[str, Any]) -> list[RowResult]:
        """A fusion of runs on the rows of its base."""
        with self.workspace.store.read() as db:
            base, *others = (runs.find(db, name) for name in (str(options["base"]), *listed(options["with"])))
            rows = predictions.frame(db, base.id)
        w_de, w_dir = (weights_from(str(options[name])) for name in ("w_de", "w_dir"))
        wanted = Fusion(base.id, tuple(run.id for run in others), w_de, w_dir, options["reference"])
        return _fused(self.workspace, wanted, base, others, rows)


def listed(names: object) -> list[str]:
    """What stands in "a, b"."""
    return [name.strip() for name in str(names).split(",") if name.strip()]


def weights_from(text: str) -> tuple[float, ...]:
    """Weights with commas between them. InputError for what are no numbers."""
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise InputError(f"weights: got {text!r}, expected numbers with commas between them") from None


def components_of(workspace: Workspace, chosen: Sequence[Run], ids: Sequence[str], wanted: Fusion) -> list[Component]:
    """Runs lined up with the base's rows, with what their percentiles are taken against where that is asked for."""
    first = chosen[0]
    for run in chosen[1:]:
        if run.dataset != first.dataset:
            raise InputError(f"{run.name} and {first.name}: on different datasets; expected runs of one dataset")
    found = []
    for run in chosen:
        component = _component(workspace, run, ids)
        if np.isnan(component.p_de).all():
            raise InputError(f"{run.name}: covers none of the {len(ids):,} rows of {first.name}; expected a run on the same rows")
        if wanted.reference == "train":
            component = with_reference(workspace, component, run, wanted.references)
        found.append(component)
    return found


def with_reference(workspace: Workspace, component: Component, run: Run, references: Mapping[str, str]) -> Component:
    """A component with its scores on labelled rows: those of the run named for it, or a kNN's own priors under folds.

    StateError where a kNN's spaces or labels are no longer those that it was made from.
    """
    named = references.get(run.id) or references.get(run.name)
    if named is not None:
        with workspace.store.read() as db:
            reference = runs.find(db, named)
            rows = predictions.frame(db, reference.id)
        labelled = rows[rows["label"].notna()]
        if labelled.empty:
            raise InputError(f"reference run {reference.name}: has no labelled row; expected a run on labelled rows")
        there = _component(workspace, reference, labelled["pair_id"].tolist())
        return replace_in(component, reference_de=there.p_de, reference_up=there.p_up)
    if run.method == "knn":
        own = replace_in(read_knn_settings(run.spec), protocol=EvaluationProtocol("folds"))
        _refuse_changed(workspace, run, own)
        priors = prepare(workspace, default_dataset(workspace, run.dataset), own).predicted.priors
        return replace_in(component, reference_de=priors.de, reference_up=priors.up)
    return component


def _refuse_changed(workspace: Workspace, run: Run, plan: KnnSettings) -> None:
    """Raise StateError where a kNN's spaces or labels are no longer those that its specification tells."""
    with workspace.store.read() as db:
        now = _made_from(db, run.dataset, plan)
    if "dataset_sha256" in run.spec:  # a run of the engine
        labels = dataset_sha256(pairs_of(workspace.store, run.dataset).values())
        now = {"sources": now["space_sha256"], "dataset_sha256": labels}
    changed = next((what for what in now if run.spec.get(what) != now[what]), None)
    if changed is not None:
        raise StateError(
            f"{run.name}: its {'spaces' if changed in ('space_sha256', 'sources') else 'labels'} "
            f"{'have changed since it was made' if changed in run.spec else 'are not recorded'}, so its priors on labelled rows "
            "would be another's; make it anew, or name a reference run for it"
        )


def save_recovered(
    workspace: Workspace, base: str, fused: str, weights: tuple[float, float], name: str, *, replace: bool = False
) -> Run:
    """The component that a fusion of `base` was made with, at weights (DE, DIR), as a run."""
    workspace.refuse_if_read_only("decompose", name)
    with workspace.store.read() as db:
        one, other = runs.find(db, base), runs.find(db, fused)
        rows, mixed = predictions.frame(db, one.id), predictions.frame(db, other.id).set_index("pair_id")
        spec = {"base": one.id, "fused": other.id, "w_de": weights[0], "w_dir": weights[1]}
        origin = run_writer.made_here(one.dataset, name, "recovered", spec, (one.id, other.id))
        there = run_writer.same_or_refused(db, workspace, origin, replace=replace)
    if there is not None:
        return there
    ids = rows["pair_id"].tolist()
    if one.dataset != other.dataset or set(ids) != set(mixed.index):
        raise InputError(f"{one.name} and {other.name}: not on the same rows; expected a fusion of that base")
    if lacking := sum(not {Flag.UNCOVERED, Flag.UNCOVERED_DIR}.isdisjoint(flags) for flags in rows["flags"]):
        raise InputError(
            f"{one.name}: {lacking:,} of {len(ids):,} rows are uncovered, and a fusion ranks the others alone; "
            "expected a base that covers every row"
        )
    submitted = mixed.loc[ids]
    up, down = submitted["prediction_up"].to_numpy(), submitted["prediction_down"].to_numpy()
    with np.errstate(invalid="ignore"):
        ranked = scores_from_probabilities(up + down, up / (up + down))
    found = decompose_fusion(scores_from_probabilities(rows["p_de"], rows["p_up_given_de"]), ranked, *weights)
    return _save(workspace, origin, run_writer.audit_rows(recovered.results(ids, found, one.name, other.name)), replace=replace)


def default_dataset(workspace: Workspace, name: str | None) -> Dataset:
    """The dataset of a name or id, or the one to take where none is named."""
    with workspace.store.read() as db:
        found = datasets.find(db, name) if name else datasets.default(db)
    if found is None:
        raise InputError("this workspace has no dataset; import one first")
    return found


def _save(workspace: Workspace, origin: run_writer.RunMetadata, batch: run_writer.AuditedRows, *, replace: bool) -> Run:
    with workspace.change(origin.method, origin.name) as (db, detail):
        replaced = run_writer.make_room(db, workspace, origin, replace=replace)
        run = run_writer.write_run(db, origin, batch)
        detail |= {"run": run.id, "rows": run.total, **origin.spec}
    for gone in replaced:
        remove_folder(workspace, gone)
    return run


def _component(workspace: Workspace, run: Run, ids: Sequence[str]) -> Component:
    with workspace.store.read() as db:
        rows = predictions.frame(db, run.id)
    return component_of(run.name, ids, *(rows[name].tolist() for name in ("pair_id", "p_de", "p_up_given_de", "flags")))


def _base_rows(rows: pd.DataFrame) -> list[fusion.BaseRow]:
    counts = [rows[name].astype(object).where(rows[name].notna(), None) for name in ("tokens", "prompt_tokens", "tool_calls")]
    return [
        fusion.BaseRow(key, tuple(map(Flag, flags)), *(None if n is None else int(n) for n in known))
        for key, flags, *known in zip(rows["pair_id"], rows["flags"], *counts, strict=True)
    ]
