"""Ready ablations on a workspace: what each needs and has, and running one. Nothing in the workspace changes."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from core.actions import packs
from core.actions.component_loader import default_dataset, load_index, load_spaces
from core.actions.workspace import Workspace
from core.experiments.ablations.base import Ablation, Outcome, ablation_named, ablations, run
from core.experiments.ablations.material import Material, load_run
from core.store import runs, spaces
from core.transfer.similarity import Space


@dataclass(frozen=True, slots=True, eq=False)
class AblationRun:
    """An ablation that was computed: its outcome, and how long that took."""

    ablation: Ablation
    dataset: str
    outcome: Outcome
    seconds: float


def load_material(workspace: Workspace, dataset: str | None = None) -> Material:
    """Return the data that ablations read of a dataset (name or id), by default the workspace's. Raise NotFound, InputError."""
    found = default_dataset(workspace, dataset)
    index = load_index(workspace, found)
    with workspace.store.read() as db:
        here = runs.list_predicting(db, found.id)
        labelled = runs.list_labelled(db, found.id)
        names = tuple(space.name for space in spaces.list_all(db))

    def load_space(name: str) -> Space:
        return load_spaces(workspace, index, found, [name])[0]

    hashes = packs.pack_hashes(workspace, found.organism)
    return Material(
        dataset=found,
        index=index,
        space_names=names,
        load_space=load_space,
        runs=tuple(here),
        labelled_runs=labelled,
        load_run=partial(load_run, workspace.store),
        pack_names=frozenset(hashes),
        load_packs=lambda: packs.read_packs(workspace, hashes),
    )


def list_ablations(material: Material) -> list[tuple[Ablation, list[str]]]:
    """Return every ablation with the inputs that this workspace lacks for its defaults, in words."""
    return [(each, each.missing(material)) for each in ablations().values()]


def run_ablation(
    workspace: Workspace, name: str, settings: Mapping[str, object], dataset: str | None = None, material: Material | None = None
) -> AblationRun:
    """Compute an ablation. Raise NotFound, InputError for impossible settings, MissingInput for missing data."""
    ablation = ablation_named(name)
    found = material or load_material(workspace, dataset)
    start = time.perf_counter()
    outcome = run(ablation, found, settings)
    return AblationRun(ablation, found.dataset.name, outcome, time.perf_counter() - start)
