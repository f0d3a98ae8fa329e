"""Decomposition as a method: recovers the other component of a published fusion from the fusion and
its base."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from annotated_types import Gt, Le

from core.base.errors import InputError
from core.base.fields.setting import setting
from core.base.types import STAND_INS, Flag, JsonObject, Options, RowResult, TraceEvent
from core.methods.base import BatchMethod, DerivedMethod, rows_of_base
from core.methods.fusion_components import ComponentLoader, refuse_other_dataset
from core.methods.knn import build_prediction
from core.stats.scores_and_labels import scores_from_probabilities
from core.transfer.fusion import RecoveredComponent, decompose_fusion

_NOT_RANKED = frozenset({*STAND_INS, Flag.UNCOVERED_DIR, Flag.NO_DE, Flag.NO_DIR})
MIDDLE = 0.5  # the percentile of the middle rank: what stands in where only ranks are known


@dataclass(frozen=True, slots=True)
class RecoveredSettings:
    """A published fusion and its base, with the weights at which the other component was fused with
    it."""

    base: Annotated[str, setting("The run that was fused.", title="Base run", names="run")] = ""
    fused: Annotated[str, setting("The fusion of it.", title="Fusion of the base", names="run")] = (
        ""
    )
    w_de: Annotated[
        float, Gt(0), Le(1), setting("The other component's weight for DE.", title="Weight for DE")
    ] = 0.5
    w_dir: Annotated[
        float, Gt(0), Le(1), setting("Its weight for DIR.", title="Weight for DIR")
    ] = 0.5


def build_results(
    pair_ids: Sequence[str], found: RecoveredComponent, base: str, fused: str
) -> list[RowResult]:
    """Return one result per row, with the component's percentiles instead of its probabilities:
    only ranks are known."""
    rows = []
    for pair_id, p_de, p_up in zip(pair_ids, found.p_de.tolist(), found.p_up.tolist(), strict=True):
        if math.isnan(p_de):
            text = (
                f"{fused} keeps the percentile of {base} here: the other component does not cover"
                f" this row, and the middle rank, {MIDDLE}, stands in."
            )
        else:
            direction = (
                f"the middle rank, {MIDDLE}, stands in" if math.isnan(p_up) else f"{p_up:.6f}"
            )
            text = (
                f"Recovered from {fused} and its base {base}: percentile of P(DE) {p_de:.6f}, of"
                f" P(up | DE) {direction}."
            )
        event = TraceEvent("decompose", "RECOVERED", "arithmetic", text, tokens=0)
        rows.append(RowResult(build_prediction(pair_id, (p_de, p_up), (MIDDLE, MIDDLE)), (event,)))
    return rows


class Recovered(DerivedMethod):
    """Recovers the other component of a fusion whose base and weights are known."""

    name = "recovered"
    version = 2
    about = (
        "The other component of a published fusion, from the fusion and its base; only ranks are"
        " left of it."
    )
    settings = RecoveredSettings

    def complete(self, options: Options, components: ComponentLoader) -> JsonObject:
        """Return both runs by id."""
        refuse_other_dataset(components, options["base"])
        return {
            **options,
            "base": components.run(options["base"]).id,
            "fused": components.run(options["fused"]).id,
        }

    def parents(self, options: Options) -> tuple[str, ...]:
        """Return the base and the fusion."""
        return options["base"], options["fused"]

    def predict_rows(
        self, pair_ids: Sequence[str], options: Options, components: ComponentLoader
    ) -> list[RowResult]:
        """Return the component's rows.

        Raise InputError for runs on different rows, a base with uncovered rows, or weights that are
        not the fusion's.
        """
        base, fused = components.run(options["base"]), components.run(options["fused"])
        rows, mixed = (
            components.predictions(base.id),
            components.predictions(fused.id).set_index("pair_id"),
        )
        ids = rows["pair_id"].tolist()
        if base.dataset != fused.dataset or set(ids) != set(mixed.index):
            raise InputError(
                f"{base.name} and {fused.name}: not on the same rows; expected a fusion of that"
                " base"
            )
        if lacking := sum(not _NOT_RANKED.isdisjoint(flags) for flags in rows["flags"]):
            raise InputError(
                f"{base.name}: {lacking:,} of {len(ids):,} rows are uncovered, and a fusion ranks"
                " the others alone. Expected a base that covers every row"
            )
        submitted = mixed.loc[ids]
        up, down = submitted["prediction_up"].to_numpy(), submitted["prediction_down"].to_numpy()
        with np.errstate(invalid="ignore"):
            ranked = scores_from_probabilities(up + down, up / (up + down))
        of_base = scores_from_probabilities(rows["p_de"], rows["p_up_given_de"])
        found = decompose_fusion(of_base, ranked, options["w_de"], options["w_dir"])
        return rows_of_base(self.name, build_results(ids, found, base.name, fused.name), pair_ids)


METHOD: BatchMethod = Recovered()
