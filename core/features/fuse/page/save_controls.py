"""Save the fusion on screen: as a preset, as a run, applied to a test run, or as one HTML file with
movable weights."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core.base import environment
from core.base.fields.record import option_of, options_of
from core.features.fuse.explorer.content import Mix
from core.features.fuse.explorer.travel import Fusion, data_of_file
from core.features.fuse.page import fusion_controls, results
from core.features.fuse.page.fusion_controls import (
    KNN,
    NOT_HERE,
    PAGE,
    PREFIXES,
    FusionChoice,
)
from core.features.neighbours.page import neighbour_controls
from core.methods.fusion_components import describe_rest
from core.methods.fusion_settings import FusionSettings
from core.runs import actions as runs
from core.runs import component_loader
from core.runs.component_requests import FusionRequest
from core.runs.workspace import Workspace
from core.scoring.sentences import interval_text
from core.store.runs import Run
from core.transfer.fusion import LiveFusion
from core.transfer.knn_settings import read_knn_settings
from core.transfer.protocols import EvaluationProtocol
from core.transfer.run_cells import describe_scoring
from core.ui import links, widgets
from core.ui.linked import bind, choose_one
from core.ui.links import confirm
from core.ui.loaders.records import all_presets, all_runs, count_labelled, shared_row_counts
from core.ui.option_controls import key_of, show_control, with_missing
from core.ui.shell import PageContext, explain_errors
from core.ui.widgets import View, as_text, file_name_of

_NOW = "as on the page"  # the first mix of the file


def show_save_controls(
    context: PageContext, choice: FusionChoice, baseline: Run, prepared: LiveFusion
) -> None:
    """Show presets, the file, saving and the test run in one row; a read-only workspace has the
    first two."""
    one, four, two, three, five = st.columns(
        [0.19, 0.22, 0.23, 0.28, 0.08], vertical_alignment="bottom"
    )
    some: dict[str, Any] = {"width": "stretch", "on_change": "rerun"}
    along = four.popover("Take along", icon=":material/download:", key="open-along", **some)
    if widgets.was_opened(along, "along", ["take_labels"]):
        with along:
            show_take_along(context.workspace, choice, baseline, prepared)
    presets = one.popover("Presets", icon=":material/bookmark:", key="open-presets", **some)
    if widgets.was_opened(presets, "presets"):
        with presets:
            _show_presets(context.workspace, choice)
    if context.read_only:
        return
    saving = two.popover("Save as run", icon=":material/save:", key="open-saving", **some)
    if widgets.was_opened(saving, "saving", ["mix_name"]):
        with saving:
            name = _show_name(choice, choice.base, "mix_name")
            if choice.knn is not None:
                st.caption("The neighbours are saved as a separate run, the fusion's parent.")
            if st.button("Save", type="primary", disabled=not name.strip(), key="save-mix"):
                _save_fusion(context.workspace, choice, name, choice.base, {})
    some["disabled"] = not count_labelled(choice.base.id, "training")
    twin = three.popover(
        "Apply to a test run", icon=":material/content_copy:", key="open-twin", **some
    )
    of_twins = ["twin", "twin_name", *(f"twin_{name}" for name in choice.others)]
    if widgets.was_opened(twin, "twin", of_twins):
        with twin:
            _show_test_twin(context, choice)
    with five.container(horizontal=True, gap=None):
        widgets.show_keepers(
            context.workspace, partial(_make_view, choice, baseline, prepared), "fusion"
        )


def _make_view(choice: FusionChoice, baseline: Run, prepared: LiveFusion) -> View:
    """Return the fusion on screen: its weights, scores, weight map and address."""
    parts = zip(choice.titles.values(), choice.w_de, choice.w_dir, strict=True)
    shares = "; ".join(
        f"{name} by {de:.2f} in P(DE), {up:.2f} in P(up | DE)" for name, de, up in parts
    )
    title = f"{choice.base.name} with {shares}, against {baseline.name}"
    view = View(choice.dataset.id, title, links.address_of_view(), run=choice.base.id)
    plane = results.draw_plane(choice, prepared) if choice.labelled else None
    if plane is None:
        return view
    change = prepared.score_at(choice.settings().weights()).mean.change.shown
    said = (
        f"This fusion changes the mean by {interval_text(change, signed=True)} against"
        f" {baseline.name}."
    )
    return replace(view, sentence=said, figure=plane)


def show_baseline(context: PageContext, choice: FusionChoice, place: DeltaGenerator) -> Run:
    """Show the choice of the baseline of changes: the base, or another run with all of its rows.

    Show nothing without labels, since no change can be measured.
    """
    base = choice.base
    if not choice.labelled:
        return base
    shared = shared_row_counts(base.id)
    options = {base.id: base} | {
        run.id: run for run in context.runs if shared.get(run.id) == base.total
    }
    names = {key: run.name for key, run in options.items()}
    chosen = choose_one(place.selectbox, "baseline", "Change against", names, base.id)
    return options[chosen or base.id]


def _show_presets(workspace: Workspace, choice: FusionChoice) -> None:
    named = all_presets(PAGE)
    for name, settings in named.items():
        st.button(
            as_text(name),
            on_click=st.session_state.update,
            args=(settings,),
            key=f"preset-{name}",
            width="stretch",
        )
    if workspace.settings.read_only:
        return
    name = st.text_input("Save these settings as", key="preset_name")
    if st.button("Save preset", disabled=not name.strip(), key="save-preset"):
        keys = [
            *neighbour_controls.KEYS,
            *(
                key_of(option, "")
                for option in options_of(FusionSettings)
                if option.name not in (*NOT_HERE, "with")
            ),
            *(f"{prefix}_{key}" for key in choice.others for prefix in PREFIXES),
        ]
        values = {key: st.session_state[key] for key in keys if key in st.session_state}
        runs.save_preset(workspace, PAGE, name, values)
        confirm(f"Saved the preset {name.strip()}.", links.to_changes)
    gone = st.selectbox(
        "Delete a preset",
        list(named),
        index=None,
        key="preset_gone",
        disabled=not named,
        placeholder="choose",
    )
    if gone is not None and st.button("Delete preset", key="delete-preset"):
        runs.delete_preset(workspace, PAGE, gone)
        confirm(f"Deleted the preset {gone}.", links.to_changes)


def _show_test_twin(context: PageContext, choice: FusionChoice) -> None:
    """Show the form that applies the weights and settings to runs on test rows, each in place of a
    component's run."""
    test = {run.id: run for run in context.runs if not count_labelled(run.id, "training")}
    if not test:
        st.markdown("No run of this dataset has only test rows.")
        return
    names = {key: run.name for key, run in test.items()}
    twins = {}
    replaced = [
        choice.base.id,
        *(key for key in choice.others if key not in fusion_controls.knn_ids()),
    ]
    for key in replaced:
        parameter, label = (
            "twin" if key == choice.base.id else f"twin_{key}",
            f"In place of {choice.titles.get(key, choice.base.name)}",
        )
        twin = choose_one(
            st.selectbox, parameter, label, names, index=None, placeholder="a test run"
        )
        if twin is not None:
            twins[key] = twin
    if len(twins) < len(replaced):
        return
    base = test[twins.pop(choice.base.id)]
    name = _show_name(choice, base, "twin_name")
    if st.button("Apply and save", type="primary", disabled=not name.strip(), key="save-twin"):
        _save_fusion(context.workspace, choice, name, base, twins)


