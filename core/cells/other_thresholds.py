"""Labels of a screen's pairs at other thresholds, from the statistics saved with its dataset."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from core.cells.labels import DOWN, NONE, UP, Thresholds, code_changes
from core.errors import InputError

COLUMNS = ("pert", "gene", "log2_fc", "fdr", "replicate_fdr")  # of the effects that labels are made from
FDR_TIMES = (0.2, 2.0)  # default thresholds to try, as multiples of the dataset's
CHANGE_TIMES = (0.5, 2.0)
_WORDS = {UP: "up", DOWN: "down", NONE: "none"}


def vary_thresholds(own: Thresholds, fdr: Iterable[float] = (), log2_fc: Iterable[float] = ()) -> dict[str, Thresholds]:
    """Return other thresholds by their names: one of an effect's two is another, the rest as in the dataset.

    fdr, log2_fc: of an effect; without any, a fifth and twice the FDR, half and twice the log2 fold change. Where an effect is
    asked less of than a pair without one, that gets the same threshold. Raise InputError for an invalid threshold.
    """
    fdr, log2_fc = tuple(fdr), tuple(log2_fc)
    if not (fdr or log2_fc):
        fdr = tuple(min(1.0, own.fdr * times) for times in FDR_TIMES)
        log2_fc = tuple(own.log2_fc * times for times in CHANGE_TIMES)
    try:
        return dict(_thresholds_by_name(own, fdr, log2_fc))
    except InputError as error:
        raise InputError(f"other thresholds: {error}") from error


def _thresholds_by_name(own: Thresholds, fdr: Iterable[float], log2_fc: Iterable[float]) -> Iterator[tuple[str, Thresholds]]:
    for value in fdr:
        yield f"effects at FDR < {value:g}", replace(own, fdr=value, none_fdr=max(own.none_fdr, value))
    for value in log2_fc:
        none = min(own.none_log2_fc, value)
        yield f"effects from |log2 fold change| {value:.3g}", replace(own, log2_fc=value, none_log2_fc=none)


def label_effects(effects: pd.DataFrame, thresholds: Thresholds) -> NDArray[np.object_]:
    """Return the label of each row of a screen's effects (see COLUMNS): up, down, none, or None if left out.

    Screens of earlier versions have no replicate_fdr.
    """
    numbers = {name: effects[name].to_numpy(dtype=np.float64) for name in COLUMNS[2:] if name in effects}
    codes = code_changes(numbers["log2_fc"], numbers["fdr"], numbers.get("replicate_fdr"), thresholds)
    labels = np.full(len(codes), None, dtype=object)
    for code, word in _WORDS.items():
        labels[codes == code] = word
    return labels
