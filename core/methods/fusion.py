"""Fusion as a method: weighted percentiles of runs as predictions, each with a trace that holds its
arithmetic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from core.base.errors import InputError
from core.base.types import (
    FALLBACKS,
    STAND_INS,
    Flag,
    JsonObject,
    Options,
    Prediction,
    RowResult,
    TraceEvent,
)
from core.methods.base import BatchMethod, DerivedMethod, rows_of_base
from core.methods.cut_scores import evaluate_fusion
from core.methods.fusion_components import (
    ComponentLoader,
    load_components,
    refuse_other_dataset,
    row_weights_of,
)
from core.methods.fusion_settings import FusionSettings, fusion_options, read_fusion_settings
from core.stats.arrays import Floats
from core.transfer.fusion import (
    Component,
    Reference,
    Weights,
    fuse,
    percentiles_of,
    weights_in_rows,
)


@dataclass(frozen=True, slots=True)
class BaseRow:
    """What a fused row takes over from its base: flags, and counts of tokens and tool calls."""

    pair_id: str
    flags: tuple[Flag, ...]
    tokens: int | None
    prompt_tokens: int | None
    tool_calls: int | None


def build_results(
    base: Sequence[BaseRow],
    components: Sequence[Component],
    weights: Weights,
    reference: Reference,
    remarks: Sequence[str] = (),
) -> list[RowResult]:
    """Return the fusion of components that are lined up with the rows of the base, one result per
    row, in its order.

    remarks: sentences that close each row's arithmetic, on how its weights are scaled.
    """
    percentiles = percentiles_of(components, reference)
    fused = fuse(percentiles, weights)
    scaled = weights_in_rows(percentiles, weights)
    of_de, of_dir = (
        np.broadcast_to(each if each.ndim > 1 else each[:, None], percentiles.de.shape)
        for each in (scaled.de, scaled.up)
    )
    names = [component.name for component in components]
    over = (
        "Percentiles over"
        f" {'the rows of ' + names[0] if reference == 'population' else 'labelled reference rows'}."
    )
    results = []
    for i, row in enumerate(base):
        p_de, p_up = float(fused.p_de[i]), float(fused.p_up[i])
        de, up = percentiles.de[:, i], percentiles.up[:, i]
        uncovered = [name for name, value in zip(names, de, strict=True) if np.isnan(value)]
        lines = [
            f"DE rank score {p_de:.6f} = {_describe_sum(names, de, of_de[:, i])}",
            f"DIR rank score {p_up:.6f} = {_describe_sum(names, up, of_dir[:, i])}",
            over,
            *remarks,
        ]
        if uncovered:
            lines.insert(
                2,
                f"{', '.join(uncovered)}: does not cover this row; the others' weights count in"
                " proportion.",
            )
        prediction = Prediction(
            *(row.pair_id, p_de * p_up, p_de - p_de * p_up, p_de, p_up, "trace"),
            flags=flags_of(row, de, up),
            tokens=row.tokens,
            prompt_tokens=row.prompt_tokens,
            tool_calls=row.tool_calls,
        )
        results.append(
            RowResult(
                prediction,
                (TraceEvent("fusion", "FUSION", "arithmetic", "\n".join(lines), tokens=0),),
            )
        )
    return results


def flags_of(row: BaseRow, de: Floats, up: Floats) -> tuple[Flag, ...]:
    """Return the base's fallback flags, and those for a row that not every component covers; 0.5
    stands in if none does.

    What no component ranks because the base is an external score for the other question has no
    score.
    """
    flags: list[Flag] = [
        flag
        for flag in row.flags
        if flag in FALLBACKS and flag not in (*STAND_INS, Flag.UNCOVERED_DIR)
    ]
    if np.isnan(de).any():
        flags.append(Flag.PARTLY_COVERED)
    if np.isnan(de).all():
        flags.append(Flag.NO_DE if Flag.NO_DE in row.flags else Flag.UNCOVERED)
    elif np.isnan(up).all():
        flags.append(Flag.NO_DIR if Flag.NO_DIR in row.flags else Flag.UNCOVERED_DIR)
    return tuple(flags)


def _describe_sum(names: Sequence[str], percentiles: Floats, weights: Floats) -> str:
    """Return "0.5 × 0.812 (llm) + 0.5 × 0.4 (knn)", with the weights rescaled over the components
    that cover the row."""
    covers = ~np.isnan(percentiles)
    total = float(weights[covers].sum())
    if total == 0:
        return (
            f"{percentiles[0]:.4f} ({names[0]}, alone)"
            if covers[0]
            else "0.5 (no component covers this row)"
        )
    return " + ".join(
        f"{weight / total:.4g} × {value:.4f} ({name})"
        for name, value, weight, known in zip(names, percentiles, weights, covers, strict=True)
        if known
    )


class Fusion(DerivedMethod):
    """Fuses runs by weighted rank percentiles."""

    name = "fusion"
    version = 2
    about = "Rank-percentile fusion of runs on the same rows; it calls no model."
    inherits_track = True
    settings = FusionSettings

    def complete(self, options: Options, components: ComponentLoader) -> JsonObject:
        """Return runs by id, and weights as they read back.

        Raise InputError for weights off the simplex, and for a reference of a run that is not fused
        or that nothing uses.
        """
        named = read_fusion_settings(options)
        base, *others = (components.run(name).id for name in (named.base, *map(str, named.others)))
        refuse_other_dataset(components, named.base)
        references = {}
        for component, reference in named.references.items():
            found = components.run(component)
            if named.reference != "train":
                raise InputError(
                    f"reference run of {found.name}: nothing is taken against it under"
                    f" {named.reference}; expected train"
                )
            if found.id not in (base, *others):
                raise InputError(
                    f"reference run of {found.name}: it is not fused here; expected the base or one"
                    " of the others"
                )
            references[found.id] = components.run(reference).id
        settings = replace(named, base=base, others=tuple(others), references=references)
        settings.weights()
        return fusion_options(settings)

    def parents(self, options: Options) -> tuple[str, ...]:
        """Return the base and the others."""
        settings = read_fusion_settings(options)
        return (settings.base, *map(str, settings.others))

    def evaluation(
        self, pair_ids: Sequence[str], options: Options, components: ComponentLoader
    ) -> JsonObject | None:
        """Return the protocols of the runs that are fused, and the scores of ten cuts of their
        folds."""
        return evaluate_fusion(read_fusion_settings(options), pair_ids, components)

    def predict_rows(
        self, pair_ids: Sequence[str], options: Options, components: ComponentLoader
    ) -> list[RowResult]:
        """Return the fused rows. Raise what `load_components` raises, and InputError for a row that
        the base does not have."""
        settings = read_fusion_settings(options)
        rows, fused = load_components(components, settings)
        remarks = [rule.remark for rule in row_weights_of(settings)]
        counts = [
            rows[name].astype(object).where(rows[name].notna(), None)
            for name in ("tokens", "prompt_tokens", "tool_calls")
        ]
        results = build_results(
            [
                BaseRow(
                    key, tuple(map(Flag, flags)), *(None if n is None else int(n) for n in known)
                )
                for key, flags, *known in zip(rows["pair_id"], rows["flags"], *counts, strict=True)
            ],
            fused,
            settings.weights(),
            settings.reference,
            remarks,
        )
        return rows_of_base(self.name, results, pair_ids)


METHOD: BatchMethod = Fusion()