def _show_name(choice: FusionChoice, base: Run, key: str) -> str:
    """Show the control of the new run's name and return it; by default the names of its
    components."""
    knn = f"kNN {'+'.join(choice.knn.spaces)}" if choice.knn else ""
    usual = " + ".join(
        [base.name, *(knn if other == KNN else choice.titles[other] for other in choice.others)]
    )
    return show_control(with_missing(option_of(FusionRequest, "name"), usual), key) or usual


def _save_fusion(
    workspace: Workspace, choice: FusionChoice, name: str, base: Run, twins: dict[str, str]
) -> None:
    """Save the fusion and the kNN runs that it needs; for a test run, the kNN runs use all labelled
    rows."""
    from core.runs import launch  # imports every method, for which opening the page need not wait

    on_test = base.id != choice.base.id
    with explain_errors():
        with st.spinner("Saving …"):
            others = [
                _save_component(workspace, choice, key, name, on_test, twins)
                for key in choice.others
            ]
            references = dict(choice.how.references)
            if on_test and choice.how.reference == "train":
                references = {base.id: references.get(choice.base.id, choice.base.id)}
                references |= {twins[key]: key for key in twins}
            settings = replace(
                choice.settings(), base=base.id, others=tuple(others), references=references
            )
            run = launch.start(
                workspace, component_loader.fusion_request(base.dataset, settings, name)
            )
        confirm(
            f"{f'Applied to {base.name}, saved' if on_test else 'Saved'} as {run.name}:"
            f" {run.total:,} rows.",
            lambda: links.to_rows(run, "Open rows"),
            *(
                []
                if choice.dataset.headline == "macro"
                else [lambda: links.to_submit(run, "Check and export the submission")]
            ),
        )


