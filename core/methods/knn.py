"""kNN as a method: priors from similar genes as predictions, each with a trace that names its
heaviest neighbours."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from core.base.fields.record import options_of
from core.base.texts import quantity_text
from core.base.types import Flag, JsonObject, Options, Prediction, RowResult, TraceEvent
from core.methods.base import BatchMethod, DerivedMethod
from core.methods.cut_scores import evaluate_knn
from core.methods.fusion_components import ComponentLoader
from core.stats.arrays import Bools, Codes, Floats
from core.transfer.knn_settings import KnnSettings, read_knn_settings, rows_to_predict
from core.transfer.prior_provenance import explain_prior, heaviest_symbols
from core.transfer.protocols import EvaluationProtocol, KnnPrediction, QueryGroup
from core.transfer.row_index import DIRECTED, EFFECT, LABELLED, UP, RowIndex, Rows
from core.transfer.run_cells import NOTHING_KNOWN

MOST_NEIGHBOURS = 8  # listed in a trace
LEAST_PLAIN = 1e-4  # a smaller weight is written with its power of ten


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A neighbour in a trace: a symbol with all its labelled rows, or one labelled row if both axes
    count.

    share: of the total weight, 0 to 1. up, down, changed, none: its labelled rows by label;
    changed: of unknown direction.
    """

    name: str
    similarity: float
    share: float
    up: int
    down: int
    changed: int
    none: int


# of one row: how many labelled rows have a weight, and the heaviest neighbours
_Similar = tuple[int, list[Neighbour]]


@dataclass(frozen=True, slots=True)
class RowPriors:
    """The priors of one row with their support, and the base rates of the labelled rows that it may
    see; NaN if unknown."""

    de: float
    up: float
    support: float
    base_de: float
    base_up: float


def build_results(
    index: RowIndex, rows: Codes, predicted: KnnPrediction, settings: KnnSettings
) -> list[RowResult]:
    """Return one result for each of the rows (positions in the index) that the priors are of, in
    their order."""
    results: list[RowResult | None] = [None] * len(rows)
    found, rates = predicted.priors, predicted.null
    columns = (found.de, found.up, found.support, rates.de, rates.up)
    priors = [
        RowPriors(*values) for values in zip(*(column.tolist() for column in columns), strict=True)
    ]
    for group in predicted.groups:
        for position, similar in zip(
            group.rows, _list_neighbours(index, rows[group.rows], group, settings), strict=True
        ):
            results[position] = _build_result(
                index, int(rows[position]), priors[position], similar, settings
            )
    return [result for result in results if result is not None]


def build_prediction(
    pair_id: str, prior: tuple[float, float], stand_in: tuple[float, float]
) -> Prediction:
    """Return the prediction of two numbers, for an effect and for up; where one is NaN its stand-in
    counts and is flagged."""
    (p_de, p_up), flags = prior, []
    if math.isnan(p_de):
        p_de, p_up = stand_in
        flags.append(Flag.UNCOVERED)
    elif math.isnan(p_up) and p_de > 0:
        p_up = stand_in[1]
        flags.append(Flag.UNCOVERED_DIR)
    up = p_de * p_up if p_de > 0 else 0.0
    return Prediction(
        pair_id, up, p_de - up, p_de, p_up if p_de > 0 else None, "trace", tuple(flags), 0, 0, 0
    )


def _build_result(
    index: RowIndex, row: int, priors: RowPriors, similar: _Similar, settings: KnnSettings
) -> RowResult:
    axis = settings.similarity.weighting.axis
    codes = int(index.rows.pert[row]), int(index.rows.gene[row])
    subject = " ⟶ ".join(
        index.symbol(code)
        for code, name in zip(codes, ("pert", "gene"), strict=True)
        if axis in (name, "both")
    )
    event = TraceEvent(
        stage="knn",
        role="NEIGHBOURS",
        kind="neighbours",
        content=_describe(subject, settings, priors, similar),
        tokens=0,
        meta={
            "prior_de": _or_none(priors.de),
            "prior_up": _or_none(priors.up),
            "support": priors.support,
        },
    )
    stand_in = stand_in_rate(priors.base_de), stand_in_rate(priors.base_up)
    return RowResult(
        build_prediction(index.pair_ids[row], (priors.de, priors.up), stand_in), (event,)
    )


def _describe(subject: str, settings: KnnSettings, priors: RowPriors, similar: _Similar) -> str:
    n, neighbours = similar
    if not neighbours:
        rates = (
            f"{_describe_rate('P(DE)', priors.base_de)} and"
            f" {_describe_rate('P(up | DE)', priors.base_up)}"
        )
        return (
            f"No labelled row is similar to {subject} ({settings.describe()}): the base rates of"
            f" the labelled rows that it may see stand in, {rates}."
        )
    strength = settings.similarity.strength
    shrunk = (
        f" An effect's prior is drawn to a half by support, strength {strength:g}."
        if strength
        else ""
    )
    lines = [
        f"{each.name}: similarity {each.similarity:.3f}, {each.share:.1%} of the weight; {each.up}"
        f" up, {each.down} down, {f'{each.changed} changed, ' if each.changed else ''}{each.none}"
        " none"
        for each in neighbours
    ]
    weight = (
        f"{priors.support:.4g}" if priors.support >= LEAST_PLAIN else quantity_text(priors.support)
    )
    head = (
        f"{n:,} labelled rows are similar to {subject} ({settings.describe()}); total weight"
        f" {weight}.{shrunk}"
    )
    if math.isnan(priors.up) and priors.de > 0:
        rate = _describe_rate("P(up | DE)", priors.base_up)
        lines.append(
            "None has a direction: the base rate of the labelled rows that it may see stands in,"
            f" {rate}."
        )
    return "\n".join([head, "The heaviest:", *lines])


