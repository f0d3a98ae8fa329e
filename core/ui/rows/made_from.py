"""The sources of a row in a run without a model: a kNN's neighbours, or the fused runs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import streamlit as st

from core.errors import InputError, NotFound, StateError
from core.methods.fusion_components import load_components
from core.methods.fusion_settings import read_fusion_settings
from core.store.datasets import Dataset
from core.store.runs import Run
from core.transfer.fusion import Component, Percentiles, percentiles_of, weights_in_rows
from core.transfer.knn_settings import read_knn_settings
from core.ui.shared import links, loaders, neighbour_controls, tables
from core.ui.shared.cached_components import CachedComponents
from core.ui.shared.loaders import RowDetails
from core.ui.shared.loaders.cache import cache_by
from core.ui.shared.widgets import as_text

LISTED = 10  # neighbours with the largest weights
SAME = 1e-6  # largest difference of equal probabilities
_SHARE = "%.2f"


def show(dataset: Dataset, run: Run, details: RowDetails) -> bool:
    """Show the present sources of a predicted row and return True.

    If they were deleted or cannot be used, show the reason and return False.
    """
    pair_id = details.numbers["pair_id"]
    try:
        if run.method == "knn":
            _show_neighbours(dataset, run, details)
        elif run.method == "fusion":
            _show_components(run, fusion_table(run, pair_id))
            among = {"population": "the base's rows", "train": "labelled rows"}[
                read_fusion_settings(run.spec["options"]).reference
            ]
            st.caption(f"A percentile is a component's rank among {among}; a rank score is the sum of percentiles by weight.")
        else:
            _show_components(run, parents_table(run, pair_id))
    except (InputError, NotFound, StateError) as error:
        st.caption(f":orange[⚠ The sources of this row cannot be shown:] {as_text(error)}")
        return False
    return True


def _show_neighbours(dataset: Dataset, run: Run, details: RowDetails) -> None:
    row, settings = details.numbers, read_knn_settings(run.spec)
    live = neighbour_controls.find_neighbours(dataset, settings, (row["pair_id"],))
    provenance = live.neighbourhood.explain(0, settings.spaces, settings.similarity)
    n = len(provenance.neighbours)
    st.markdown(f"**Neighbours** · {n:,} labelled rows have a weight · {as_text(settings.describe())}")
    prior = provenance.prior_de  # before the support strength, which depends on other rows
    if not settings.similarity.strength and abs(prior - row["p_de"]) > SAME:  # False for NaN
        st.caption(f":orange[⚠ Spaces or labels have changed since this run]: today P(DE) would be {prior:.2f}.")
    if not n:
        st.markdown("No labelled row that this row may use is similar to it, so base rates are used.")
        return
    table = neighbour_controls.neighbour_table(live, provenance, grouped=True)
    shown = table[["neighbour", "up", "down", "none", "similarity"]].assign(
        share=100 * table["share"], of_up=100 * table["share_up"]
    )
    number = st.column_config.NumberColumn
    tables.show_table(
        shown.head(LISTED),
        f"neighbours of {run.name}",
        {
            "similarity": number(format="%.3f"),
            "share": number("% of P(DE)", format=_SHARE),
            "of_up": number("% of P(up | DE)", format=_SHARE),
        },
    )
    more = {"dataset": dataset.id, "run": run.id, "row": row["pair_id"], **neighbour_controls.link_parameters(dataset, settings)}
    listed = f"the first {LISTED} of {len(table):,} above" if len(table) > LISTED else f"all {len(table):,} above"
    st.page_link(links.NEIGHBOURS, label=f"Open in Neighbours ({listed})", query_params=more, width="content")


@cache_by("run:{0}", "runs", "datasets", "spaces", entries=4, shared=True)
def _load_fused_components(run_id: str) -> tuple[dict[str, int], list[Component], Percentiles]:
    """Return the index of each row of a fusion (id), its components, and their percentiles."""
    run, dataset = _run_and_dataset(run_id)
    settings = read_fusion_settings(run.spec["options"])
    rows, components = load_components(CachedComponents(dataset), settings)
    places = {pair_id: i for i, pair_id in enumerate(rows["pair_id"])}
    return places, components, percentiles_of(components, settings.reference)


def _run_and_dataset(run_id: str) -> tuple[Run, Dataset]:
    [run] = [each for each in loaders.all_runs() if each.id == run_id]
    [dataset] = [each for each in loaders.all_datasets() if each.id == run.dataset]
    return run, dataset


def fusion_table(run: Run, pair_id: str) -> pd.DataFrame:
    """Return the components of a row of a fusion, the base first; NaN for a component without the row.

    Columns: component, row (its address), P(DE), percentile DE, weight DE, P(up | DE), percentile DIR, weight DIR. Raise NotFound
    for a component that was deleted, InputError or StateError for one that cannot be used.
    """
    settings = read_fusion_settings(run.spec["options"])
    places, components, percentiles = _load_fused_components(run.id)
    if pair_id not in places:
        raise NotFound(f"row {pair_id!r}: not in the base run")
    at = places[pair_id]
    weights = weights_in_rows(percentiles.take(np.array([at])), settings.weights())
    return pd.DataFrame(
        {
            "component": [each.name for each in components],
            "row": _row_addresses(run, [settings.base, *map(str, settings.others)], pair_id),
            "P(DE)": [each.p_de[at] for each in components],
            "percentile DE": percentiles.de[:, at],
            "weight DE": weights.de.ravel(),
            "P(up | DE)": [each.p_up[at] for each in components],
            "percentile DIR": percentiles.up[:, at],
            "weight DIR": weights.up.ravel(),
        }
    )


def parents_table(run: Run, pair_id: str) -> pd.DataFrame:
    """Return a row in the runs that a run was made from: component, row (its address), P(DE), P(up | DE). Raise NotFound."""
    known = {each.id: each for each in loaders.all_runs()}
    missing = [key for key in run.parents if key not in known]
    if missing:
        raise NotFound(f"run {missing[0]!r}: not in this workspace")
    rows = [loaders.row_details(key, pair_id).numbers for key in run.parents]
    return pd.DataFrame(
        {
            "component": [known[key].name for key in run.parents],
            "row": _row_addresses(run, run.parents, pair_id),
            "P(DE)": [row["p_de"] for row in rows],
            "P(up | DE)": [row["p_up_given_de"] for row in rows],
        }
    )


def _row_addresses(run: Run, parts: Sequence[str], pair_id: str) -> list[str]:
    """Return the address of the row in each run (name or id)."""
    ids = {name: each.id for each in loaders.all_runs() for name in (each.name, each.id)}
    return [links.page_address("rows", dataset=run.dataset, run=ids[part], row=pair_id) for part in parts]


def _show_components(run: Run, table: pd.DataFrame) -> None:
    st.markdown("**Made from**")
    numbers = [str(name) for name in table if name not in ("component", "row")]
    tables.show_table(
        table,
        f"components of {run.name}",
        {
            **{name: st.column_config.NumberColumn(format="%.3f") for name in numbers},
            "row": st.column_config.LinkColumn(display_text="open"),
        },
    )
    if np.isnan(table[numbers].to_numpy(dtype=float)).any():
        st.caption("A component without a number does not cover this row. The other weights are scaled up in proportion.")
