"""What-if: what if we weigh it otherwise?"""

import streamlit as st

from core.ui.shared import loaders, run_browser, shell
from core.ui.what_if import fusion_controls, results, save_controls

context = shell.open_page(__file__)
st.markdown("## What-if")
run, dataset = context.run, context.dataset
if run is None or dataset is None:
    run_browser.show_no_run(context)
    st.stop()
save_controls.show_saved()


@shell.fragment
def board() -> None:
    """Everything that moves with a slider."""
    labelled = bool(loaders.run_rows(run.id)["label"].notna().any())
    numbers = st.container()
    made = fusion_controls.show_fusion_controls(dataset, run, context.runs, labelled)
    if made is None:
        return
    baseline = save_controls.show_save_controls(context, made)
    prepared = fusion_controls.prepare_fusion(made, baseline)
    found = prepared.score_at(made.settings().weights())
    with numbers:  # at once; what takes longer follows
        if labelled:
            results.show_numbers(found, baseline)
        else:
            results.show_agreement(made, found)
    tuned = results.search_weights(made, prepared, baseline) if labelled else None
    with numbers:
        results.show_caveats(made, prepared, tuned)
    results.show_remarks(made, found)
    picture, moved = st.columns([0.58, 0.42], gap="medium")
    with picture:
        if tuned is not None:
            results.show_weight_grid(made, tuned)
        else:
            results.show_rank_scatter(made, found)
    with moved:
        results.show_movers(made, found)
    results.show_movers_chart(made, found)


board()
