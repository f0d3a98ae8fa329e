"""The settings of a live kNN, chosen with widgets, and the resulting neighbours of rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import pandas as pd
import streamlit as st

from core.base.fields.record import options_of, values_of
from core.features.neighbours.page.loaders import cosine_cache, space_coverage
from core.runs.component_loader import UNLABELLED
from core.stats.arrays import Codes
from core.store.datasets import Dataset
from core.store.runs import Run
from core.store.spaces import SpaceRecord
from core.transfer.knn_settings import KnnSettings, read_knn_settings, with_power_of_effects
from core.transfer.prior_provenance import Provenance
from core.transfer.protocols import KnnPrediction, LiveKnn, cells_of, live_knn
from core.transfer.row_index import Axis, RowIndex
from core.transfer.run_cells import Evaluation, evaluate
from core.ui import links, results
from core.ui.linked import bind
from core.ui.loaders.components import row_index, space_vectors
from core.ui.loaders.records import all_spaces
from core.ui.option_controls import choose_title, key_of, names_of_rest, show_settings, title_of
from core.ui.widgets import as_text

LISTED = 10  # neighbours of a row in Rows, those with the largest weights
SAME = 1e-6  # largest difference of equal probabilities
_KNN = {option.name: option for option in options_of(KnnSettings)}
# of rows with a label of their own
PROTOCOL = replace(_KNN["protocol"], part=Literal["folds", "loo"])
# Numbers that are dragged or picked here; elsewhere any number may be typed. k folds have k² cells,
# each predicted by itself.
SLIDERS = {"power": (0.5, 6.0, 0.5), "folds": (2, 20, 1), "strength": (0.0, 1.0, 0.1)}
NEAREST = (10, 25, 50, 100, 200, 400)
# Keys of the widgets of a kNN, also used as query parameters and keys of presets.
KEYS = tuple(key_of(option, "") for option in _KNN.values())


@dataclass(frozen=True, slots=True, eq=False)
class LiveNeighbours:
    """Rows of a dataset with their neighbours. rows: positions in `index`; cells: see
    `cells_of`."""

    index: RowIndex
    rows: Codes
    neighbourhood: LiveKnn
    settings: KnnSettings
    cells: Codes | None


def usable_spaces(dataset: Dataset) -> list[SpaceRecord]:
    """Return the spaces that can be evaluated on a dataset's labels directly: those not built from
    them."""
    return [space for space in all_spaces() if space.built_from != dataset.name]


def show_unusable_spaces(dataset: Dataset) -> None:
    """Show the spaces built from the dataset's labels, and the command that evaluates them."""
    for space in all_spaces():
        if space.built_from == dataset.name:
            st.caption(
                f"{as_text(space.name)} is built from the labels of {as_text(dataset.name)}, so it"
                " is not offered here. It must be rebuilt for each fold; the command knn does"
                " this."
            )


def choose_settings(
    dataset: Dataset, spaces: list[SpaceRecord], *, training: bool
) -> KnnSettings | None:
    """Show the widgets of a kNN and return the settings; show a sentence and return None if no
    space is chosen.

    training: labelled training rows are predicted, so a protocol must hide their own labels.
    """
    names = [space.name for space in spaces]
    first, second, third = st.columns([0.44, 0.3, 0.26], vertical_alignment="bottom")
    widest = _widest_space(dataset, spaces)
    space = _KNN["spaces"]
    spaces_chosen = first.pills(
        title_of(space),
        names,
        default=widest,
        selection_mode="multi",
        help=space.about.help,
        **bind(key_of(space, ""), [widest]),
    )
    with second:
        chosen = _show("power")
    with third.popover("More settings", width="stretch", icon=":material/tune:"):
        chosen["axis"] = choose_title(st.selectbox, _KNN["axis"], _default_axis(dataset))
        option, missing = _KNN["k"], _KNN["k"].about.missing
        k: Any = st.selectbox(
            title_of(option),
            [missing, *NEAREST],
            help=option.about.help,
            **bind(key_of(option, "")),
        )
        chosen |= {"k": None if k == missing else k, **_show("centre")}
        chosen["protocol"] = choose_title(st.selectbox, PROTOCOL) if training else "test"
        if chosen["protocol"] == "folds":
            chosen |= _show("folds", "seed", columns=2)
        chosen |= _show(*names_of_rest(KnnSettings, ("spaces", "folds", "seed", *chosen)))
    if not spaces_chosen:
        st.markdown("Choose at least one gene space.")
        return None
    return read_knn_settings(with_power_of_effects({**chosen, "spaces": spaces_chosen}))


