"""Inputs of kNN, fusion and decomposition: runs on the same rows, and priors from labelled rows.

Pages, commands and workers pass a `ComponentLoader`; a page's loader caches, a worker's does not.
Both compute and check here, so that pages and runs agree.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from operator import attrgetter
from typing import Any, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from core.base.errors import InputError, NothingCovered, StateError
from core.base.types import TRAIN
from core.methods.fusion_settings import FusionSettings, Part
from core.stats.arrays import Codes, Floats
from core.transfer.fusion import (
    Component,
    agreement_with_base,
    component_of,
    percentiles_of,
)
from core.transfer.knn import Priors
from core.transfer.knn_settings import KnnSettings, read_knn_settings, rows_to_predict
from core.transfer.protocols import (
    EvaluationProtocol,
    KnnInputs,
    KnnPrediction,
    support_range,
    weights_by_support,
)
from core.transfer.row_index import RowIndex
from core.transfer.run_cells import Evaluation, RunWithParents, evaluate

LIVE_NAME = "neighbours"  # of a kNN that is not a run


class SourceRun(RunWithParents, Protocol):
    """A run that other runs are made from."""

    @property
    def id(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def dataset(self) -> str: ...


@dataclass(frozen=True, slots=True, eq=False)
class DatasetPriors:
    """A kNN's priors of the rows at these positions of a dataset, and their inputs. seconds: their
    time from vectors on."""

    index: RowIndex
    rows: Codes
    inputs: KnnInputs
    predicted: KnnPrediction
    seconds: float

    @property
    def labels(self) -> NDArray[np.object_]:
        """The labels of the rows, None if unknown."""
        return self.index.labels[self.rows]

    def evaluation(self) -> Evaluation:
        """Return the score of the priors and of their null; NaN without labels."""
        return evaluate(self.labels, self.inputs.queries, self.predicted)


class ComponentLoader(Protocol):
    """A loader of the inputs of one dataset's components."""

    @property
    def dataset_id(self) -> str: ...

    def run(self, name: str) -> SourceRun:
        """Return the run of a name or id. Raise NotFound."""
        ...

    def predictions(self, run: str) -> pd.DataFrame:
        """Return a run's rows in file order, as store.predictions.frame."""
        ...

    def index(self) -> RowIndex:
        """Return every row of the dataset as codes."""
        ...

    def priors(self, settings: KnnSettings, pair_ids: Sequence[str] | None) -> Priors:
        """Return a kNN's priors of these rows, by default of those that its protocol predicts."""
        ...

    def predict_knn(self, settings: KnnSettings, pair_ids: Sequence[str] | None) -> DatasetPriors:
        """Return the priors with their neighbours."""
        ...

    def contents(self, settings: KnnSettings) -> Mapping[str, Any]:
        """Return the hashes of a kNN's present inputs: sources (of its spaces), dataset_sha256."""
        ...


def load_components(
    loader: ComponentLoader, settings: FusionSettings
) -> tuple[pd.DataFrame, list[Component]]:
    """Return the base's rows, and every component lined up with them, the base first.

    Raise InputError for a run of another dataset, one that covers no row of the base, and one
    without the reference for its percentiles; StateError for a kNN whose spaces or labels have
    changed. InputError also for weights by support if none of the others is a kNN.
    """
    base = loader.run(settings.base)
    rows = loader.predictions(base.id)
    ids = rows["pair_id"].tolist()
    components = [
        _load_component(loader, part, ids, base, settings) for part in (base.id, *settings.others)
    ]
    for rule in row_weights_of(settings):
        factors = rule.factors(loader, components, ids, settings)
        components = [
            each if factor is None else each.scaled(factor)
            for each, factor in zip(components, factors, strict=True)
        ]
    return rows, components


@dataclass(frozen=True, slots=True)
class RowWeights:
    """A rule by which weights differ from row to row.

    factors: of each component's weight, of shape (n_rows,), in [0, 1]; None for 1, as of the base.
    remark: closes a row's arithmetic. rest: when the base weighs more than its share.
    """

    factors: Callable[
        [ComponentLoader, Sequence[Component], Sequence[str], FusionSettings],
        Sequence[Floats | None],
    ]
    remark: str
    rest: str


