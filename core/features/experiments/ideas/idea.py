"""How an idea becomes a kind of experiment: what it reads of a workspace, the arms that it
computes, scored alike in the same cells, and their judgement, which is that of every other kind."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType
from typing import Annotated, Any

import numpy as np
import pandas as pd
from annotated_types import Ge, Le
from numpy.typing import NDArray

from core.base.errors import StateError
from core.base.experiment import Kind, Metric
from core.base.fields.setting import Share, setting, split_names
from core.base.result import Table
from core.base.types import EXTERNAL_SCORE, MADE_ELSEWHERE
from core.evidence.packs import Packs
from core.features.experiments.compare import compare_scores
from core.features.experiments.result import METRICS, ArmResult, ExperimentResult, judge_arms
from core.runs import packs
from core.runs.component_loader import default_dataset, load_index, load_spaces
from core.runs.workspace import Workspace
from core.scoring.run_scores import RunRows, load_scored_rows
from core.stats.arrays import Codes
from core.stats.scores_and_labels import Scores
from core.store import runs, spaces
from core.store.datasets import Dataset
from core.store.runs import Run
from core.transfer.row_index import RowIndex, Rows
from core.transfer.similarity import Space

_NO_MODEL = frozenset({"knn", "fusion", "recovered", *MADE_ELSEWHERE})


@dataclass(frozen=True, eq=False)
class Material:
    """What a workspace has of a dataset; rows and packs are read when they are used.

    runs: those that predict labelled rows, the oldest first.
    """

    workspace: Workspace
    dataset: Dataset
    runs: tuple[Run, ...]
    space_names: tuple[str, ...]
    pack_names: frozenset[str]

    @cached_property
    def index(self) -> RowIndex:
        """Every row of the dataset as codes."""
        return load_index(self.workspace, self.dataset)

    @cached_property
    def packs(self) -> Packs:
        """The knowledge packs on genes of the dataset's organism."""
        return packs.read_packs(
            self.workspace, packs.pack_hashes(self.workspace, self.dataset.organism)
        )

    @property
    def rows(self) -> Rows:
        """The labelled rows."""
        return self.index.known.rows

    @property
    def labels(self) -> NDArray[np.object_]:
        """Their labels."""
        return self.index.labels[self.index.known_positions]

    @property
    def external(self) -> list[Run]:
        """The external scores of labelled rows."""
        return [run for run in self.runs if run.method == EXTERNAL_SCORE]

    def missing(self, needs: Sequence[str]) -> list[str]:
        """Return how to get those of the needs that are not here."""
        here: Mapping[str, object] = {
            "labels": len(self.index.known),
            "space": self.space_names,
            "signs": self.pack_names & {"signs", "signalling"},
            "edges": self.pack_names & {"edges"},
            "pathways": self.pack_names & {"pathways"},
            "run": self.runs,
            "external": self.external,
        }
        return [NEEDS[need] for need in needs if not here[need]]

    def symbols(self, codes: NDArray[np.intp]) -> list[str]:
        """Return the symbols of codes."""
        return [self.index.symbols[int(code)] for code in codes]

    def spaces(self, names: str) -> tuple[Space, ...]:
        """Return the spaces with these names, commas between them; "" for all. Raise NotFound."""
        wanted = split_names(names) or self.space_names
        return tuple(load_spaces(self.workspace, self.index, self.dataset, wanted))

    def load_run(self, name: str) -> RunRows:
        """Return the rows of the run with this name or id, as scored. Raise NotFound."""
        with self.workspace.store.read() as db:
            return load_scored_rows(db, name)

    def load_runs(self, names: str) -> list[RunRows]:
        """Return the runs with these names, commas between them."""
        return [self.load_run(name) for name in split_names(names)]

    def scores_of(self, run: RunRows, rows: Codes | None = None) -> Scores:
        """Return a run's scores on rows of the index, by default the labelled ones; NaN for missing
        rows."""
        de, up = np.full((2, len(self.index.pair_ids)), np.nan)
        de[run.positions], up[run.positions] = run.scores.p_de, run.scores.p_up
        wanted = self.index.known_positions if rows is None else rows
        return Scores(de[wanted], up[wanted])

    def labelled_run(self, name: str) -> RunRows:
        """Return the labelled rows of a run; "" for a model's oldest run on labelled rows.

        Raise NotFound, StateError.
        """
        first = next((run.id for run in self.runs if run.method not in _NO_MODEL), "")
        if not name and not first:
            raise StateError(f"run: needs {NEEDS['run']}; got none that a model made")
        run = self.load_run(name or first)
        return run.take(pd.notna(run.labels))


def load_material(workspace: Workspace, dataset: str | None) -> Material:
    """Return what a workspace has of a dataset (name or id), by default its own.

    Raise NotFound, and InputError without any dataset.
    """
    chosen = default_dataset(workspace, dataset)
    with workspace.store.read() as db:
        labelled = runs.list_labelled(db, chosen.id)
        here = tuple(run for run in runs.list_predicting(db, chosen.id) if run.id in labelled)
        names = tuple(space.name for space in spaces.list_all(db))
    kept = frozenset(packs.pack_hashes(workspace, chosen.organism))
    return Material(workspace, chosen, here, names, kept)


# What an idea may need → how to get it.
NEEDS: Mapping[str, str] = MappingProxyType(
    {
        "labels": "labelled rows: import the challenge's train.csv",
        "space": "a gene space: make one with `perturbdesk embed text --name text`",
        "signs": (
            "a knowledge pack of regulation or signalling: import collectri_mouse_signed.json"
        ),
        "edges": "a knowledge pack of a network: import string_edges.json",
        "pathways": "a knowledge pack of pathways: import gene_reactome.json",
        "run": "a run on labelled rows: import a submission on them, or start a run there",
        "external": (
            "an external score on labelled rows: import a CSV of ids and numbers (`perturbdesk"
            " import FILE --de COLUMN`)"
        ),
    }
)


