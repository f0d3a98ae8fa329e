"""Rows of runs in a given order, and their readable answers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from core.scoring.run_scores import RunRows
from core.stats.arrays import Floats
from core.types import Flag

Replicate = tuple[int, int]  # the seed of a cut, and that of the calls


_UNREAD_DE = (Flag.DE_FALLBACK, Flag.UNIFORM, Flag.UNCOVERED, Flag.NOT_PREDICTED)
_UNREAD = {"p_de": _UNREAD_DE, "p_up_given_de": (*_UNREAD_DE, Flag.DIR_FALLBACK, Flag.UNCOVERED_DIR)}


def take_ids(rows: RunRows, ids: Sequence[str]) -> RunRows:
    """Return the rows of these ids, in this order."""
    position = {pair_id: i for i, pair_id in enumerate(rows.frame["pair_id"])}
    return rows.take(np.array([position[pair_id] for pair_id in ids], dtype=np.intp))


def read_answers(rows: RunRows, column: str) -> Floats:
    """Return the answers of a run, NaN for an unreadable one that another number replaces. column: a key of _UNREAD."""
    unread = [any(flag in flags for flag in _UNREAD[column]) for flags in rows.frame["flags"]]
    values = rows.frame[column].to_numpy(dtype=np.float64, na_value=np.nan)
    return np.where(np.array(unread, dtype=np.bool_), np.nan, values)