def row_weights_of(settings: FusionSettings) -> list[RowWeights]:
    """Return the rules that a fusion's settings ask for, in the order of ROW_WEIGHTS."""
    return [
        rules[value]
        for option, rules in ROW_WEIGHTS.items()
        if (value := getattr(settings, option)) in rules
    ]


def describe_rest(settings: FusionSettings) -> str:
    """Return what is left for the base beside its share; "" if it is the same in every row."""
    return "; ".join(map(attrgetter("rest"), row_weights_of(settings)))


def factors_by_agreement(
    _loader: ComponentLoader,
    components: Sequence[Component],
    _ids: Sequence[str],
    settings: FusionSettings,
) -> list[Floats | None]:
    """Return each other's agreement with the base in each row."""
    return [None, *agreement_with_base(percentiles_of(components, settings.reference))[1:]]


def _factors_by_support(
    loader: ComponentLoader,
    _components: Sequence[Component],
    ids: Sequence[str],
    settings: FusionSettings,
    *,
    ends: tuple[float, float],
) -> list[Floats | None]:
    """Return the support of every kNN's priors, scaled from the one end to the other; the base and
    other runs keep their weight.

    Support is scaled over the rows that percentiles are taken over: these, or the labelled rows of
    its priors under folds.
    """
    found: list[Floats | None] = [None] * (1 + len(settings.others))
    for place, part in enumerate(settings.others, 1):
        knn = _knn_of(loader, part)
        if knn is None:
            continue
        support = _support_of(loader, part, knn, ids)
        over = support if settings.reference == "population" else _fold_priors(loader, knn).support
        found[place] = weights_by_support(*ends, support, support_range(over))
    if all(factor is None for factor in found):
        raise InputError(
            "weights by support: none of the runs fused with the base is a kNN; expected one, or"
            " the same weights"
        )
    return found


_BY_SUPPORT = "The weight of a kNN is scaled by the support of its prior of this row."
# Option of `FusionSettings` → value → its rule. The browser gets the factors themselves.
ROW_WEIGHTS: Mapping[str, Mapping[Any, RowWeights]] = {
    "by_support": {
        "more": RowWeights(
            partial(_factors_by_support, ends=(0.0, 1.0)),
            _BY_SUPPORT,
            "more in rows where neighbours have less support",
        ),
        "less": RowWeights(
            partial(_factors_by_support, ends=(1.0, 0.0)),
            _BY_SUPPORT,
            "more in rows where neighbours have more support",
        ),
    },
    "by_agreement": {
        True: RowWeights(
            factors_by_agreement,
            "The weight of each other run is scaled by how near its rank of this row is to the"
            " base's.",
            "more in rows where the others' ranks are far from its own",
        )
    },
}


def _knn_of(loader: ComponentLoader, part: Part) -> KnnSettings | None:
    """Return the settings of a part that is a kNN. Raise StateError if its spaces or labels have
    changed."""
    if isinstance(part, KnnSettings):
        return part
    run = loader.run(part)
    if run.method != "knn":
        return None
    settings = read_knn_settings(run.spec)
    _refuse_changed(loader, run, settings, "weigh it the same in every row")
    return settings


def _support_of(
    loader: ComponentLoader, part: Part, knn: KnnSettings, ids: Sequence[str]
) -> Floats:
    """Return the support of a kNN's priors of these rows, 0 for rows that it does not predict."""
    if isinstance(part, KnnSettings):
        return loader.priors(knn, ids).support
    predicted = loader.predictions(loader.run(part).id)["pair_id"].tolist()
    support = dict(zip(predicted, loader.priors(knn, predicted).support.tolist(), strict=True))
    return np.array([support.get(pair_id, 0.0) for pair_id in ids])


