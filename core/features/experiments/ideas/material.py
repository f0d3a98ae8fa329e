"""What ideas read: the labelled rows of a dataset, its gene spaces, its runs, and knowledge
packs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from core.base.errors import StateError
from core.base.fields.setting import split_names
from core.base.types import EXTERNAL_SCORE, MADE_ELSEWHERE
from core.evidence.packs import Packs
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
            "a knowledge pack of regulation or signalling: import collectri_mouse_signed.json, or"
            " OmniPath's interactions"
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
