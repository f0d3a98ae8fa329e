"""A blend as a method: the weighted mean of the probabilities of runs on the same rows, beside fusion, which takes their ranks.

With equal weights it merges replicates of one specification under several seeds into one run, whose parents they are.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from core.errors import InputError
from core.fields.option import split_names
from core.methods.base import BatchMethod, DerivedMethod, Option, rows_of_base
from core.methods.cut_scores import evaluate_blend, raw_values
from core.methods.fusion import BaseRow, base_rows_of, flags_of
from core.methods.fusion_components import ComponentLoader, load_components, refuse_other_dataset
from core.methods.fusion_settings import FusionSettings, fusion_options, read_fusion_settings
from core.stats.arrays import Floats
from core.transfer.fusion import Component, Weights, fuse
from core.types import RANK_METHODS, Prediction, RowResult, TraceEvent


def build_results(base: Sequence[BaseRow], components: Sequence[Component], weights: Weights, tokens: Floats) -> list[RowResult]:
    """Return the blend of components that are lined up with the rows of the base, one result per row, in its order.

    tokens: of all components together, of shape (n_rows,), NaN if those of one are unknown.
    """
    values = raw_values(components)
    mixed = fuse(values, weights)
    results = []
    for i, row in enumerate(base):
        p_de, p_up = float(mixed.p_de[i]), float(mixed.p_up[i])
        de, up = values.de[:, i], values.up[:, i]
        lines = [
            f"{name} {p:.6f}, the mean of {_describe_parts(components, column, of_each)}"
            for name, p, column, of_each in (("P(DE)", p_de, de, weights.de), ("P(up | DE)", p_up, up, weights.up))
        ]
        prediction = Prediction(
            *(row.pair_id, p_de * p_up, p_de - p_de * p_up, p_de, p_up, "trace"),
            flags=flags_of(row, de, up),
            tokens=None if math.isnan(tokens[i]) else int(tokens[i]),
            prompt_tokens=row.prompt_tokens,
            tool_calls=row.tool_calls,
        )
        results.append(RowResult(prediction, (TraceEvent("blend", "BLEND", "arithmetic", "\n".join(lines), tokens=0),)))
    return results


def _describe_parts(components: Sequence[Component], values: Floats, weights: Floats) -> str:
    parts = zip(components, values.tolist(), weights.tolist(), strict=True)
    known = [f"{value:.6f} ({each.name}, weight {weight:.4g})" for each, value, weight in parts if not math.isnan(value)]
    return " and ".join(known) or "nothing: no component covers this row, 0.5 stands in"


class Blend(DerivedMethod):
    """Averages the probabilities of runs."""

    name = "blend"
    version = 1
    about = (
        "Weighted mean of the probabilities of runs on the same rows, such as replicates under several seeds. It calls no model."
    )
    inherits_track = True
    options: tuple[Option, ...] = (
        Option("base", "run", "", "The run whose rows are blended, by name or id.", title="Base run"),
        Option("with", "runs", "", "Runs to blend with it, with commas between them.", title="Blended with"),
        Option(
            "w_de",
            "text",
            "",
            "Their weights for P(DE), with commas; the base takes what is left of 1. Empty: all equal.",
            title="Weights for DE",
        ),
        Option("w_dir", "text", "", "Their weights for P(up | DE). Empty: all equal.", title="Weights for DIR"),
    )

    def complete(self, options: Mapping[str, Any], components: ComponentLoader) -> dict[str, Any]:
        """Return runs by id, and all weights as numbers.

        Raise InputError for weights off the simplex, and for a run of which only ranks are known.
        """
        settings = _settings_of(options)
        refuse_other_dataset(components, settings.base)
        base, *others = (components.run(name) for name in (settings.base, *map(str, settings.others)))
        ranked = next((run.name for run in (base, *others) if run.method in RANK_METHODS), None)
        if ranked is not None:
            raise InputError(f"{ranked}: its numbers are ranks, expected probabilities; fusion takes ranks")
        named = FusionSettings(base.id, tuple(run.id for run in others), settings.w_de, settings.w_dir)
        named.weights()
        return {name: value for name, value in fusion_options(named).items() if name in _OPTIONS}

    def parents(self, options: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the base and the others."""
        settings = _settings_of(options)
        return (settings.base, *map(str, settings.others))

    def evaluation(
        self, pair_ids: Sequence[str], options: Mapping[str, Any], components: ComponentLoader
    ) -> dict[str, Any] | None:
        """Return the protocols of the runs that are blended, and the scores of ten cuts of their folds."""
        return evaluate_blend(_settings_of(options), pair_ids, components)

    def predict_rows(self, pair_ids: Sequence[str], options: Mapping[str, Any], components: ComponentLoader) -> list[RowResult]:
        """Return the blended rows. Raise what `load_components` raises, and InputError for a row that the base does not have."""
        settings = _settings_of(options)
        rows, blended = load_components(components, settings)
        ids = rows["pair_id"].tolist()
        parts = [
            components.predictions(components.run(str(part)).id).set_index("pair_id")["tokens"]
            for part in (settings.base, *settings.others)
        ]
        tokens = np.sum([part.reindex(ids).to_numpy(dtype=np.float64, na_value=np.nan) for part in parts], axis=0)
        return rows_of_base(self.name, build_results(base_rows_of(rows), blended, settings.weights(), tokens), pair_ids)


_OPTIONS = frozenset(option.name for option in Blend.options)


def _settings_of(options: Mapping[str, Any]) -> FusionSettings:
    """Return the settings that options describe; weights that are left out are equal."""
    n = len(split_names(options["with"]))
    equal = ",".join([repr(1 / (n + 1))] * n)
    weights = {name: str(options[name]).strip() or equal for name in ("w_de", "w_dir")}
    return read_fusion_settings({**options, **weights, "reference": "population"})


METHOD: BatchMethod = Blend()
