"""How sure a run's judge is: how its answers vary between repeats, and what more seeds are worth."""

from __future__ import annotations

import math

import pandas as pd
import streamlit as st

from core.errors import InputError, StateError
from core.experiments.seed_noise import METRICS, SeedNoise
from core.experiments.seed_words import AVERAGED, askings_sentence, judge_sentences, seed_table
from core.plots import seed_worth
from core.store.runs import Run
from core.ui.shared import loaders, tables
from core.ui.shared.widgets import as_text, show_figure


def show_judge(run: Run) -> None:
    """Show how sure the judge of a run is, from all repeats under other seeds; show a sentence if there are none."""
    try:
        with st.spinner("Comparing the answers …"):
            found = loaders.seed_report(run.id)
    except (StateError, InputError) as error:
        st.markdown(as_text(error))
        return
    show_seeds(found.seeds, "judge", f"What seeds are worth for {run.name}", askings_sentence(found))


def show_seeds(noise: SeedNoise, name: str, title: str, caption: str) -> None:
    """Show the results of repeats on the same rows: sentences, the figure of what seeds are worth, and its table.

    name, title: as in `show_figure`; caption: the rows and the number of repeats.
    """
    st.markdown(as_text(" ".join(judge_sentences(noise))))
    rows = pd.DataFrame(seed_table(noise))
    mean = noise.scores["mean"]
    if not math.isnan(mean.share):
        table = pd.DataFrame({"seeds": rows["seeds"], "se": rows["SE of mean"]})
        chart = seed_worth.figure(table, mean.se(math.inf), mean.enough)
        show_figure(chart, table, name, title, caption)
    else:
        st.caption(as_text(caption))
    number = st.column_config.NumberColumn
    columns = {f"SE of {metric}": number(format="%.4f") for metric in METRICS}
    averaged = number(
        format="%.3f", help="AUROC of answers averaged over this many repeats, averaged over all choices of repeats."
    )
    tables.show_table(rows, name, {**columns, AVERAGED: averaged, "tokens": number(format="localized")})
