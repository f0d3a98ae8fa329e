"""Percentages, ratios less 1, and ratios with a sign, that are called log2 fold changes; and tables
of changed genes alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Final

import numpy as np

from core.base.errors import InputError
from core.stats.arrays import Floats

LEAST_VALUES: Final = 8  # from this many values on, it is odd if all are alike
_LARGEST: Final = 50  # log2 of means over 1e-9, as in scanpy's logfoldchanges, is smaller
_LEAST_SHARE: Final = 0.05  # of values beyond the largest, which are then no outliers
_MANY: Final = 100  # values, of which some are then below -1 where others are above 3
_SHARE_NEAR_1: Final = 0.6  # of ratios with a sign: most genes change little
_SHARE_OF_RATIOS: Final = 0.3  # of ratios of all genes, at least, between a half and the double
_LEAST_GAP: Final = 0.05  # log2 fold changes; smaller ones may all be 0 by rounding
_BESIDE_GAP: Final = 10  # changes between a gap and its double, none inside: chance 2 ** -10
_LARGEST_P: Final = 0.1  # of a table cut at a p-value: others have p-values up to 1
_LEAST_P: Final = 20  # p-values


def count_kinds(values: Floats) -> Counter[str]:
    """Return how many values are negative, positive and over 1, and of each kind that
    `tell_other_scale` looks at, which leaves out 0 and what is not finite."""
    signs = {"negative": values < 0, "positive": values > 0, "over 1": values > 1}
    known = values[np.isfinite(values) & (values != 0)]
    kinds = {
        "values": known != 0,
        "large": np.abs(known) > _LARGEST,
        "below -100": known < -100,
        "at -1": known == -1,
        "below -1": known < -1,
        "above 1": known > 1,
        "above 3": known > 3,
        "inside 1": np.abs(known) < 1,
        "near 1": (np.abs(known) >= 1) & (np.abs(known) < 1.25),
        "like ratios": (known > 0.5) & (known < 2),
    }
    return Counter({kind: int(is_kind.sum()) for kind, is_kind in (signs | kinds).items()})


def tell_other_scale(counts: Mapping[str, int]) -> str:
    """Return the actual scale of values named log2 fold changes, and the remedy; "" if the name may
    be right."""
    n, large = counts["values"], counts["large"]
    if n >= LEAST_VALUES and large > _LEAST_SHARE * n:
        seen = f"{large:,} of {n:,} values are beyond {_LARGEST}, which log2 fold changes are not"
        percent = (
            "; none is below -100: percentages, perhaps, of which 1 + x / 100 is the ratio that a"
            " column fold_change holds"
        )
        return seen + ("" if counts["below -100"] else percent)
    less_1 = "ratios less 1, perhaps, of which x + 1 is the ratio that a column fold_change holds"
    if counts["at -1"] >= LEAST_VALUES and counts["above 1"] and not counts["below -1"]:
        return (
            f"{counts['at -1']:,} of {n:,} values are -1, none is below and {counts['above 1']:,}"
            f" are above 1: {less_1}"
        )
    if (
        n >= _MANY
        and counts["above 1"] >= LEAST_VALUES
        and counts["above 3"]
        and not counts["below -1"]
    ):
        return (
            f"none of {n:,} values is below -1, and {counts['above 1']:,} are above 1, up to more"
            f" than 3: {less_1}"
        )
    if (
        n >= LEAST_VALUES
        and not counts["inside 1"]
        and counts["near 1"] > _SHARE_NEAR_1 * n
        and counts["below -1"]
    ):
        return (
            f"none of {n:,} values lies between -1 and 1, most are just beyond. Perhaps they are"
            " ratios with the sign of the change (-2 for a half). A column fold_change takes x"
            " above 0 and -1 / x below"
        )
    return ""


def refuse_other_scale(file: str, name: str, role: str, counts: Mapping[str, int]) -> None:
    """Raise InputError for a column whose values are on another scale than its role's.

    counts: of `count_kinds`, of logarithms as log2.
    """
    is_log, n = role.startswith("log") or role == "ln_fc", counts["positive"]
    if (is_log or role == "z") and not counts["negative"] and n >= LEAST_VALUES:
        is_ratio = is_log and counts["like ratios"] > _SHARE_OF_RATIOS * n
        raise InputError(
            f"{file}: column {name}, as {role}, has no negative value among {n:,} above 0: a size"
            " without a direction, or a table of rises alone (only.pos of Seurat), cannot be taken"
            + (
                f". Perhaps it is a ratio, which --column fold_change={name} takes"
                if is_ratio
                else ""
            )
        )
    if is_log and (other := tell_other_scale(counts)):
        raise InputError(
            f"{file}: column {name}, as {role}: {other}; predictions take a score that only ranks"
            f" as --column z={name}"
        )
    if role == "fold_change" and counts["negative"]:
        how = f"a logarithm is --column log2_fc={name}, ln_fc={name} or log10_fc={name}"
        raise InputError(f"{file}: column {name}, as fold_change, has negative values: {how}")
    if role in ("p", "adjusted_p") and 2 * counts["over 1"] > n:
        raise InputError(
            f"{file}: column {name}, as {role}, is above 1 in {counts['over 1']:,} rows: it is no"
            f" p-value (-log10 p, perhaps). Name another with --column {role}=NAME, or take the"
            " column out"
        )


def tell_filter(change: Floats, p: Floats) -> str:
    """Return how a table of changed genes alone is known, "" for a table that seems to have all
    tested genes.

    change: log2 fold changes; p: p-values, adjusted or not.
    """
    size = np.abs(change[np.isfinite(change)])
    if len(size) >= LEAST_VALUES and not (change > 0).any():
        return "no change is above 0"
    least = float(size.min(initial=np.inf))
    beside = int((size < 2 * least).sum())
    if (beside >= _BESIDE_GAP and least >= _LEAST_GAP) or (
        least >= 1 and len(size) >= LEAST_VALUES
    ):
        return f"none of {len(size):,} log2 fold changes lies between {-least:.2g} and {least:.2g}"
    tested = p[np.isfinite(p)]
    if len(tested) >= _LEAST_P and tested.max() <= _LARGEST_P:
        return f"none of {len(tested):,} p-values is above {tested.max():.2g}"
    return ""