def _show(*names: str, columns: int = 1) -> dict[str, Any]:
    return show_settings(KnnSettings, "", names, columns=columns, sliders=SLIDERS)


def link_parameters(dataset: Dataset, settings: KnnSettings) -> dict[str, str | list[str]]:
    """Return the query parameters of a kNN's settings for a link to a dataset's neighbours.

    Defaults are left out: Streamlit removes each from the address in a separate step of the
    browser's history.
    """
    spaces = usable_spaces(dataset)
    defaults = (
        parameters_of(KnnSettings((_widest_space(dataset, spaces),)))
        | {"axis": _KNN["axis"].titles[_default_axis(dataset)]}
        if spaces
        else {}
    )
    return {
        name: value
        for name, value in parameters_of(settings).items()
        if value != defaults.get(name)
    }


def parameters_of(settings: KnnSettings) -> dict[str, str | list[str]]:
    """Return the query parameters that set the widgets to a kNN's settings, as far as possible."""
    kind, found = settings.protocol.kind, dict[str, str | list[str]]()
    left_out = {"folds": (), "loo": ("folds", "seed"), "test": ("folds", "seed", "protocol")}[kind]
    for name, value in values_of(settings).items():
        option = _KNN[name]
        if value is None or name in left_out or (name == "k" and value not in NEAREST):
            continue
        key = key_of(option, "")
        if isinstance(value, tuple):
            found[key] = list(value)
        elif isinstance(value, bool):
            found[key] = str(value).lower()
        else:
            found[key] = (
                option.titles[value]
                if option.choices
                else str(value)
                if isinstance(value, int)
                else f"{value:g}"
            )
    return found


def _default_axis(dataset: Dataset) -> Axis:
    """Return the default axis: perturbations if scores are inside genes."""
    return "pert" if dataset.headline == "macro" else "gene"


def _widest_space(dataset: Dataset, spaces: list[SpaceRecord]) -> str:
    """Return the space that covers the most rows of the dataset."""
    if len(spaces) == 1:
        return spaces[0].name
    covered = {space.name: space_coverage(space.id, dataset.id) for space in spaces}
    return max(covered, key=lambda name: found.rows_by_gene if (found := covered[name]) else 0.0)


def find_neighbours(
    dataset: Dataset, settings: KnnSettings, pair_ids: tuple[str, ...]
) -> LiveNeighbours:
    """Return the neighbours of some rows of a dataset; the similarities are cached for all
    visitors."""
    index = row_index(dataset.id)
    rows = index.positions_of(pair_ids)
    queries = index.rows.take(rows)
    spaces = [space_vectors(dataset.id, name) for name in settings.spaces]
    evaluated = UNLABELLED if settings.protocol.kind == "test" else dataset.name
    neighbourhood = live_knn(
        settings.protocol, queries, index.known, spaces, evaluated, cosine_cache(dataset.id)
    )
    return LiveNeighbours(
        index,
        rows,
        neighbourhood,
        settings,
        cells_of(settings.protocol, queries, neighbourhood.parts),
    )


def evaluate_neighbours(neighbours: LiveNeighbours) -> Evaluation:
    """Return the scores of the priors on their rows under their own protocol, beside those with no
    gene information."""
    neighbourhood, settings = neighbours.neighbourhood, neighbours.settings
    priors, null = (
        neighbourhood.priors(settings.spaces, settings.similarity),
        neighbourhood.null(settings.similarity),
    )
    labels = neighbours.index.labels[neighbours.rows]
    return evaluate(
        labels, neighbourhood.queries, KnnPrediction(priors, null, neighbours.cells, groups=())
    )