def _load_component(
    loader: ComponentLoader,
    part: Part,
    ids: Sequence[str],
    base: SourceRun,
    settings: FusionSettings,
) -> Component:
    if isinstance(part, KnnSettings):
        priors = _priors_of_rows(loader, part, ids)
        component = Component(LIVE_NAME, priors.de, priors.up)
    else:
        run = loader.run(part)
        if run.dataset != base.dataset:
            raise InputError(
                f"{run.name} and {base.name}: on different datasets; expected runs of one dataset"
            )
        component = _align(loader, run, ids)
    if np.isnan(component.p_de).all() and np.isnan(component.p_up).all():
        raise NothingCovered(
            f"{component.name}: covers none of the {len(ids):,} rows of {base.name}. Expected a run"
            " on the same rows, or gene spaces with vectors of their genes"
        )
    return (
        with_reference(loader, component, part, settings.references)
        if settings.reference == "train"
        else component
    )


def _priors_of_rows(loader: ComponentLoader, settings: KnnSettings, ids: Sequence[str]) -> Priors:
    """Return a kNN's priors of these rows as its run has them: where support counts, it is scaled
    over all rows that the protocol predicts, not over these alone."""
    if settings.similarity.strength == 0:
        return loader.priors(settings, ids)
    index = loader.index()
    predicted = [index.pair_ids[row] for row in rows_to_predict(index, settings.protocol)]
    at = pd.Index(predicted).get_indexer(pd.Index(list(ids)))
    if (at < 0).any():  # rows that its run does not have
        return loader.priors(settings, ids)
    priors = loader.priors(settings, None)
    return Priors(priors.de[at], priors.up[at], priors.support[at])


def refuse_other_dataset(loader: ComponentLoader, base: str) -> None:
    """Raise InputError if the base is not a run of the predicted dataset."""
    run = loader.run(base)
    if run.dataset != loader.dataset_id:
        raise InputError(
            f"{run.name}: a run of another dataset than the one chosen; expected its own"
        )


def _align(loader: ComponentLoader, run: SourceRun, ids: Sequence[str]) -> Component:
    rows = loader.predictions(run.id)
    return component_of(
        run.name, ids, rows["pair_id"], rows["p_de"], rows["p_up_given_de"], rows["flags"]
    )


def with_reference(
    loader: ComponentLoader, component: Component, part: Part, references: Mapping[str, str]
) -> Component:
    """Return a component with its scores on labelled rows: those of the run named for it, or a
    kNN's priors under folds.

    Raise InputError for a reference run without labels, StateError for a kNN whose spaces or labels
    have changed.
    """
    if isinstance(part, KnnSettings):
        return _with_fold_priors(loader, component, part)
    run = loader.run(part)
    reference_name = references.get(run.id) or references.get(run.name)
    if reference_name is not None:
        reference = loader.run(reference_name)
        rows = loader.predictions(reference.id)
        labelled = rows[rows["label"].notna() & (rows["split"] == TRAIN)]
        if labelled.empty:
            raise InputError(
                f"reference run {reference.name}: has no labelled training row; expected a run on"
                " labelled rows"
            )
        aligned = _align(loader, reference, labelled["pair_id"].tolist())
        return replace(component, reference_de=aligned.p_de, reference_up=aligned.p_up)
    if run.method != "knn":
        return component
    settings = read_knn_settings(run.spec)
    _refuse_changed(loader, run, settings, "name a reference run for it")
    return _with_fold_priors(loader, component, settings)


def _with_fold_priors(
    loader: ComponentLoader, component: Component, settings: KnnSettings
) -> Component:
    priors = _fold_priors(loader, settings)
    return replace(component, reference_de=priors.de, reference_up=priors.up)


def _fold_priors(loader: ComponentLoader, settings: KnnSettings) -> Priors:
    return loader.priors(replace(settings, protocol=EvaluationProtocol("folds")), None)


def _refuse_changed(
    loader: ComponentLoader, run: SourceRun, settings: KnnSettings, otherwise: str
) -> None:
    """Raise StateError if a kNN's spaces or labels are no longer those of its specification.
    otherwise: what else helps."""
    present = loader.contents(settings)
    changed = next(
        (name for name in ("sources", "dataset_sha256") if run.spec.get(name) != present[name]),
        None,
    )
    if changed is not None:
        raise StateError(
            f"{run.name}: its {'spaces' if changed == 'sources' else 'labels'} have changed since"
            f" it was made, so its priors would be another's; make it anew, or {otherwise}"
        )