def stand_in_rate(rate: float) -> float:
    """Return what stands in for a prior that is unknown: a base rate, or a half if there is
    none."""
    return NOTHING_KNOWN if math.isnan(rate) else rate


def _describe_rate(name: str, rate: float) -> str:
    return f"{name} {NOTHING_KNOWN} (there is none)" if math.isnan(rate) else f"{name} {rate:.4f}"


def _list_neighbours(
    index: RowIndex, rows: Codes, group: QueryGroup, settings: KnnSettings
) -> Iterator[_Similar]:
    """Yield for each row how many labelled rows have a weight, and its heaviest neighbours."""
    weighting, queries = settings.similarity.weighting, index.rows.take(rows)
    if weighting.axis == "both":
        yield from (_list_rows(index, queries, i, group, settings) for i in range(len(rows)))
        return
    for near in heaviest_symbols(
        queries, group.known, group.similar, weighting, group.parts, MOST_NEIGHBOURS
    ):
        columns = zip(
            near.symbols.tolist(),
            near.similarity.tolist(),
            near.share.tolist(),
            near.counts,
            strict=True,
        )
        yield (
            near.n_rows,
            [
                Neighbour(index.symbol(code), similarity, share, *_counts(counts))
                for code, similarity, share, counts in columns
            ],
        )


def _list_rows(
    index: RowIndex, queries: Rows, row: int, group: QueryGroup, settings: KnnSettings
) -> _Similar:
    """Return how many labelled rows have a weight for one query, and the heaviest of them."""
    codes = int(queries.pert[row]), int(queries.gene[row])
    why = explain_prior(
        codes, group.known, group.similar, settings.similarity.weighting, group.parts
    )
    known, neighbours = group.known, []
    for i, at in enumerate(why.neighbours[:MOST_NEIGHBOURS]):
        name = (
            f"{index.symbol(int(known.rows.pert[at]))} ⟶ {index.symbol(int(known.rows.gene[at]))}"
        )
        neighbours.append(
            Neighbour(
                name, float(why.similarity[i]), float(why.share[i]), *_counts(known.flags[at])
            )
        )
    return len(why.neighbours), neighbours


def _counts(sums: Floats | Bools) -> tuple[int, int, int, int]:
    """Return how many rows are up, down, changed, none, from label sums or the flags of one row."""
    labelled, effect, directed, up = (
        int(sums[column]) for column in (LABELLED, EFFECT, DIRECTED, UP)
    )
    return up, directed - up, effect - directed, labelled - effect


def _or_none(value: float) -> Any:
    return None if math.isnan(value) else value


class Knn(DerivedMethod):
    """Predicts from the labels of similar genes."""

    name = "knn"
    version = 2  # 1: 0.5 stood in for a prior that is unknown
    about = "The labels of similar genes in one or several gene spaces; it calls no model."
    settings = KnnSettings

    def complete(
        self,
        options: Options,
        components: ComponentLoader,  # noqa: ARG002
    ) -> JsonObject:
        """Return the settings as plain values. Raise InputError for settings that make no sense."""
        return knn_options(read_knn_settings(options))

    def default_rows(self, options: Options, components: ComponentLoader) -> Sequence[str]:
        """Return the unlabelled rows under the protocol test, else the labelled ones. Raise
        InputError without any."""
        index = components.index()
        return [
            index.pair_ids[row]
            for row in rows_to_predict(index, read_knn_settings(options).protocol)
        ]

    def check(self, pair_ids: Sequence[str], options: Options, components: ComponentLoader) -> None:
        """Raise InputError for a space that may not be evaluated on these rows' labels, NotFound
        for one that is not there."""
        components.predict_knn(read_knn_settings(options), pair_ids)

    def evaluation(
        self, pair_ids: Sequence[str], options: Options, components: ComponentLoader
    ) -> JsonObject | None:
        """Return its protocol, and the scores of ten cuts of its folds."""
        return evaluate_knn(read_knn_settings(options), pair_ids, components)

    def predict_rows(
        self, pair_ids: Sequence[str], options: Options, components: ComponentLoader
    ) -> list[RowResult]:
        """Return the priors of the rows. Raise what `check` raises."""
        settings = read_knn_settings(options)
        found = components.predict_knn(settings, pair_ids)
        return build_results(found.index, found.rows, found.predicted, settings)


def knn_options(settings: KnnSettings) -> JsonObject:
    """Return the options of the method knn that stand for these settings; folds and seed at their
    defaults if nothing is cut."""
    cut = {option.name: option.default for option in options_of(EvaluationProtocol)}
    return {**cut, **settings.as_spec(), "spaces": ",".join(settings.spaces)}


METHOD: BatchMethod = Knn()
