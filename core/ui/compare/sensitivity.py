"""Compare: whether the verdict depends on how rows were sampled and labelled."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from core.scoring.compare_runs import RunComparison
from core.scoring.sensitivity import sensitivity_sentence, sensitivity_table, vary
from core.ui.shared import loaders, tables
from core.ui.shared.linked import bind, choose_several
from core.ui.shared.widgets import as_text

_HELP = "Datasets with the same pairs, such as a screen that was labelled at another threshold. Pairs are matched by symbols."
_NATURAL = (
    "At the natural base rate, a gene's rows without an effect represent all its pairs without one. This assumes that the "
    "dataset contains all effects of the screen."
)


def show(found: RunComparison, margin: float | None) -> None:
    """Show the comparison under other weights and labels in an expander. margin: the smallest relevant difference."""
    with st.expander("Does the verdict depend on sampling and labels?", on_change="rerun", **bind("varied")) as box:
        if not box.open:
            return
        here = found.pair.a.run.dataset
        names = {each.name: each.name for each in loaders.all_datasets() if each.id != here}
        chosen = choose_several(st.multiselect, "labels", "Other labels of the same pairs", names, help=_HELP) if names else []
        labels = {f"labels of {name}": loaders.labels_of_pairs(here, name) for name in chosen}
        labels |= loaders.labels_at_thresholds(here)
        usable = {name: of for name, of in labels.items() if any(label is not None for label in of[found.pair.a.positions])}
        for name in labels.keys() - usable.keys():
            st.markdown(as_text(f"No labels of these pairs in: {name}."))
        result = vary(found, usable, margin)
        st.markdown(f"**{as_text(sensitivity_sentence(result))}**")
        tables.show_table(pd.DataFrame(sensitivity_table(result)), "sensitivity of the verdict", {})
        st.caption(_NATURAL)