@dataclass(frozen=True, slots=True, eq=False)
class Trial:
    """The rows that arms rank. labels: of shape (n_rows,); cells: of each cut, None for all pairs;
    scored: in words."""

    labels: NDArray[np.object_]
    rows: Rows
    cells: tuple[Codes | None, ...]
    scored: str


@dataclass(frozen=True, slots=True, eq=False)
class Ranking:
    """An arm: its scores under each cut, NaN for rows that it does not rank. run: the id of the run
    that it is."""

    name: str
    scores: tuple[Scores, ...]
    note: str = ""
    run: str = ""


def mask_scores(scores: Scores, rows: NDArray[np.bool_]) -> Scores:
    """Return scores with NaN outside the chosen rows, so that only these count."""
    return Scores(np.where(rows, scores.p_de, np.nan), np.where(rows, scores.p_up, np.nan))


def score_arms(trial: Trial, arms: Sequence[Ranking], *, has_base: bool = True) -> list[ArmResult]:
    """Return every arm's scores over the cuts, and its paired change from the first, if that is a
    base.

    The variance between cuts, divided by their number, is in every interval.
    """
    replicates = [(cut, 0) for cut in range(len(trial.cells))]
    results = []
    for arm in arms:
        base = arms[0] if has_base else arm
        scores = [*zip(base.scores, arm.scores, trial.cells, strict=True)]
        compared = compare_scores(trial.labels, trial.rows, scores, replicates)
        parts = {name: getattr(compared, name) for name in METRICS}
        # a score needs rows of both classes
        known = {name: part for name, part in parts.items() if not math.isnan(part.after.value)}
        own = {name: part.after for name, part in known.items()}
        change = {f"delta_{name}": part.change for name, part in known.items() if base is not arm}
        n, run = max((each.n for each in own.values()), default=0), (arm.run,) * bool(arm.run)
        results.append(
            ArmResult(arm.name, "", n, trial.scored, **own, **change, runs=run, note=arm.note)
        )
    return results


SMALLEST_EFFECT = 0.01
RUN = "A run on labelled rows; by default the oldest one made by a model."
Cuts = Annotated[
    int,
    Ge(1),
    Le(10),
    setting("Number of averaged cuts of perturbations and genes into 5 × 5 cells."),
]


@dataclass(frozen=True, slots=True)
class OnLabels:
    """The setting of every idea."""

    dataset: Annotated[
        str,
        setting(
            "The dataset whose labelled rows are scored; by default the workspace's.",
            where="command",
        ),
    ] = ""


@dataclass(frozen=True, slots=True)
class OfSpaces(OnLabels):
    """Settings of ideas on kNN priors."""

    spaces: Annotated[
        str,
        setting(
            "Gene spaces, separated by commas; all by default.", title="Gene spaces", names="spaces"
        ),
    ] = ""
    centre: Annotated[bool, setting("Subtract the mean vector of the labelled genes first.")] = (
        False
    )
    cuts: Cuts = 10


@dataclass(frozen=True, slots=True)
class OfRuns(OnLabels):
    """Settings of ideas that compare saved runs."""

    runs: Annotated[
        str,
        setting(
            "Runs to compare, the base first; by default all that the question is about.",
            names="runs",
        ),
    ] = ""


@dataclass(frozen=True, slots=True)
class OfFusion(OfSpaces):
    """Settings of ideas on a run fused with kNN priors."""

    run: Annotated[str, setting(RUN, names="run")] = ""
    weight: Annotated[Share, setting("The weight of the component fused with the run.")] = 0.5


@dataclass(frozen=True, slots=True, eq=False)
class Judged:
    """What an idea computed. arms: the first is the base, unless `has_base` is False. is_computed:
    as of `ExperimentResult`."""

    trial: Trial
    arms: Sequence[Ranking]
    remarks: tuple[str, ...] = ()
    metric: Metric = "mean"
    details: tuple[Table, ...] = ()
    has_base: bool = True
    is_computed: bool = True


def idea(
    name: str,
    title: str,
    question: str,
    needs: tuple[str, ...],
    settings: type,
    judge: Callable[[Material, Any], Judged],
) -> Kind:
    """Return an idea as a kind. needs: keys of NEEDS."""

    def compute(workspace: Workspace, chosen: Any) -> ExperimentResult:
        material = load_material(workspace, chosen.dataset)
        if missing := material.missing(needs):
            raise StateError(f"experiment {name}: needs {'; and '.join(missing)}")
        judged = judge(material, chosen)
        arms = tuple(score_arms(judged.trial, judged.arms, has_base=judged.has_base))
        if judged.has_base:
            arms = judge_arms(
                (replace(arms[0], is_base=True), *arms[1:]), judged.metric, SMALLEST_EFFECT
            )
        all_spaces = f"No gene space was named: {', '.join(material.space_names)}."
        n, n_rows = max(arm.n for arm in arms), len(judged.trial.labels)
        return ExperimentResult(
            kind=name,
            name=name,
            question=question,
            dataset=material.dataset.name,
            arms=arms,
            noise_floor=None,
            measure="score",
            metric=judged.metric,
            smallest_effect=SMALLEST_EFFECT,
            n=n,
            n_labelled=n,
            left_out=n_rows - n,
            remarks=(
                *judged.remarks,
                *([all_spaces] if getattr(chosen, "spaces", None) == "" else []),
            ),
            details=judged.details,
            is_computed=judged.is_computed,
        )

    return Kind(name, title, question, settings, compute=compute)
