"""Fusion as a method: weighted percentiles of runs as predictions, each with a trace that holds its arithmetic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from core.errors import InputError
from core.methods.base import BatchMethod, Context, Option, WithoutModel
from core.stats.arrays import Floats
from core.transfer.fusion import Component, FusionResult, Percentiles, Reference, Weights
from core.types import FALLBACKS, Flag, Pair, Prediction, RowResult, TraceEvent


@dataclass(frozen=True, slots=True)
class BaseRow:
    """What a fused row takes over from its base: what it cost, and what was odd about it."""

    pair_id: str
    flags: tuple[Flag, ...]
    tokens: int | None
    prompt_tokens: int | None
    tool_calls: int | None


def results(
    base: Sequence[BaseRow],
    components: Sequence[Component],
    percentiles: Percentiles,
    weights: Weights,
    fused: FusionResult,
    reference: Reference,
) -> list[RowResult]:
    """One result a row of the base run, in its order."""
    names = [component.name for component in components]
    found = []
    for i, row in enumerate(base):
        p_de, p_up = float(fused.p_de[i]), float(fused.p_up[i])
        lines = [
            f"{task} {value:.6f} = {_sum(names, pct[:, i], share)}"
            for task, value, pct, share in (
                ("P(DE)", p_de, percentiles.de, weights.de),
                ("P(up | DE)", p_up, percentiles.up, weights.up),
            )
        ]
        uncovered = [name for name, value in zip(names, percentiles.de[:, i], strict=True) if np.isnan(value)]
        if uncovered:
            lines.append(f"{', '.join(uncovered)}: does not cover this row; the others' weights count in proportion.")
        lines.append(f"Percentiles over {'the rows of ' + names[0] if reference == 'population' else 'labelled reference rows'}.")
        flags = _flags(row, percentiles.de[:, i], percentiles.up[:, i])
        up = p_de * p_up
        prediction = Prediction(
            *(row.pair_id, up, p_de - up, p_de, p_up, "trace"),
            flags=flags,
            tokens=row.tokens,
            prompt_tokens=row.prompt_tokens,
            tool_calls=row.tool_calls,
        )
        found.append(RowResult(prediction, (TraceEvent("fusion", "FUSION", "arithmetic", "\n".join(lines), tokens=0),)))
    return found


def _flags(row: BaseRow, de: Floats, up: Floats) -> tuple[Flag, ...]:
    """The base's fallbacks, and what no component, or not every one, covers: 0.5 stands in for what none does."""
    found: list[Flag] = [flag for flag in row.flags if flag in FALLBACKS and flag not in (Flag.UNCOVERED, Flag.UNCOVERED_DIR)]
    if np.isnan(de).any():
        found.append(Flag.PARTLY_COVERED)
    if np.isnan(de).all():
        found.append(Flag.UNCOVERED)
    elif np.isnan(up).all():
        found.append(Flag.UNCOVERED_DIR)
    return tuple(found)


def _sum(names: Sequence[str], percentiles: Floats, weights: Floats) -> str:
    """ "0.5 × 0.812 (llm) + 0.5 × 0.4 (knn)", with the weights that were left after what does not cover the row."""
    there = ~np.isnan(percentiles)
    total = float(weights[there].sum())
    if total == 0:
        return f"{percentiles[0]:.4f} ({names[0]}, alone)" if there[0] else "0.5 (no component covers this row)"
    return " + ".join(
        f"{weight / total:.4g} × {value:.4f} ({name})"
        for name, value, weight, known in zip(names, percentiles, weights, there, strict=True)
        if known
    )


class Fusion(WithoutModel):
    """Weighted percentiles of runs."""

    name = "fusion"
    version = 1
    about = "Rank-percentile fusion of runs on the same rows; no model is asked."
    options: tuple[Option, ...] = (
        Option("base", "text", "", "The run whose rows are fused, by name or id."),
        Option("with", "text", "", "Runs to fuse with it, with commas between them."),
        Option("w_de", "text", "0.5", "Their weights for DE, with commas between them; the base takes what is left of 1."),
        Option("w_dir", "text", "0.5", "Their weights for DIR."),
        Option("reference", "choice", "population", "What percentiles are taken over.", ("population", "train")),
    )

    def predict_batch(self, pairs: Sequence[Pair], context: Context) -> list[RowResult]:
        """InputError for a row that the base does not have."""
        if context.tables is None:
            raise InputError("fusion: got no runs to fuse; expected a run of a workspace")
        found = {result.prediction.pair_id: result for result in context.tables.fused(context.options)}
        missing = next((pair.pair_id for pair in pairs if pair.pair_id not in found), None)
        if missing is not None:
            raise InputError(f"fusion: row {missing!r} is not in the base run; expected rows that it has")
        return [found[pair.pair_id] for pair in pairs]


METHOD: BatchMethod = Fusion()
