"""The log of all comparisons of two runs, so that each p is corrected for all comparisons on its
dataset.

With the results of the ledger on the dataset they are one family: p after Holm is the same here and
there. One line of JSON for each in data/comparisons, a file for each dataset, appended when a pair
of runs is first compared, or when its p has changed.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from core.base.errors import ReadOnly
from core.base.hashes import sha256_of
from core.base.log import LOGGER
from core.base.system_errors import explain
from core.base.texts import parse_json
from core.features.experiments import ledger_table
from core.features.experiments.ledger_table import HERE, Entry
from core.runs.workspace import Workspace
from core.scoring.compare_runs import CountedComparison, RunComparison
from core.stats.intervals import Interval
from core.stats.multiplicity import holm, p_value
from core.store import datasets

Pair = tuple[str, str]  # ids of two runs, or names of two arms, in alphabetical order
# dataset name → pair → p of the mean, for every viewed pair
LookedAt = Mapping[str, Mapping[Pair, float]]


def look_at(
    workspace: Workspace, dataset: str, compared: Iterable[tuple[str, str, float]]
) -> list[CountedComparison]:
    """Count comparisons of two runs (ids) with the p of their mean, and return each among all of
    the dataset.

    They are written down unless the workspace is open for reading only, in which they count for
    this answer alone.
    """
    known = read_looked(workspace, dataset)
    asked = [(pair_of(a, b), p) for a, b, p in compared]
    new = {pair: p for pair, p in asked if pair not in known or not _same(known[pair], p)}
    if new:
        with suppress(ReadOnly):
            write_looked(workspace, dataset, new)
    found = known | new
    # the p of the ledger's results on the dataset, but for one about each of these comparisons
    with workspace.store.read() as db:
        name = next((each.name for each in datasets.list_all(db) if each.id == dataset), "")
        entries = ledger_table.list_all(db)
    left, others = set(found), list[float]()
    for entry in entries:
        about = (entry.source, entry.dataset, entry.kind)
        if about == (HERE, name, "result") and entry.z is not None:
            pair = pair_of_entry(entry)
            if pair in left:
                left.discard(pair)
            else:
                others.append(p_of(entry))
    adjusted = dict(zip(found, holm([*found.values(), *others]).tolist(), strict=False))
    return [CountedComparison(len(found) + len(others), p, adjusted[pair]) for pair, p in asked]


def count_comparisons(
    workspace: Workspace, comparisons: Sequence[RunComparison]
) -> list[RunComparison]:
    """Return comparisons of runs on one dataset, each counted among all that were made on it."""
    tested = [(each.a.run.id, each.b.run.id, each.p) for each in comparisons]
    counted = look_at(workspace, comparisons[0].a.run.dataset, tested)
    return [
        replace(each, looked_at=among) for each, among in zip(comparisons, counted, strict=True)
    ]


def looked_by_dataset(workspace: Workspace) -> dict[str, dict[Pair, float]]:
    """Return the comparisons made on each dataset, by name, for the correction of the ledger's
    p."""
    with workspace.store.read() as db:
        known = datasets.list_all(db)
    return {each.name: read_looked(workspace, each.id) for each in known}


def pair_of(a: str, b: str) -> Pair:
    """Return the ids of two runs in alphabetical order, whichever is the baseline."""
    return (a, b) if a <= b else (b, a)


def pair_of_arms(experiment: str, a: str, b: str) -> Pair:
    """Return the pair of two arms of an experiment, which have many runs."""
    return pair_of(f"{experiment}: {a}", f"{experiment}: {b}")


def pair_of_entry(entry: Entry) -> Pair | None:
    """Return what a result of the ledger compares: two arms, or the mean of two runs; None for
    anything else."""
    if entry.experiment and entry.name_a and entry.name_b:
        return pair_of_arms(entry.experiment, entry.name_a, entry.name_b)
    if entry.run_a and entry.run_b and entry.metric in (None, "mean"):
        return pair_of(entry.run_a, entry.run_b)
    return None


def p_of(entry: Entry) -> float:
    """Return the two-sided p of a result of the ledger, NaN without one."""
    z = math.nan if entry.z is None else entry.z
    return p_value(Interval(z, math.nan, math.nan, 1.0, entry.n or 0, "row", "z", degrees=entry.df))


def read_looked(workspace: Workspace, dataset: str) -> dict[Pair, float]:
    """Return the last p of every compared pair of runs on a dataset (id), NaN without one. Torn
    lines are left out."""
    file = _file(workspace, dataset)
    lines = file.read_bytes().decode("utf-8", "replace").splitlines() if file.exists() else []
    found: dict[Pair, float] = {}
    for line in lines:
        with suppress(ValueError, TypeError, KeyError):
            each = parse_json(line)
            p = math.nan if each["p"] is None else float(each["p"])
            if math.isnan(p) or 0 <= p <= 1:
                found[pair_of(str(each["a"]), str(each["b"]))] = p
    return found


def write_looked(workspace: Workspace, dataset: str, compared: dict[Pair, float]) -> None:
    """Append comparisons. Raise ReadOnly; a disk that is full is logged, since the comparison
    itself can be shown."""
    workspace.refuse_if_read_only("look at comparisons", dataset)
    file = _file(workspace, dataset)
    when = datetime.now(UTC).isoformat(timespec="seconds")
    by = {"at": when, "by": workspace.settings.author}
    lines = [
        json.dumps({"a": a, "b": b, "p": None if math.isnan(p) else p, **by}) + "\n"
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


def _file(workspace: Workspace, dataset: str) -> Path:
    name = sha256_of(dataset)[:16]  # an id may hold what a file's name may not
    return workspace.settings.data / "comparisons" / f"{name}.jsonl"
