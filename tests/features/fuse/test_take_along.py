"""A fusion that travels: in one file, in the report, in slides and in the site; with labels or without."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from core.base.errors import InputError
from core.features.fuse.explorer import travel
from core.features.fuse.explorer.content import (
    METRICS,
    ExplorerData,
    FusionRows,
    Mix,
    make_content,
    starters,
    state_of_file,
)
from core.features.fuse.explorer.travel import Fusion, data_of_file
from core.features.sharing.report.selection import select
from core.features.sharing.site.actions import write_site
from core.runs.workspace import Workspace
from core.scoring import run_scores
from core.transfer.fusion import Component, live_fusion
from core.transfer.row_index import rows_of
from tests.commands import core_json
from tests.features.fuse.explorer_view import live_of, widened
from tests.features.sharing.built import build_report
from tests.ui.conftest import FUSED, LABELLED, OpenTab

N = 10_000
LARGEST = 2_000_000  # bytes of a file with so many rows
DATA = re.compile(
    r'<script type="application/json" id="(?:fusion|explorer-\d+)-data">(.*?)</script>', re.DOTALL
)


def data_in(file: bytes) -> list[dict[str, Any]]:
    """The content and state of every explorer in a file."""
    return [json.loads(found) for found in DATA.findall(file.decode())]


def large_fusion(others: int, title: str = "large") -> tuple[Fusion, Mix]:
    """A fusion of N rows."""
    rng = np.random.default_rng(3)
    labels = rng.choice(np.array(["up", "down", "none"], dtype=object), N)
    components = [Component(str(i), *rng.random((2, N))) for i in range(others + 1)]
    rows = rows_of(rng.integers(0, 400, N), rng.integers(0, 2000, N))
    live = live_fusion(labels, rows, components, cells=rng.integers(0, 25, N))
    names = [f"Gene{i}" for i in range(N)]
    ids = [f"{a}_{b}" for a, b in zip(names, reversed(names), strict=True)]
    keys = [str(i) for i in range(others)]
    fusion = Fusion(
        title,
        live,
        FusionRows(ids, names, names, ["base", *keys], keys, "base"),
        None,
        "all rows",
        "",
    )
    return fusion, Mix("now", (0.2,) * others, (0.1,) * others)


@pytest.mark.soak
def test_a_file_of_ten_thousand_rows_is_small() -> None:
    fusion, mix = large_fusion(3)
    state = state_of_file(mix, starters(3), None, {"caution": "", "rest": "", "note": ""})
    assert (
        len(ExplorerData("large", make_content(fusion.live, fusion.rows), state).file()) <= LARGEST
    )


def test_without_labels_a_file_says_what_its_mix_scores() -> None:
    [data] = data_in(data_of_file(*large_fusion(1), labels=False).file())
    assert [data["content"][name] for name in ("outcome", "cells", "reach")] == [None] * 3
    assert data["state"]["caution"].startswith(
        "On its author's labels, which are not in the file, now: mean 0."
    )


def test_a_title_is_text_and_no_part_of_the_page() -> None:
    fusion = large_fusion(1, "</title><script>{place}{script}")
    file = data_of_file(*fusion, labels=False).file().decode()
    assert "&lt;/title&gt;&lt;script&gt;{place}{script}" in file
    assert set(re.findall(r"https?://[^\s\"'<>]*", file)) == {
        "http://www.w3.org/2000/svg"
    }  # a name, not an address


@pytest.mark.soak
def test_a_file_holds_the_numbers_of_the_saved_run(fused_demo: Workspace) -> None:
    with fused_demo.store.read() as db:
        saved = run_scores.score_run(run_scores.load_scored_rows(db, FUSED)).whole
    file = travel.fusion_file(fused_demo, FUSED, labels=True)
    assert file == travel.fusion_file(fused_demo, FUSED, labels=True)
    [data] = data_in(file)
    content, state = data["content"], data["state"]
    mix = Mix("", tuple(state["de"]), tuple(state["up"]))
    found = widened(live_of(content).score_at(mix.weights()), state["noise"])
    for name in METRICS:
        ours, theirs = getattr(found, name).after.shown, getattr(saved, name).shown
        assert (ours.estimate, ours.low, ours.high) == pytest.approx(
            (theirs.estimate, theirs.low, theirs.high), abs=1e-12
        )
    assert [each["name"] for each in state["mixes"]][:2] == ["as saved", "base run alone"]
    assert state["mixes"][0]["noise"] == state["noise"] != state["mixes"][1]["noise"]


def test_what_is_no_fusion_is_refused(fused_demo: Workspace) -> None:
    with pytest.raises(InputError, match="expected a fusion"):
        travel.fusion_file(fused_demo, LABELLED, labels=True)


@pytest.mark.soak
def test_report_and_slides_hold_it_with_labels(fused_demo: Workspace) -> None:
    with fused_demo.store.read() as db:
        selection = select(db, [LABELLED, FUSED], figures=["ladder"])
    for slides in (False, True):
        file = build_report(fused_demo, "r", selection, slides=slides).content
        assert [data["content"]["outcome"] is not None for data in data_in(file)] == [True]


@pytest.mark.soak
def test_a_site_of_a_fusion_leads_to_it(fused_demo: Workspace, tmp_path: Path) -> None:
    fused, other = tmp_path / "fused", tmp_path / "other"
    write_site(fused_demo, FUSED, fused)
    assert 'href="fusion.html"' in (fused / "index.html").read_text()
    assert len(data_in((fused / "fusion.html").read_bytes())) == 1
    assert "fusion.html" not in write_site(fused_demo, LABELLED, other).paths
    assert "{fusion}" not in (other / "index.html").read_text()


@pytest.mark.soak
@pytest.mark.browser
def test_it_opens_from_disk_without_a_network(
    fused_demo: Workspace, tmp_path: Path, open_tab: OpenTab
) -> None:
    out = tmp_path / "fused.html"
    written = core_json(fused_demo, "report", "fusion", FUSED, "--out", str(out))
    assert (written["bytes"], written["labels"]) == (out.stat().st_size, True)
    page = open_tab(offline=True)
    faults = []
    page.on("console", lambda message: faults.append(message.text))
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.goto(out.as_uri())
    page.locator(".fusion .best text").wait_for()
    before = page.locator(".fusion .words").inner_text()
    assert f"{LABELLED} alone: mean" in before
    page.get_by_role("button", name="base run alone").click()
    page.locator(".fusion .words").filter(has_text="nothing is fused with it").wait_for()
    page.get_by_role("button", name="as saved").click()
    page.locator(".fusion .words").filter(has_text=before).wait_for()
    page.get_by_role("slider", name="arrow keys move it").press("ArrowUp")
    page.locator(".fusion output").nth(1).filter(has_text="0.51").wait_for()
    assert faults == []
