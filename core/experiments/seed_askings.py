"""Askings of the same rows: runs that differ only in their seeds, and the seeds within one debate.

A debate under several seeds counts as one asking per seed, each with the mean over its seed's verdicts. Any other run is one
asking. Rows with an unreadable answer under a seed are left out of all askings.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from core.errors import InputError, StateError
from core.experiments.seed_noise import (
    QUESTIONS,
    SeedNoise,
    describe_seeds,
    is_known_to_ask,
    read_answers,
    seedless_key,
    take_ids,
)
from core.methods.prompts import read_seeds
from core.scoring.arm_loader import ArmLoader
from core.scoring.run_scores import RunRows
from core.stats.arrays import Bools, Floats
from core.stats.scores_and_labels import scores_from_probabilities
from core.store import runs, traces
from core.store.connection import Cursor
from core.store.runs import Run

_STAGES = ("de", "dir")


@dataclass(frozen=True, slots=True, eq=False)
class JudgeNoise:
    """The noise of a run's judge. askings: the names of their runs, each repeated for its number of seeds. left_out: number of
    common rows without an answer under a seed.
    """

    run: Run
    askings: tuple[str, ...]
    left_out: int
    seeds: SeedNoise


def report_seeds(db: Cursor, names: Sequence[str]) -> JudgeNoise:
    """Return the noise of a run's judge, from runs that differ only in their seeds.

    names: of the runs; if only one is given, all matching runs are used. For imported runs it is unknown whether they ask the
    same, so naming several asserts it. Raise InputError for runs with other differences. Raise StateError if the rows were
    asked only once, or for a single imported run.
    """
    given = [runs.find_predicting(db, name) for name in dict.fromkeys(names)]
    run = given[0]
    asked = given if len(given) > 1 else _askings_of(db, run)
    _refuse_unlike(asked)
    loader = ArmLoader(db, run.dataset, asked=run.is_asked)
    ids = _rows_of_all(loader, given) if len(given) > 1 else _rows_in_common(loader, run, asked)
    complete = [each for each in asked if set(ids) <= set(loader.rows_of(each.id).frame["pair_id"])]
    askings = _distinct_askings(db, loader, complete, ids)
    if len(askings) < 2:
        raise StateError(
            f"run {run.name}: was asked only once, so its variation is unknown. Expected another run that differs only in its "
            "seed, several seeds (`--set seeds=1,2,3`), or `attribute`, which repeats questions"
        )
    read = np.all([_is_read(rows) for _, rows in askings], axis=0)
    if not read.any():
        raise StateError(f"run {run.name}: no row has an answer under every seed, expected at least one")
    asks = [rows.take(read) for _, rows in askings]
    return JudgeNoise(run, tuple(each.name for each, _ in askings), int((~read).sum()), describe_seeds(asks))


def _refuse_unlike(asked: Sequence[Run]) -> None:
    """Raise InputError if two runs with known questions do not ask the same."""
    known = [each for each in asked if is_known_to_ask(each)]
    unlike = next((each for each in known if seedless_key(each) != seedless_key(known[0])), None)
    if unlike is not None:
        got = f"runs {known[0].name} and {unlike.name}: differ in more than their seeds"
        raise InputError(f"{got}, expected askings of the same")


def _distinct_askings(db: Cursor, loader: ArmLoader, asked: Sequence[Run], ids: Sequence[str]) -> list[tuple[Run, RunRows]]:
    """Return the askings of these rows, one of each draw, because the cache answers a question repeated under the same seed."""
    found: dict[object, tuple[Run, RunRows]] = {}
    for run in asked:
        parts, seeds = _split(db, take_ids(loader.rows_of(run.id), ids)), seeds_of(run)
        of_parts = [(seed,) for seed in seeds] if len(parts) > 1 else [seeds]
        for of_part, rows in zip(of_parts, parts, strict=True):
            found.setdefault(_draw_of(run, of_part), (run, rows))
    return list(found.values())


def _draw_of(run: Run, seeds: tuple[int, ...]) -> object:
    """Return what distinguishes an asking under these seeds from others; an imported run is identified only by its own id."""
    return (seeds, int(run.spec.get("repeat", 0))) if is_known_to_ask(run) else run.id


def _askings_of(db: Cursor, run: Run) -> list[Run]:
    """Return the finished runs that differ from this one only in their seeds and rows, this one first.

    Raise StateError for an imported run.
    """
    if not is_known_to_ask(run):
        raise StateError(
            f"run {run.name} ({run.method}, {run.origin}): its questions are unknown. Name the runs that ask the same: `seeds "
            "RUN RUN …`"
        )
    key, own = seedless_key(run), _draw_of(run, seeds_of(run))
    done = [each for each in runs.list_predicting(db, run.dataset) if each.status == "done" and is_known_to_ask(each)]
    return [run, *(each for each in done if seedless_key(each) == key and _draw_of(each, seeds_of(each)) != own)]


def _rows_of_all(loader: ArmLoader, given: Sequence[Run]) -> list[str]:
    """Return the ids of the rows that all runs answered, in file order."""
    frames = [loader.rows_of(each.id).frame["pair_id"] for each in given]
    wanted = set(frames[0]).intersection(*frames[1:])
    if not wanted:
        raise InputError(f"runs {', '.join(each.name for each in given)}: share no row, expected askings of the same rows")
    return [pair_id for pair_id in frames[0] if pair_id in wanted]


def _rows_in_common(loader: ArmLoader, run: Run, asked: Sequence[Run]) -> list[str]:
    """Return the ids of the rows to compare, in file order.

    They are all rows of a run with several seeds, otherwise the largest overlap with another run.
    """
    own = loader.rows_of(run.id).frame["pair_id"].tolist()
    if len(seeds_of(run)) > 1:
        return list(own)
    shared = (set(own).intersection(loader.rows_of(each.id).frame["pair_id"]) for each in asked if each.id != run.id)
    wanted = max(shared, key=len, default=set())
    return [pair_id for pair_id in own if pair_id in wanted] or list(own)


def seeds_of(run: Run) -> tuple[int, ...]:
    """Return the seeds under which a run asked each row."""
    options = run.spec.get("options")
    text = str(options.get("seeds", "")) if isinstance(options, dict) else ""
    return read_seeds(text, int(run.spec.get("seed", 0)))


def _split(db: Cursor, rows: RunRows) -> list[RunRows]:
    """Return the askings in a run: one for each seed of a debate (NaN without a readable verdict), otherwise the run itself."""
    seeds = seeds_of(rows.run)
    found = traces.verdicts_by_seed(db, rows.run.id) if len(seeds) > 1 else pd.DataFrame()
    if found.empty:
        return [rows]
    values = found.set_index(["stage", "seed", "pair_id"])["p"].sort_index()
    return [_with_answers(rows, [_answers(values, stage, seed, rows) for stage in _STAGES]) for seed in seeds]


def _answers(values: Any, stage: str, seed: int, rows: RunRows) -> Floats:
    level = values.get((stage, seed))
    wanted = rows.frame["pair_id"]
    return np.full(len(rows), np.nan) if level is None else level.reindex(wanted).to_numpy(dtype=np.float64)


def _with_answers(rows: RunRows, answers: Sequence[Floats]) -> RunRows:
    """Return the rows with one seed's answers."""
    columns = dict(zip(QUESTIONS.values(), answers, strict=True))
    scores = scores_from_probabilities(np.nan_to_num(answers[0]), answers[1])
    return replace(rows, frame=rows.frame.assign(**columns), scores=scores)


def _is_read(rows: RunRows) -> Bools:
    de, up = (read_answers(rows, column) for column in QUESTIONS.values())
    return ~np.isnan(de + up)
