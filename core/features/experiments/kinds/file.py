"""The experiment that a TOML file describes: labelled rows, folds, and arms that are runs, methods
or fusions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from core.base.errors import InputError
from core.base.experiment import Arm, Experiment, Fused, Kind, Metric
from core.base.fields.setting import setting
from core.base.types import TRAIN, Label, Pair
from core.features.experiments.compare import calls_model
from core.features.experiments.toml_file import FileArm, FileExperiment, FileRows, parse_experiment
from core.llm.endpoint import CONCURRENCY
from core.runs.component_loader import default_dataset
from core.runs.dependencies import load_pairs
from core.runs.request import RunRequest, choose_rows
from core.runs.spec import CallsAtOnce, Servers
from core.runs.workspace import Workspace
from core.store import predictions, runs

_METRICS: dict[str, Metric] = {"DE": "de", "DIR": "dir", "mean": "mean"}
_QUESTION = "What does one change of an arm do to the scores, on rows whose labels no arm saw?"


@dataclass(frozen=True, slots=True)
class FileSettings:
    """The content of a file, and what errors call it. endpoint, concurrency: how all of its arms
    are asked."""

    text: Annotated[
        str,
        setting("The content of a TOML file: rows, folds, arms, and what decides.", title="File"),
    ]
    file: Annotated[
        str, setting("The file's name, for errors.", where="command", changes_result=False)
    ] = "specification"
    rows: Annotated[str | tuple[str, ...], setting("Which of the file's rows; by default all.")] = (
        ""
    )
    endpoint: Annotated[
        Servers, setting("A model server's address ending in /v1; by default as each arm says.")
    ] = None
    concurrency: CallsAtOnce = CONCURRENCY


def build(workspace: Workspace, settings: FileSettings) -> Experiment:
    """Return the experiment of a file. Raise InputError for invalid content, and for rows without a
    label."""
    spec = parse_experiment(settings.text, settings.file)
    dataset = default_dataset(workspace, spec.dataset).id
    pairs = [*load_pairs(workspace.store, dataset).values()]
    of_run = None
    if spec.rows.run is not None:
        with workspace.store.read() as db:
            of_run = predictions.frame(db, runs.find_predicting(db, spec.rows.run).id)[
                "pair_id"
            ].tolist()
    wanted = set(choose_labelled_rows(pairs, spec.rows, of_run))
    rows = choose_rows([pair for pair in pairs if pair.pair_id in wanted], settings.rows)
    arms = [_arm(spec, arm, settings, dataset, rows) for arm in spec.arms]
    base = next(arm for arm in arms if arm.name == spec.base)
    calls = calls_model(base, arms)
    again = (max(spec.seeds) + 1,) if spec.noise_seeds is None else spec.noise_seeds
    return Experiment(
        spec.name,
        spec.question or _QUESTION,
        dataset,
        base,
        tuple(arm for arm in arms if arm is not base),
        rows,
        spec.folds.k,
        spec.folds.cuts,
        spec.seeds,
        again if calls else (),
        metric=_METRICS[spec.primary],
        smallest_effect=spec.smallest_effect,
        contrasts=tuple(
            (arm.name, arm.against) for arm in spec.arms if arm.against not in ("", spec.base)
        ),
        hypothesis=spec.hypothesis,
        remarks=tuple(_remarks(spec, calls)),
    )


def _arm(
    spec: FileExperiment, arm: FileArm, settings: FileSettings, dataset: str, rows: tuple[str, ...]
) -> Arm:
    change = "" if arm.name == spec.base else spec.changes[arm.name] or "another run"
    if arm.run is not None:
        return Arm(arm.name, change, run=arm.run, note=arm.note)
    if arm.base is not None:
        fused = Fused(
            arm.base,
            arm.knn if arm.knn is not None else str(arm.other),
            arm.weights,
            arm.by_agreement,
        )
        return Arm(arm.name, change, fused=fused, note=arm.note)
    request = RunRequest(
        str(arm.method),
        dataset,
        arm.options,
        rows,
        model=arm.model,
        calls=arm.calls,
        endpoint=settings.endpoint or arm.endpoint,
        concurrency=settings.concurrency,
        token_budget=arm.token_budget,
    )
    return Arm(arm.name, change, request, note=arm.note)


def _remarks(spec: FileExperiment, calls: bool) -> Iterable[str]:
    if not calls and spec.arm(spec.base).run is None:
        yield f"{spec.base} calls no model: asked again, it would answer the same."
    for name, change in spec.changes.items():
        if change is None:
            yield (
                f"Whether {name} changes one thing only cannot be checked: it is compared with"
                " another run."
            )


def choose_labelled_rows(
    pairs: Sequence[Pair], spec: FileRows, of_run: Iterable[str] | None
) -> tuple[str, ...]:
    """Return the ids of the rows that a file says, in the dataset's order.

    of_run: the ids of the run that it names. Without a run: the labelled training rows, or all
    labelled rows of a dataset that has no training rows. Raise InputError without a labelled row,
    and for a sample that is larger than the rows there are.
    """
    labelled = [pair for pair in pairs if pair.label is not None]
    if of_run is not None:
        wanted = set(of_run)
        rows = [pair for pair in labelled if pair.pair_id in wanted]
    else:
        rows = [pair for pair in labelled if pair.split == TRAIN] or labelled
    if not rows:
        where = f"none of run {spec.run}" if spec.run else "no row of the dataset"
        raise InputError(f"rows: {where} has a label, expected some")
    if spec.sample is None:
        return tuple(pair.pair_id for pair in rows)
    if spec.sample > len(rows):
        raise InputError(
            f"rows: a sample of {spec.sample:,}, expected at most the number of labelled rows,"
            f" {len(rows):,}"
        )
    return tuple(
        rows[i].pair_id
        for i in draw_stratified([str(pair.label) for pair in rows], spec.sample, spec.seed)
    )


def draw_stratified(labels: Sequence[str], n: int, seed: int) -> list[int]:
    """Return the sorted positions of n rows, drawn without replacement, so that each label keeps
    its share to within one row.

    Places left by rounding down go to the labels with the largest remainders; ties follow the order
    of `Label`.
    """
    rng, every = np.random.default_rng(seed), np.array(labels, dtype=str)
    strata = [rows for label in Label if len(rows := np.flatnonzero(every == str(label)))]
    exact = n * np.array([len(rows) for rows in strata]) / len(labels)
    sizes = exact.astype(np.intp)
    sizes[np.argsort(sizes - exact, kind="stable")[: n - sizes.sum()]] += 1
    drawn = [
        rng.choice(rows, size, replace=False) for rows, size in zip(strata, sizes, strict=True)
    ]
    return sorted(np.concatenate(drawn).tolist())


KIND = Kind("file", "What a file says", _QUESTION, FileSettings, build)
