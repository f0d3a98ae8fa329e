"""Results of reproduce: numbers that agree, differ and cannot be computed, and none that can."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from core.base.result import Result
from core.features.published.result import Reproduced, Reproduction


def examples() -> Sequence[Result]:
    number = Reproduced("knn.text.loo.de", "kNN", "Table 2", 0.58, 0.003, (), {})
    differs, none = (
        replace(number, ours=0.6, why="another cut", note="another cut"),
        replace(number, why="no file"),
    )
    return Reproduction((replace(number, ours=0.5812), differs, none)), Reproduction((none,))
