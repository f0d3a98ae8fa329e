"""Keeping what What-if shows: presets, a run, the same on a test run."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import streamlit as st

from core.actions import launch, presets, transfer
from core.actions.workspace import Workspace
from core.errors import DeskError
from core.methods.components import FusionSettings
from core.store.runs import Run
from core.transfer.knn_settings import read_knn_settings
from core.transfer.protocols import EvaluationProtocol
from core.ui.shared import links, loaders, neighbour_controls
from core.ui.shared.shell import PageContext, show_error
from core.ui.shared.widgets import as_text
from core.ui.what_if.fusion_controls import KNN, FusionChoice

PAGE = "what-if"
# Weights that published entries were made with; for one other component, whatever it is.
STARTERS = {"half and half": (0.5, 0.5), "direction more": (0.5, 0.7), "base alone": (0.0, 0.0)}
_SAVED = "_kept"  # session key: what was made, shown after the rerun that lets the sidebar see it


def bar(view: PageContext, made: FusionChoice) -> Run:
    """The baseline (which it gives back), presets, saving, and the test twin, in one row."""
    base, one, two, three = st.columns([0.34, 0.2, 0.22, 0.24], vertical_alignment="bottom")
    with base:
        baseline = _choose_baseline(view, made.base) if made.labelled else made.base
    with one.popover("Presets", width="stretch", icon=":material/bookmark:"):
        _presets(view.workspace, made)
    if view.workspace.settings.read_only:
        return baseline
    with two.popover("Save as run", width="stretch", icon=":material/save:"):
        _save(view, made)
    with three.popover("Apply to a test run", width="stretch", icon=":material/content_copy:", disabled=not made.labelled):
        _twin(view, made)
    return baseline


def _choose_baseline(view: PageContext, base: Run) -> Run:
    """The run that changes are told against: the base, or another that has all of its rows."""
    shared = loaders.shared_row_counts(base.id)
    options = {base.id: base} | {run.id: run for run in view.runs if shared.get(run.id) == base.total}
    wanted = st.query_params.get("baseline")
    at = list(options).index(wanted) if wanted in options else 0
    chosen = st.selectbox(
        "Change against", list(options), index=at, format_func=lambda key: options[key].name, key=f"baseline-mix-{base.id}"
    )
    links.set_parameter("baseline", chosen if chosen != base.id else None)
    return options[chosen]


def show_saved() -> None:
    """What was just made, linked to where it can be read."""
    kept: list[str] = st.session_state.pop(_SAVED, [])
    for run in [run for run in loaders.all_runs() if run.id in kept]:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(f"✓ Saved as **{as_text(run.name)}**: {run.total:,} rows.", width="content")
            links.to_rows(run, "Read its rows")
            links.to_submit(run, "Check and export as a submission")


def _presets(workspace: Workspace, made: FusionChoice) -> None:
    for name, (w_de, w_dir) in STARTERS.items():
        settings = {
            f"{prefix}_{key}": value / len(made.others)
            for key in made.others
            for prefix, value in (("w_de", w_de), ("w_dir", w_dir))
        }
        st.button(name, on_click=_apply, args=(settings,), key=f"starter-{name}", width="stretch")
    named = loaders.all_presets(PAGE)
    for name, settings in named.items():
        st.button(as_text(name), on_click=_apply, args=(settings,), key=f"preset-{name}", width="stretch")
    if workspace.settings.read_only:
        return
    name = st.text_input("Keep these settings as", key="preset_name")
    if st.button("Keep", disabled=not name.strip(), key="keep-preset"):
        presets.save(workspace, PAGE, name, _settings(made))
        st.rerun()
    gone = st.selectbox("Forget", list(named), index=None, key="preset_gone", disabled=not named, placeholder="a preset")
    if gone is not None and st.button("Forget it", key="forget-preset"):
        presets.delete(workspace, PAGE, gone)
        st.rerun()


def _settings(made: FusionChoice) -> dict[str, Any]:
    """The values of the widgets that make the mix."""
    keys = [*neighbour_controls.KEYS, "over", *(f"{prefix}_{key}" for key in made.others for prefix in ("w_de", "w_dir"))]
    return {key: st.session_state[key] for key in keys if key in st.session_state}


def _apply(settings: dict[str, Any]) -> None:
    for key, value in settings.items():
        st.session_state[key] = value


def _save(view: PageContext, made: FusionChoice) -> None:
    name = st.text_input("Name of the new run", f"{made.base.name} + {_others(view, made)}", key="mix_name")
    if made.plan is not None:
        st.caption("The neighbours are saved as a run of their own, which the fusion names as its parent.")
    if st.button("Save", type="primary", disabled=not name.strip(), key="save-mix"):
        _make(view.workspace, made, name, made.base, {})


def _twin(view: PageContext, made: FusionChoice) -> None:
    """Weights and settings tuned here, on a run without labels: what is submitted."""
    known = loaders.labelled_counts().set_index("run")["labelled"]
    test = {run.id: run for run in view.runs if known.get(run.id, 0) == 0}
    if not test:
        st.markdown("No run of this dataset is on unlabelled rows.")
        return
    base = _pick(f"In place of {made.base.name}", test, "twin-base")
    methods = {run.id: run.method for run in view.runs}
    names = {run.id: run.name for run in view.runs}
    others = {
        key: _pick(f"In place of {names[key]}", test, f"twin-{key}")
        for key in made.others
        if key != KNN and methods[key] != "knn"
    }
    if any(found is None for found in others.values()) or base is None:
        return
    name = st.text_input("Name of the new run", f"{base.name} + {_others(view, made)}", key="twin_name")
    if st.button("Apply and save", type="primary", disabled=not name.strip(), key="save-twin"):
        _make(view.workspace, made, name, base, {key: found.id for key, found in others.items() if found is not None})


def _pick(label: str, options: dict[str, Run], key: str) -> Run | None:
    chosen = st.selectbox(
        label, list(options), index=None, format_func=lambda k: options[k].name, key=key, placeholder="a test run"
    )
    return options[chosen] if chosen is not None else None


def _others(view: PageContext, made: FusionChoice) -> str:
    names = {run.id: run.name for run in view.runs} | {KNN: f"kNN {'+'.join(made.plan.spaces)}" if made.plan else ""}
    return " + ".join(names[key] for key in made.others)


def _make(workspace: Workspace, made: FusionChoice, name: str, base: Run, twins: dict[str, str]) -> None:
    """Save the fusion, and the kNN runs that it needs; on a test run they see all labelled rows."""
    on_test = base.id != made.base.id
    try:
        with st.spinner("Saving …"):
            others = [_parent(workspace, made, key, name, on_test, twins) for key in made.others]
            references = dict(made.references)
            if on_test and made.reference == "train":
                references = {base.id: references.get(made.base.id, made.base.id)}
                references |= {twins[key]: key for key in twins}
            settings = FusionSettings(base.id, tuple(others), made.w_de, made.w_dir, made.reference, references)
            run = launch.start(workspace, transfer.fusion_request(base.dataset, settings, name))
    except DeskError as error:
        show_error(error)
        return
    st.session_state[_SAVED] = [run.id]
    st.rerun()


def _parent(workspace: Workspace, made: FusionChoice, key: str, name: str, on_test: bool, twins: dict[str, str]) -> str:
    """The id of the run that stands behind a component."""
    if key in twins:
        return twins[key]
    run = next((run for run in loaders.all_runs() if run.id == key), None)
    plan = made.plan if run is None else read_knn_settings(run.spec) if run.method == "knn" and on_test else None
    if plan is None:
        return key
    if on_test:
        plan = replace(plan, protocol=EvaluationProtocol("test"))
    request = transfer.knn_request(made.dataset, plan, f"{name}: {'neighbours' if run is None else run.name}")
    return launch.start(workspace, request).id
