"""Files of calls, such as our screens write them: a line "Atf3 > Il6: up" for each pair."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd

from core.base.errors import InputError

_LINE = re.compile(r"(\S+) > (\S+): (up|down|none)")


def read_calls(path: Path) -> pd.DataFrame | None:
    """Return the calls in a file that ends in .calls: pert, gene and label. Raise InputError for a
    line that is none."""
    if path.suffix != ".calls":
        return None
    calls = []
    for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
        if (found := _LINE.fullmatch(line.strip())) is None:
            raise InputError(f"{path}, line {number}: got {line!r}, expected PERT > GENE: LABEL")
        calls.append(found.groups())
    return pd.DataFrame(calls, columns=["pert", "gene", "label"])
