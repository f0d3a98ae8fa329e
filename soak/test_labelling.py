"""Fifty labels by keyboard in a browser, on the demo: the time from a key to the next text, and every answer stored."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import numpy as np

from core.features.arguments import labels
from core.runs.workspace import Workspace
from core.store import runs
from soak.conftest import Record
from tests.conftest import demo_copy, demo_workspace
from tests.features.arguments.reading import (
    RUBRIC,
    STOPWATCH,
    stored,
    wait_for_text,
    wait_until_stored,
)
from tests.ui.conftest import browser, new_context, settle
from tests.ui.serving import serving

if TYPE_CHECKING:
    from playwright.sync_api import Browser

__all__ = ["browser", "demo_copy", "demo_workspace"]  # fixtures
LABELS, RUN = 50, "simulated debate"
MOST_MEDIAN_MS = 250
PACES_MS = {"as one reads": 400, "as fast as one types": 60}  # between two keys


def test_fifty_labels(browser: Browser, demo_copy: Workspace, record: Record) -> None:
    from core.features.arguments import readings

    readings.add_rubric(demo_copy, RUBRIC)
    sample = labels.draw_sample(demo_copy, RUBRIC, RUN, LABELS)
    with demo_copy.store.read() as db:
        run = runs.find(db, RUN)
    figures = {}
    with serving(demo_copy.settings.workspace) as server:
        for author, pace_ms in PACES_MS.items():
            context = new_context(browser)
            context.add_init_script(STOPWATCH)
            page = context.new_page()
            page.goto(
                server.url(
                    "arguments", run=run.id, tab="Label", rubric=RUBRIC.name, sample=sample.id
                )
            )
            page.get_by_label("Reader").fill(author)
            page.get_by_label("Reader").press("Enter")
            settle(page)
            wait_for_text(page)
            page.get_by_text(f"0 of {LABELS} read").wait_for()
            page.locator(".reader .text").click()
            page.evaluate("window.waits.length = 0")
            said = random.Random(0).choices(RUBRIC.answers, k=LABELS)
            for answer in said:
                page.keyboard.press(answer[0])
                page.wait_for_timeout(pace_ms)
            page.get_by_text("You have read every text of this sample.").wait_for()
            wait_until_stored(page)
            waits = page.evaluate("window.waits")
            context.close()
            assert len(waits) == LABELS
            figures[author] = waits
            found = {
                (label.pair_id, label.seq): label.answer
                for label in stored(demo_copy, RUN)
                if label.author == author
            }
            assert [found[text.pair_id, text.seq] for text in sample.texts] == said
    record(
        **{f"median ms, {author}": f"{np.median(waits):.0f}" for author, waits in figures.items()}
    )
    record(**{f"longest ms, {author}": f"{max(waits):.0f}" for author, waits in figures.items()})
    assert all(np.median(waits) <= MOST_MEDIAN_MS for waits in figures.values())
