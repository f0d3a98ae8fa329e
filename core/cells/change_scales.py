"""Percentages, ratios less 1, and ratios with a sign, that are called log2 fold changes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Final

import numpy as np

from core.errors import InputError
from core.stats.arrays import Floats

LEAST_VALUES: Final = 8  # from this many values on, it is odd if all are alike
_LARGEST: Final = 50  # log2 of means over 1e-9, as in scanpy's logfoldchanges, is smaller
_LEAST_SHARE: Final = 0.05  # of values beyond the largest, which are then no outliers
_MANY: Final = 100  # values, of which some are then below -1 where others are above 3
_SHARE_NEAR_1: Final = 0.6  # of ratios with a sign: most genes change little


def count_kinds(values: Floats) -> Counter[str]:
    """Return how many values are negative, positive and over 1, and of each kind that `tell_other_scale` looks at, which leaves
    out 0 and what is not finite."""
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
    }
    return Counter({kind: int(is_kind.sum()) for kind, is_kind in (signs | kinds).items()})


def tell_other_scale(counts: Mapping[str, int]) -> str:
    """Return the actual scale of values named log2 fold changes, and the remedy; "" if the name may be right."""
    n, large = counts["values"], counts["large"]
    if n >= LEAST_VALUES and large > _LEAST_SHARE * n:
        seen = f"{large:,} of {n:,} values are beyond {_LARGEST}, which log2 fold changes are not"
        percent = "; none is below -100: percentages, perhaps, of which 1 + x / 100 is the ratio that a column fold_change holds"
        return seen + ("" if counts["below -100"] else percent)
    less_1 = "ratios less 1, perhaps, of which x + 1 is the ratio that a column fold_change holds"
    if counts["at -1"] >= LEAST_VALUES and counts["above 1"] and not counts["below -1"]:
        return f"{counts['at -1']:,} of {n:,} values are -1, none is below and {counts['above 1']:,} are above 1: {less_1}"
    if n >= _MANY and counts["above 1"] >= LEAST_VALUES and counts["above 3"] and not counts["below -1"]:
        return f"none of {n:,} values is below -1, and {counts['above 1']:,} are above 1, up to more than 3: {less_1}"
    if n >= LEAST_VALUES and not counts["inside 1"] and counts["near 1"] > _SHARE_NEAR_1 * n and counts["below -1"]:
        return (
            f"none of {n:,} values lies between -1 and 1, most are just beyond. Perhaps they are ratios with the sign of the "
            "change (-2 for a half). A column fold_change takes x above 0 and -1 / x below"
        )
    return ""


def refuse_other_scales(
    file: str, columns: Mapping[str, str], counts: Mapping[str, Counter[str]], *, by_option: bool = True
) -> None:
    """Raise InputError for log2 fold changes or z without a negative value, log2 fold changes on another scale, and ratios with a
    negative one.

    columns: role → column. counts: role → `count_kinds` of all its values. by_option: whether a command says what columns are.
    """
    for role in sorted({"log2_fc", "z"} & set(counts)):
        name, n_positive = columns[role], counts[role]["positive"]
        if not counts[role]["negative"] and n_positive >= LEAST_VALUES:
            ratio = "" if role == "z" else f". Perhaps it is a ratio, which {_say(by_option, 'fold_change', name)} takes"
            raise InputError(
                f"{file}: column {name}, as {role}, has no negative value among {n_positive:,} above 0: a size without a "
                f"direction cannot be taken{ratio}"
            )
    if "log2_fc" in counts and (other := tell_other_scale(counts["log2_fc"])):
        name = columns["log2_fc"]
        ranks = f"; a score that only ranks is {_say(by_option, 'z', name)}" if by_option else ""
        raise InputError(f"{file}: column {name}, as log2_fc: {other}{ranks}")
    if "fold_change" in counts and counts["fold_change"]["negative"]:
        name = columns["fold_change"]
        how = _say(by_option, "log2_fc", name)
        raise InputError(f"{file}: column {name}, as fold_change, has negative values: a logarithm is {how}")


def _say(by_option: bool, role: str, name: str) -> str:
    return f"--column {role}={name}" if by_option else f"a column {role}"
