"""Scores, tab Baselines: simple methods on a labelled split, beside published scores."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from core.features.perturbqa.baselines.material import predictable_splits
from core.features.perturbqa.baselines.split import (
    BaselineRequest,
    SplitBaselines,
    compute_baselines,
)
from core.features.perturbqa.baselines.table import BASELINES
from core.ui.background import Result, background
from core.ui.linked import choose_one
from core.ui.loaders.cache import versions_of
from core.ui.loaders.records import dataset_rows
from core.ui.results import show_result
from core.ui.server_workspace import read_workspace
from core.ui.shell import PageContext, draw_until_ready
from core.ui.widgets import as_text

_ABOUT = (
    "Simple methods on the labelled rows of a split, from the training rows and the knowledge packs"
    " of this workspace. The first number is the mean over genes of each gene's AUROC. A base rate"
    " by gene cannot raise it. Nothing is saved. `perturbdesk baselines` prints the same;"
    " `--attention` also trains graph attention networks."
)


def show_where_possible(context: PageContext) -> None:
    """Show the baselines of a split, once they are computed; nothing for a dataset without such a
    split."""
    dataset = context.dataset
    splits = [] if dataset is None else predictable_splits(dataset_rows(dataset.id))
    if dataset is None or not splits:
        return
    st.caption(_ABOUT)
    split = splits[0]
    if len(splits) > 1:
        split = (
            choose_one(st.selectbox, "split", "Split", {name: name for name in splits}, split)
            or split
        )
    request = BaselineRequest(dataset.id, split)
    draw_until_ready(lambda: _draw(request), lambda: _ask(request).ready)


def _ask(request: BaselineRequest) -> Result:
    workspace = read_workspace()

    def compute(progress: Callable[[float], object]) -> SplitBaselines:
        return compute_baselines(workspace, request, progress)

    return background().ask(("baselines", request, versions_of(())), compute)


def _draw(request: BaselineRequest) -> None:
    found = _ask(request)
    if not found.ready:
        st.caption("Computing the baselines. A cell line of PerturbQA takes a minute.")
    elif found.value is None:
        st.error("The baselines could not be computed: the log says why.")
    else:
        show_result(found.value, found.value.dataset, "split-baselines")
        with st.expander("Descriptions"):
            st.markdown(
                "\n".join(
                    f"- **{as_text(name)}**: {as_text(each.about)}"
                    for name, each in BASELINES.items()
                )
            )