def _save_component(
    workspace: Workspace,
    choice: FusionChoice,
    key: str,
    name: str,
    on_test: bool,
    twins: dict[str, str],
) -> str:
    """Return the id of a component's run, which is saved first if it is a live kNN or a kNN on
    other rows."""
    if key in twins:
        return twins[key]
    run = next((run for run in all_runs() if run.id == key), None)
    settings = (
        choice.knn
        if run is None
        else read_knn_settings(run.spec)
        if run.method == "knn" and on_test
        else None
    )
    if settings is None:
        return key
    if on_test:
        settings = replace(settings, protocol=EvaluationProtocol("test"))
    request = component_loader.knn_request(
        choice.dataset, settings, f"{name}: {'neighbours' if run is None else run.name}"
    )
    from core.runs import launch

    return launch.start(workspace, request).id


def show_take_along(
    workspace: Workspace, choice: FusionChoice, baseline: Run, prepared: LiveFusion
) -> None:
    """Show the choice whether the file has labels, and the button that makes it."""
    labels = choice.labelled and st.toggle(
        "With the labels of its rows", value=True, **bind("take_labels", default=True)
    )
    now = Mix(_NOW, tuple(choice.sliders["de"]), tuple(choice.sliders["up"]))
    fusion = Fusion(
        f"{choice.dataset.name} · {choice.base.name} with {', '.join(choice.titles.values())}",
        prepared,
        results.name_rows(choice, baseline),
        results.find_noise(choice, baseline) if choice.labelled else None,
        describe_scoring(fusion_controls.protocols_of(choice)),
        describe_rest(choice.how),
    )
    build = partial(_make, workspace, fusion, now, fusion_controls.of_choice(choice), labels=labels)
    st.download_button(
        "HTML file",
        build,
        f"{file_name_of('fusion')}.html",
        key="take-along",
        on_click="ignore",
        icon=":material/download:",
    )
    if choice.labelled:
        moved = "scores, intervals and the weight map" if labels else "ranks (it has no labels)"
        st.caption(
            f"It opens in a browser offline and contacts no server: {moved} update as you drag."
        )


def _make(
    workspace: Workspace, fusion: Fusion, now: Mix, saved: list[Mix], *, labels: bool
) -> bytes:
    content = data_of_file(fusion, now, saved, labels=labels).file()
    environment.refuse_secrets(workspace.settings, "the fusion", [content])
    return content
