"""What-if: what if we weigh it otherwise?"""

import streamlit as st

from core.ui import browser, keep, loaders, mix, shell, what_if

view = shell.enter(__file__)
st.markdown("## What-if")
run, dataset = view.run, view.dataset
if run is None or dataset is None:
    browser.nothing(view)
    st.stop()
keep.told()


@shell.fragment
def board() -> None:
    """Everything that moves with a slider."""
    labelled = bool(loaders.run_rows(run.id)["label"].notna().any())
    numbers = st.container()
    made = mix.choose(dataset, run, view.runs, labelled)
    if made is None:
        return
    baseline = keep.bar(view, made)
    prepared = mix.prepared(made, baseline)
    found = prepared.at(made.weights())
    with numbers:  # at once; what takes longer follows
        if labelled:
            what_if.numbers(found, baseline)
        else:
            what_if.no_score(made, found)
    tuned = what_if.tuned_on(made, prepared, baseline) if labelled else None
    with numbers:
        what_if.beside(made, prepared, tuned)
    what_if.remarks(made, found)
    picture, moved = st.columns([0.58, 0.42], gap="medium")
    with picture:
        if tuned is not None:
            what_if.surface(made, tuned)
        else:
            what_if.ranks(made, found)
    with moved:
        what_if.movers(made, found)
    what_if.movers_chart(made, found)


board()
