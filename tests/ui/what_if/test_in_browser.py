"""What-if while a slider moves, in a browser: nothing jumps, and the rows that move most follow when the hand rests."""

from __future__ import annotations

import json

import pytest

from core.ui.what_if import at_rest
from tests.ui.conftest import OpenTab, settle
from tests.ui.serving import Server

pytestmark = pytest.mark.browser

LABELLED = "simulated debate"
# Notes at every frame the height of the page and where its figures that are drawn begin.
FRAMES = """() => { window.frames_seen = new Set(); const look = () => {
  const main = document.querySelector('[data-testid=stMain]');
  const tops = [...document.querySelectorAll('.st-key-movers, [data-testid=stPlotlyChart]')]
    .filter(each => each.offsetParent).map(each => Math.round(each.getBoundingClientRect().top + main.scrollTop));
  window.frames_seen.add(JSON.stringify([main.scrollHeight, [...new Set(tops)]]));
  requestAnimationFrame(look); }; look(); }"""
FIRST_ROWS = ".st-key-movers [data-testid=stPlotlyChart] .ytick"
CHANGE = "[data-testid=stMain] [data-testid=stMarkdownContainer] p > strong:first-child"


def test_nothing_jumps_while_a_slider_moves_and_rows_follow_when_the_hand_rests(open_tab: OpenTab, demo_server: Server) -> None:
    page = open_tab(reduced_motion="no-preference")  # what fades may jump, too
    page.goto(demo_server.url("what_if", run=LABELLED))
    settle(page)
    page.locator(FIRST_ROWS).first.wait_for()
    rows, change = page.locator(FIRST_ROWS).all_text_contents(), page.locator(CHANGE).first.inner_text()
    page.evaluate(FRAMES)
    slider = page.locator(".st-key-w_de_knn input[type=range]")
    for _ in range(3):
        slider.press("ArrowRight")
        page.wait_for_timeout(150)
    page.wait_for_function("([words, before]) => document.querySelector(words).innerText !== before", arg=[CHANGE, change])
    page.wait_for_function(
        "([rows, before]) => [...document.querySelectorAll(rows)].map(each => each.textContent).join() !== before",
        arg=[FIRST_ROWS, ",".join(rows)],
    )
    page.wait_for_timeout(at_rest.REST_MS)
    heights = {json.loads(frame)[0] for frame in page.evaluate("[...window.frames_seen]")}
    tops = {tuple(json.loads(frame)[1]) for frame in page.evaluate("[...window.frames_seen]")}
    assert len(heights) == 1
    assert len({top for each in tops for top in each}) == len(max(tops, key=len))  # no figure was ever elsewhere
