"""Neighbours that change as controls move: the spaces of a dataset, the controls of a kNN, and what they give."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import streamlit as st

from core.actions.components import UNLABELLED
from core.stats.arrays import Codes, Floats
from core.store.datasets import Dataset
from core.store.spaces import SpaceRecord
from core.transfer.knn import Weighting
from core.transfer.knn_settings import KnnSettings
from core.transfer.labelled_rows import Axis
from core.transfer.neighbourhood import Neighbourhood, build_neighbourhood
from core.transfer.protocols import Evaluation, EvaluationProtocol, Kind, SimilaritySettings, cells_of, evaluate_priors
from core.transfer.row_index import RowIndex
from core.ui.shared import links, loaders
from core.ui.shared.widgets import as_text, show_empty

PROTOCOLS: dict[str, Kind] = {"folds": "folds", "leave-one-out": "loo"}
AXES: dict[str, Axis] = {"target gene": "gene", "perturbation": "pert", "both": "both"}
NEAREST = ("all", 10, 25, 50, 100, 200, 400)
# Widgets by which a kNN is set: their keys stand in the address, and in presets.
KEYS = ("space", "power", "centre", "axis", "nearest", "protocol", "strength")
HELP = {
    "space": "Embeddings in which genes are compared; several are averaged where they cover both genes.",
    "power": "Weight = similarity ^ power: a higher one trusts the nearest more.",
    "centre": "Take the mean of the labelled genes away before angles are measured.",
    "axis": "What has to be alike: the target gene, the perturbation, or both (their product).",
    "nearest": "How many of the most similar genes count.",
    "protocol": (
        "Folds: perturbations and genes are each cut into five parts, and a row is predicted from rows outside both of its "
        "parts. Leave-one-out: a row does not see rows of its own perturbation or gene; biased where similarities are flat."
    ),
    "strength": "How far the best supported priors of an effect are drawn to a half; power 1 for DE then.",
}


@dataclass(frozen=True, slots=True, eq=False)
class Around:
    """Rows of a dataset with their neighbourhood under a plan; rows: positions in the layout. cells: see `cells_of`."""

    layout: RowIndex
    rows: Codes
    near: Neighbourhood
    plan: KnnSettings
    cells: Codes | None


def usable(dataset: Dataset) -> list[SpaceRecord]:
    """The spaces that may be evaluated live on a dataset's labels."""
    return [space for space in loaders.all_spaces() if space.built_from != dataset.name]


def not_offered(dataset: Dataset) -> None:
    """Which spaces are not, and how they can be evaluated."""
    for space in loaders.all_spaces():
        if space.built_from == dataset.name:
            st.caption(
                f"{as_text(space.name)} is built from the labels of {as_text(dataset.name)}, so it is not offered here: "
                "it has to be built anew for each fold, as the command knn does."
            )


def no_space() -> None:
    """What to do in a workspace without a gene space."""
    show_empty(
        "No gene space is here yet. Build one from a knowledge pack, or load an embedding.",
        lambda: links.to_data("Go to Data", tab="Spaces"),
    )


def controls(dataset: Dataset, spaces: list[SpaceRecord], *, labelled: bool) -> KnnSettings | None:
    """The controls of a kNN in one row and a pop-over; None, with a sentence, where no space is chosen."""
    names = [space.name for space in spaces]
    first, second, third = st.columns([0.44, 0.3, 0.26], vertical_alignment="bottom")
    chosen = first.pills("Gene spaces", names, default=_widest(dataset, spaces), selection_mode="multi", **_kept("space"))
    power = second.slider("Power", 0.5, 6.0, 2.0, 0.5, **_kept("power"))
    with third.popover("More settings", width="stretch", icon=":material/tune:"):
        axis = st.selectbox("Alike in", list(AXES), **_kept("axis"))
        nearest = st.selectbox("Nearest", NEAREST, **_kept("nearest"))
        centre = st.toggle("Centred", **_kept("centre"))
        protocol = st.selectbox("Protocol", list(PROTOCOLS), **_kept("protocol")) if labelled else ""
        strength = st.slider("Support strength", 0.0, 1.0, 0.0, 0.1, **_kept("strength"))
    if not chosen:
        st.markdown("Choose at least one gene space.")
        return None
    k = nearest if isinstance(nearest, int) else None
    weighting = Weighting(power, 1.0 if strength else None, k, AXES[axis])
    kind: Kind = PROTOCOLS[protocol] if labelled else "test"
    return KnnSettings(tuple(chosen), EvaluationProtocol(kind), SimilaritySettings(weighting, centre, strength))


def _kept(key: str) -> dict[str, Any]:
    return {"key": key, "bind": "query-params", "help": HELP[key]}


def _widest(dataset: Dataset, spaces: list[SpaceRecord]) -> str:
    """The space that covers most rows of the dataset."""
    covered = {space.name: loaders.space_coverage(space.id, dataset.id) for space in spaces}
    return max(covered, key=lambda name: found.rows_by_gene if (found := covered[name]) else 0.0)


def around(dataset: Dataset, plan: KnnSettings, pair_ids: tuple[str, ...]) -> Around:
    """The neighbourhood of some rows of a dataset; everyone who looks at the dataset shares the similarities."""
    layout = loaders.row_index(dataset.id)
    rows = layout.positions_of(pair_ids)
    queries = layout.rows.take(rows)
    spaces = [loaders.space_vectors(dataset.id, name) for name in plan.spaces]
    evaluated = UNLABELLED if plan.protocol.kind == "test" else dataset.name
    near = build_neighbourhood(plan.protocol, queries, layout.known, spaces, evaluated, loaders.cosine_cache(dataset.id))
    return Around(layout, rows, near, plan, cells_of(plan.protocol, queries, near.parts))


def priors(found: Around) -> tuple[Floats, Floats]:
    """prior_de and prior_up of the rows, each of shape (n_rows,)."""
    priors = found.near.priors(found.plan.spaces, found.plan.setting)
    return priors.de, priors.up


def evaluated(found: Around) -> Evaluation:
    """What the priors score on their rows, beside a space that knows nothing."""
    near, setting = found.near, found.plan.setting
    labels = found.layout.labels[found.rows]
    return evaluate_priors(labels, near.queries, near.priors(found.plan.spaces, setting), near.null(setting), found.cells)
