"""Every comparison of two runs that somebody looked at here, so that the p of one is corrected for all of its dataset.

One line of JSON for each in data/comparisons, a file for each dataset, appended when a pair of runs is first looked at, or when
its p is another.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from core.actions.workspace import Workspace
from core.errors import ReadOnly
from core.log import LOGGER
from core.stats.multiplicity import holm
from core.system_errors import explain
from core.texts import parse_json

Pair = tuple[str, str]  # ids of two runs, in alphabetical order


@dataclass(frozen=True, slots=True)
class Looked:
    """A comparison among all that were looked at on its dataset. n: how many, with itself; p, holm: two-sided, of its mean."""

    n: int
    p: float
    holm: float

    @property
    def words(self) -> str:
        """How many comparisons were looked at, and what remains after the correction for them."""
        if math.isnan(self.p):
            return f"{self.n:,} comparisons of runs were looked at on this dataset; this one has no p."
        if self.n == 1:
            return f"This is the only comparison that was looked at on this dataset here: p = {self.p:.2g}."
        return (
            f"One of {self.n:,} comparisons that were looked at on this dataset here: p = {self.p:.2g}, "
            f"after Holm's correction for all of them {self.holm:.2g}."
        )


def look_at(workspace: Workspace, dataset: str, compared: Iterable[tuple[str, str, float]]) -> list[Looked]:
    """Count comparisons of two runs (ids) with the p of their mean, and return each among all of the dataset.

    They are written down unless the workspace is open for reading only, in which they count for this answer alone.
    """
    known = read_looked(workspace, dataset)
    asked = [(_pair(a, b), p) for a, b, p in compared]
    new = {pair: p for pair, p in asked if pair not in known or not _same(known[pair], p)}
    if new:
        with suppress(ReadOnly):
            write_looked(workspace, dataset, new)
    found = known | new
    adjusted = dict(zip(found, holm(list(found.values())).tolist(), strict=True))
    return [Looked(len(found), p, adjusted[pair]) for pair, p in asked]


def read_looked(workspace: Workspace, dataset: str) -> dict[Pair, float]:
    """The last p of every pair of runs that was looked at on a dataset (id), NaN without one; a line that is torn is left out."""
    try:
        lines = _file(workspace, dataset).read_bytes().decode("utf-8", "replace").splitlines()
    except FileNotFoundError:
        return {}
    except OSError as error:
        LOGGER.warning("comparisons that were looked at: %s", explain(error, _file(workspace, dataset)))
        return {}
    found: dict[Pair, float] = {}
    for line in lines:
        try:
            each = parse_json(line)
            a, b, p = str(each["a"]), str(each["b"]), each["p"]
            found[_pair(a, b)] = math.nan if p is None else float(p)
        except (ValueError, TypeError, KeyError):
            continue
    return {pair: p for pair, p in found.items() if math.isnan(p) or 0 <= p <= 1}


def write_looked(workspace: Workspace, dataset: str, compared: dict[Pair, float]) -> None:
    """Append comparisons. Raises ReadOnly; a disk that is full is logged, since the comparison itself can be shown."""
    workspace.refuse_if_read_only("look at comparisons", dataset)
    file = _file(workspace, dataset)
    when = datetime.now(UTC).isoformat(timespec="seconds")
    lines = [
        json.dumps({"a": a, "b": b, "p": None if math.isnan(p) else p, "at": when, "by": workspace.settings.author}) + "\n"
        for (a, b), p in compared.items()
    ]
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("ab") as stream:
            stream.write("".join(lines).encode("utf-8"))
    except OSError as error:
        LOGGER.warning("a comparison that was looked at is not counted: %s", explain(error, file))


def _same(before: float, p: float) -> bool:
    return before == p or (math.isnan(before) and math.isnan(p))


def _pair(a: str, b: str) -> Pair:
    return (a, b) if a <= b else (b, a)


def _file(workspace: Workspace, dataset: str) -> Path:
    name = hashlib.sha256(dataset.encode()).hexdigest()[:16]  # an id may hold what a file's name may not
    return workspace.settings.data / "comparisons" / f"{name}.jsonl"
