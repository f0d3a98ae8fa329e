"""The parts of the page Share's tab Walk-throughs: choose one, edit and order its stops, play and
export it.

Slides that play in the page, and full-screen by a click: the file itself, in a frame.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

import streamlit as st

from core.base import environment
from core.base.hashes import sha256_of
from core.features.sharing import walks
from core.features.sharing.page import stop_buttons
from core.features.sharing.report.walk import walk_file
from core.features.sharing.walks import Stop
from core.plots import printed
from core.runs.workspace import Workspace
from core.ui.linked import choose_one
from core.ui.shell import PageContext
from core.ui.widgets import as_text, show_empty

_HTML = """<div class="player"><button type="button">▶ Play full-screen</button>
<iframe title="Slides" allow="fullscreen"></iframe></div>"""
_CSS = """.player { display: flex; flex-direction: column; gap: 0.5rem; }
button { align-self: start; border: 1px solid var(--st-primary-color); border-radius: 0.5rem;
  background: var(--st-primary-color);
  color: #fff; cursor: pointer; font: inherit; padding: 0.3rem 0.9rem; }
button:focus-visible { outline: 2px solid var(--st-text-color); outline-offset: 2px; }
iframe { width: 100%; aspect-ratio: 16 / 9; border: 1px solid var(--st-border-color);
  border-radius: 0.5rem; }
iframe:fullscreen { border: 0; border-radius: 0; }"""
_PLAYER = Path(__file__).with_name("player.js").read_text("utf-8")
_player = st.components.v2.component("player", html=_HTML, css=_CSS, js=_PLAYER)


_NONE = (
    "No stops yet. While you read, click :material/add_location_alt: beside a row, a figure or a"
    " comparison: it becomes a stop of the walk-through."
)


def show(context: PageContext) -> None:
    """Show the walk-throughs of the dataset."""
    if context.dataset is None:
        show_empty(_NONE)
        return
    workspace, dataset = context.workspace, context.dataset.id
    known = [name for home, name, _ in stop_buttons.all_walks() if home == dataset]
    left, right = st.columns([0.6, 0.4], vertical_alignment="bottom")
    with right:
        _show_new(workspace)
    if not known:
        show_empty(_NONE)
        return
    with left:
        chosen = choose_one(
            st.selectbox, "walk", "Walk-through", {name: name for name in known}, known[0]
        )
    if chosen is None:
        return
    stops = stop_buttons.walk_stops(dataset, chosen)
    form, view = st.columns([0.42, 0.58], gap="medium")
    with view:
        with workspace.store.read() as db:
            page = walk_file(db, dataset, chosen, stop_buttons.base_of_stops())
        environment.refuse_secrets(workspace.settings, f"walk-through {chosen}", [page])
        # Show slides; the arrow keys move through them once they are clicked or play
        _player(
            key="walk-player",
            data={"page": page.decode(), "version": sha256_of(page)},
            width="stretch",
        )
        file = printed.file_name(chosen)
        with st.container(horizontal=True):
            st.download_button(
                "Slides",
                page,
                f"{file}.html",
                key="walk-html",
                on_click="ignore",
                icon=":material/download:",
            )
        st.caption("One file that plays offline and can be printed; each stop links to its view.")
    with form:
        for place, stop in enumerate(stops):
            _show_stop(workspace, stop, place, len(stops))
        _show_delete(workspace, dataset, chosen)


def _show_new(workspace: Workspace) -> None:
    """Show the walk-through that receives new stops, and a form for a new one."""
    if workspace.settings.read_only:
        return
    with st.popover(
        f"New stops go to: {as_text(stop_buttons.current_walk())}",
        icon=":material/add_location_alt:",
        width="stretch",
    ):
        name = st.text_input("Name of the walk-through", key="name-walk", max_chars=60)
        if st.button("Add stops to it", key="choose-walk") and name.strip():
            st.session_state[stop_buttons.WALK] = name.strip()
            st.rerun()


def _show_stop(workspace: Workspace, stop: Stop, place: int, n: int) -> None:
    """Show a stop with its link and its controls."""
    tools_of_stop = (
        (
            "up",
            ":material/arrow_upward:",
            "Move up",
            place == 0,
            partial(walks.move_stop, workspace, stop.id, -1),
        ),
        (
            "down",
            ":material/arrow_downward:",
            "Move down",
            place == n - 1,
            partial(walks.move_stop, workspace, stop.id, 1),
        ),
        (
            "out",
            ":material/close:",
            "Remove this stop",
            False,
            partial(walks.delete_stop, workspace, stop.id),
        ),
    )
    with st.container(border=True, gap="small", key=f"stop-{stop.id}"):
        title, tools = st.columns([0.72, 0.28], vertical_alignment="top")
        title.markdown(f"**{place + 1}** · [{as_text(stop.title)}]({stop.address})")
        if not workspace.settings.read_only:
            with tools.container(horizontal=True, horizontal_alignment="right", gap=None):
                for name, icon, words, is_off, act in tools_of_stop:
                    key = f"stop-{name}-{stop.id}"
                    if st.button(
                        "", icon=icon, help=words, key=key, type="tertiary", disabled=is_off
                    ):
                        act()
                        st.rerun()
        if workspace.settings.read_only:
            st.text(stop.sentence)
            return
        said = st.text_area(
            "What this stop shows, in a sentence",
            stop.sentence,
            key=f"note-{stop.id}",
            height="content",
            max_chars=walks.LONGEST,
            placeholder="What this stop shows, in a sentence",
            label_visibility="collapsed",
        )
        if said != stop.sentence:
            walks.set_sentence(workspace, stop.id, said)
            st.rerun()


def _show_delete(workspace: Workspace, dataset: str, name: str) -> None:
    if workspace.settings.read_only:
        return
    with st.popover("Delete the walk-through", icon=":material/delete:"):
        st.markdown(f"This deletes its stops; exported files stay: {as_text(name)}.")
        if st.button("Delete it", key="delete-walk"):
            walks.delete_walk(workspace, dataset, name)
            st.rerun()
