"""What-if: what if we weigh it otherwise?"""

import streamlit as st

from core.ui.shared import loaders, run_browser, shell
from core.ui.what_if import fusion_controls, movers, results, save_controls

context = shell.open_page(__file__)
st.markdown("## What-if")
run, dataset = context.run, context.dataset
if run is None or dataset is None:
    run_browser.show_no_run(context)
    st.stop()


@shell.fragment
def show_fusion() -> None:
    """Show the controls and everything that changes with them."""
    labelled = bool(loaders.run_rows(run.id)["label"].notna().any())
    numbers = st.container()
    moved = fusion_controls.moved_choice(run)
    found = results.show_comparison(numbers, *moved) if moved else None
    choice = fusion_controls.show_fusion_controls(dataset, run, context.runs, labelled)
    if choice is None:
        return
    places = save_controls.make_places()
    baseline = save_controls.show_baseline(context, choice, places[0])
    if moved not in (None, (choice, baseline)):  # more has changed: the numbers above are of another fusion
        st.rerun()
    fusion_controls.keep_choice(choice, baseline)
    prepared, comparison = found or results.show_comparison(numbers, choice, baseline)
    save_controls.show_save_controls(context, choice, places)
    figure_side, remarks_side = st.columns([0.76, 0.24], gap="medium")
    with figure_side:
        position = fusion_controls.choose_component(choice) if labelled else 0
        search = results.search_weights(choice, position, prepared, baseline) if labelled else None
        if search is not None:
            results.show_weight_grid(choice, position, search)
        else:
            results.show_rank_scatter(choice, comparison)
    with remarks_side:
        results.show_headline(choice, comparison)
        results.show_caveats(choice, prepared, search)
        results.show_remarks(choice, comparison)
    movers.show_movers(choice, comparison)


show_fusion()