def neighbour_table(live: LiveNeighbours, provenance: Provenance, grouped: bool) -> pd.DataFrame:
    """Return the neighbours, highest share first: one line per row or, if grouped, one per symbol
    of the axis that is compared.

    Columns: symbol; neighbour; label (of more than half of the rows, else "mixed"); up, down, none
    (counts); similarity; one per space if there are several; weight; share, share_up and
    cumulative, in [0, 1]; positions (of the labelled rows).
    """
    index, at, axis = live.index, provenance.neighbours, live.settings.similarity.weighting.axis
    known = index.known.rows
    labels = [str(label) for label in index.labels[index.known_positions[at]]]
    spaces = live.settings.spaces if len(live.settings.spaces) > 1 else ()
    by_space = live.neighbourhood.similarity_by_space(0, at, spaces, live.settings.similarity)
    rows = pd.DataFrame(
        {
            "symbol": [
                index.symbol(int(code))
                for code in (known.pert if axis == "pert" else known.gene)[at]
            ],
            "neighbour": [pair_of(live, int(i)) for i in at],
            **{name: [label == name for label in labels] for name in ("up", "down", "none")},
            "similarity": provenance.similarity,
            **dict(zip(spaces, by_space, strict=True)),
            "weight": provenance.weight,
            "share": provenance.share,
            "share_up": provenance.share_up,
            "positions": [[int(i)] for i in at],
        }
    )
    if grouped and axis != "both":
        rows["neighbour"] = rows["symbol"]
        summed = dict.fromkeys(
            ("up", "down", "none", "weight", "share", "share_up", "positions"), "sum"
        )
        first = dict.fromkeys(("symbol", "similarity", *spaces), "first")
        rows = rows.groupby("neighbour", sort=False).agg({**first, **summed}).reset_index()
        rows = rows.sort_values("share", ascending=False, kind="stable", ignore_index=True)
    counts = rows[["up", "down", "none"]].astype(int)
    return rows.assign(**counts, label=majority_label(counts), cumulative=rows["share"].cumsum())


def majority_label(counts: pd.DataFrame) -> pd.Series:
    """Return the label of more than half of the rows, "mixed" if no label has that many; counts:
    one column per label."""
    return counts.idxmax(axis=1).where(2 * counts.max(axis=1) > counts.sum(axis=1), "mixed")


def pair_of(live: LiveNeighbours, at: int) -> str:
    """The perturbation and the gene of a labelled row, by its place among these."""
    known = live.index.known.rows
    return f"{live.index.symbol(int(known.pert[at]))} ⟶ {live.index.symbol(int(known.gene[at]))}"


def show_sources(dataset: Dataset, run: Run, row: Mapping[str, Any]) -> None:
    """Show the neighbours behind a row of a kNN's run, as they are today. row: its numbers."""
    settings = read_knn_settings(run.spec)
    live = find_neighbours(dataset, settings, (row["pair_id"],))
    provenance = live.neighbourhood.explain(0, settings.spaces, settings.similarity)
    n = len(provenance.neighbours)
    st.markdown(
        f"**Neighbours** · {n:,} labelled rows have a weight · {as_text(settings.describe())}"
    )
    prior = provenance.prior_de  # before the support strength, which depends on other rows
    if not settings.similarity.strength and abs(prior - row["p_de"]) > SAME:  # False for NaN
        st.caption(
            ":orange[⚠ Spaces or labels have changed since this run]: today P(DE) would be"
            f" {prior:.2f}."
        )
    if not n:
        st.markdown(
            "No labelled row that this row may use is similar to it, so base rates are used."
        )
        return
    table = neighbour_table(live, provenance, grouped=True)
    shown = table[["neighbour", "up", "down", "none", "similarity"]].assign(
        share=100 * table["share"], of_up=100 * table["share_up"]
    )
    number = st.column_config.NumberColumn
    results.show_table(
        shown.head(LISTED),
        f"neighbours of {run.name}",
        {
            "similarity": number(format="%.3f"),
            "share": number("% of P(DE)", format="%.2f"),
            "of_up": number("% of P(up | DE)", format="%.2f"),
        },
    )
    more = {
        "dataset": dataset.id,
        "run": run.id,
        "row": row["pair_id"],
        **link_parameters(dataset, settings),
    }
    links.show_link(
        links.NEIGHBOURS,
        label=f"Open all {len(table):,} in Neighbours",
        query_params=more,
        width="content",
    )
