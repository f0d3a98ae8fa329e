"""The inputs of an ablation: the labelled rows of a dataset, its gene spaces, its runs, and knowledge packs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from core.errors import NotFound, StateError
from core.evidence.packs import Packs
from core.fields.option import split_names
from core.scoring.run_scores import RunRows, load_scored_rows
from core.store import Store
from core.store.datasets import Dataset
from core.store.runs import Run
from core.transfer.labelled_rows import Rows
from core.transfer.row_index import RowIndex
from core.transfer.similarity import Space
from core.types import EXTERNAL_SCORE, MADE_ELSEWHERE


class MissingInput(StateError):
    """An input of an ablation is not in the workspace. The message names it, and how to get it."""


@dataclass(frozen=True, slots=True, eq=False)
class Material:
    """The inputs available in a workspace. index: every row of the dataset. space_names, runs: the available ones; load_space,
    load_run: load one by name, over the symbols of the index. labelled_runs: the ids of runs on labelled rows. pack_names: the
    knowledge packs about genes of the dataset's organism, by their names in `Packs`; load_packs: reads them.
    """

    dataset: Dataset
    index: RowIndex
    space_names: tuple[str, ...]
    load_space: Callable[[str], Space]
    runs: tuple[Run, ...]
    labelled_runs: frozenset[str]
    load_run: Callable[[str], RunRows]
    pack_names: frozenset[str]
    load_packs: Callable[[], Packs]

    @property
    def rows(self) -> Rows:
        """The labelled rows."""
        return self.index.known.rows

    @property
    def labels(self) -> NDArray[np.object_]:
        """Their labels."""
        return self.index.labels[self.index.known_positions]

    @property
    def pair_ids(self) -> list[str]:
        """Their ids."""
        return [self.index.pair_ids[i] for i in self.index.known_positions]

    def symbols(self, codes: Sequence[int] | NDArray[np.intp]) -> list[str]:
        """Return the symbols of codes."""
        return [self.index.symbols[int(code)] for code in codes]

    def spaces(self, names: str) -> list[Space]:
        """Return the spaces named in an option, separated by commas; all spaces by default. Raise NotFound."""
        wanted = split_names(names) or list(self.space_names)
        unknown = [name for name in wanted if name not in self.space_names]
        if unknown:
            raise NotFound(f"gene space {unknown[0]!r}: not here, expected one of {', '.join(self.space_names) or 'none'}")
        return [self.load_space(name) for name in wanted]

    def chosen_runs(self, names: str) -> list[RunRows]:
        """Return the runs named in an option, with their rows. Raise NotFound."""
        return [self.load_run(name) for name in split_names(names)]

    def labelled_run(self, name: str) -> RunRows:
        """Return the run with this name, by default the oldest run of a language model on labelled rows.

        Raise NotFound, MissingInput.
        """
        if name:
            return self.load_run(name)
        made = ("knn", "fusion", "recovered", *MADE_ELSEWHERE)
        found = next((run for run in self.runs if run.id in self.labelled_runs and run.method not in made), None)
        if found is None:
            raise MissingInput("needs a model's run on labelled rows; import a submission on them, or start a run there")
        return self.load_run(found.id)


def load_run(store: Store, name: str) -> RunRows:
    """Return the rows of the run with this name or id, as scored. Raise NotFound."""
    with store.read() as db:
        return load_scored_rows(db, name)


# Need → whether the input is available, and how to get it.
NEEDS: Mapping[str, tuple[Callable[[Material], bool], str]] = MappingProxyType(
    {
        "labels": (lambda m: len(m.index.known) > 0, "labelled rows: import the challenge's train.csv"),
        "space": (lambda m: bool(m.space_names), "a gene space: make one with `perturbdesk embed text --name text`"),
        "signs": (
            lambda m: bool({"signs", "signalling"} & m.pack_names),
            "a knowledge pack of regulation or signalling: import collectri_mouse_signed.json, or OmniPath's interactions",
        ),
        "edges": (lambda m: "edges" in m.pack_names, "a knowledge pack of a network: import string_edges.json"),
        "pathways": (lambda m: "pathways" in m.pack_names, "a knowledge pack of pathways: import gene_reactome.json"),
        "run": (
            lambda m: any(run.id in m.labelled_runs for run in m.runs),
            "a run on labelled rows: import a submission on them, or start a run there",
        ),
        "external": (
            lambda m: any(run.method == EXTERNAL_SCORE and run.id in m.labelled_runs for run in m.runs),
            "an external score on labelled rows: import a CSV of ids and numbers (`perturbdesk import FILE --de COLUMN`)",
        ),
    }
)


def find_missing(needs: Sequence[str], material: Material) -> list[str]:
    """Return the missing needs, and how to get them."""
    return [NEEDS[need][1] for need in needs if not NEEDS[need][0](material)]
