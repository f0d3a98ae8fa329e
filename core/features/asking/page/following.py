"""Follow a row while the page is open: an ad-hoc run's row, or the row that another run predicts
now.

A fragment polls the run's folder for a second and sends changes; then the browser requests the next
second. After the page is closed, the worker stops writing.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import streamlit as st

from core.base.types import LIVE_STATES
from core.features.asking import actions as ask
from core.features.asking.page import live_row
from core.features.asking.page.live_row import LiveRow
from core.features.asking.question import SCRIPTED
from core.runs.jobs import control
from core.runs.row_watch import Watcher
from core.runs.run_state import state_of
from core.runs.workspace import Workspace
from core.store.runs import Run
from core.ui import links
from core.ui.job_panel import Button, job_of_run, show_job
from core.ui.loaders.records import row_details
from core.ui.shell import PageContext, draw_page_anew, fragment

LOOK_S = 0.04  # between two reads of the events
# between two runs of the fragment; each polls a little longer, so that there is no gap
EVERY_S = 1.0
_TICK_S = 0.5  # between two drawings if only the seconds have changed
_STYLE = Path(__file__).with_name("ask.css")


@dataclass(slots=True)
class Following:
    """The row that a browser tab follows. is_lost: whether the run ended before its row did.

    state_at: when the run's state was read, in monotonic seconds.
    """

    watcher: Watcher
    row: LiveRow = field(default_factory=LiveRow)
    is_lost: bool = False
    state_at: float = 0.0

    @property
    def is_over(self) -> bool:
        """Whether the row is complete or lost."""
        return self.row.is_over or self.is_lost

    def look(self, workspace: Workspace, run: Run) -> bool:
        """Read new events; return whether there were any."""
        self.watcher.renew()
        is_new = self.row.take(self.watcher.read())
        if not is_new and not self.row.is_over and time.monotonic() - self.state_at > _TICK_S:
            self.state_at = time.monotonic()
            state, _ = state_of(workspace.run_folder(run.id))
            if state not in LIVE_STATES and not self.row.take(self.watcher.read()):
                self.is_lost = True
                self.row.give_up()
        return is_new or self.is_lost


def show(context: PageContext, run: Run) -> LiveRow | None:
    """Show the row of an ad-hoc run, or the row that another run predicts now; return it once it is
    complete.

    Redraw the page then.
    """
    workspace, key = context.workspace, f"_following-{run.id}"
    st.html(_STYLE)
    finished = _from_store(workspace, run) if run.is_asked and key not in st.session_state else None
    if finished is not None:
        _Drawn().update(finished, run)
        return finished
    if workspace.settings.read_only:
        st.caption("This workspace is read-only: you cannot watch rows here.")
        _show_job(workspace, run)
        return None
    if key not in st.session_state:
        st.session_state[key] = Following(ask.watch(workspace, run.id))
    following: Following = st.session_state[key]
    if following.is_lost and run.is_asked and (finished := _from_store(workspace, run)) is not None:
        # it ended before its events could be read: its answers were cached, or it failed at once
        _Drawn().update(finished, run)
        return finished
    if following.is_over:
        if following.is_lost:
            if job_of_run(workspace, run).is_live:  # somebody else has resumed it
                forget(run.id)
                st.rerun()
            _show_job(workspace, run)
        _Drawn().update(following.row, run)
        is_next_offered = not following.is_lost and not run.is_asked
        if is_next_offered and st.button(
            "Watch the next row", icon=":material/visibility:", key=f"next-{run.id}"
        ):
            forget(run.id)
            st.rerun()
        return following.row if following.row.is_over else None

    def follow() -> None:
        if run.is_asked:  # another run is stopped on the page Run: many rows depend on it
            _show_job(workspace, run)
        deadline = time.monotonic() + 1.2 * EVERY_S
        following.look(workspace, run)
        drawn = _Drawn()
        drawn.update(following.row, run)
        drawn_at = time.monotonic()
        while time.monotonic() < deadline and not following.is_over:
            time.sleep(LOOK_S)
            if following.look(workspace, run) or time.monotonic() - drawn_at > _TICK_S:
                drawn.update(following.row, run)
                drawn_at = time.monotonic()
        if following.is_over:
            draw_page_anew()

    fragment(follow, every_s=EVERY_S)()
    return None


def forget(run: str) -> None:
    """Follow a run (id) from the beginning the next time."""
    following = st.session_state.pop(f"_following-{run}", None)
    if following is not None:
        following.watcher.close()


def _from_store(workspace: Workspace, run: Run) -> LiveRow | None:
    """Return the row of an ad-hoc run once it has ended, else None."""
    if not run.done and not run.failed:
        return None
    details = row_details(run.id, ask.pair_of(workspace, run).pair_id)
    return live_row.of_store(details.numbers, details.events, details.dossier)


class _Drawn:
    """The elements of one row on the page, each with its content."""

    def __init__(self) -> None:
        self._elements: dict[str, tuple[Any, str]] = {}
        self._place = st.container()

    def update(self, row: LiveRow, run: Run) -> None:
        """Send the changed elements."""
        simulated = run.model == SCRIPTED
        if not row.pair_id:
            self._set("numbers", '<div class="ask-line">Waiting for the worker …</div>')
            return
        self._set(
            "numbers",
            ("" if run.is_asked else live_row.draw_pair(row))
            + live_row.draw_numbers(row, simulated),
        )
        self._set("remarks", live_row.draw_remarks(row))
        self._set("cards", live_row.draw_cards(row, simulated))
        for name in row.stages:
            self._set(f"stage {name}", live_row.draw_stage(row, name, simulated))

    def _set(self, name: str, body: str) -> None:
        element, shown = self._elements.get(name, (None, ""))
        if body and body != shown:
            self._elements[name] = ((element or self._place).html(body), body)


def _show_job(workspace: Workspace, run: Run) -> None:
    """Show the job of a run. Once it is resumed, its row is followed from the beginning."""
    job = job_of_run(workspace, run)

    def resume() -> None:
        control.resume(
            workspace, job, by=(lambda *_: ask.resume(workspace, run.id)) if run.is_asked else None
        )
        forget(run.id)

    buttons = {"Resume": Button("Resume", resume, f"Resumed {run.name}.")} if job.can_resume else {}
    link = None if run.is_asked else lambda: links.to_run_page(run, "The run on the page Run")
    show_job(workspace, job, buttons=lambda: buttons, links=link, is_brief=True)
