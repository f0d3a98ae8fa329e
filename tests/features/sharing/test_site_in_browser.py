"""The site of a run in a browser, opened from disk: a row is found, read, filtered, searched, linked to and printed."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from core.features.importing.actions import import_upload
from core.features.importing.import_target import ImportOptions
from core.features.sharing.site.actions import write_site
from core.runs.workspace import Workspace
from core.store import predictions, runs
from core.store.predictions import RowFilter
from tests import cases
from tests.ui.test_views import violations

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser

RUN = "simulated collapsed debate"
HOSTILE = "<img src=x onerror=window.hacked=1></script><script>window.hacked=1</script> [a](javascript:alert(1)) **bold** \u2028end"


class Site:
    """A site from disk in a tab; requests: addresses that are no files of it."""

    def __init__(self, page: Page, folder: Path) -> None:
        self.page, self.folder = page, folder
        self.faults: list[str] = []
        page.on(
            "request",
            lambda request: (
                request.url.startswith(folder.as_uri()) or self.faults.append(request.url)
            ),
        )
        page.on("pageerror", lambda error: self.faults.append(str(error)))
        page.on(
            "console", lambda message: message.type == "error" and self.faults.append(message.text)
        )

    def open(self, **values: str) -> None:
        self.page.goto("about:blank")
        self.page.goto(
            f"{self.folder.as_uri()}/index.html#{'&'.join(f'{k}={v}' for k, v in values.items())}"
        )
        self.page.locator("#page h2").wait_for()

    @property
    def count(self) -> str:
        return self.page.locator("#count").inner_text()

    def says(self, count: str) -> None:
        self.page.wait_for_function(
            "wanted => document.getElementById('count').textContent === wanted", arg=count
        )

    def heading(self, text: str) -> None:
        self.page.wait_for_function(
            "wanted => document.querySelector('#page h2')?.textContent === wanted", arg=text
        )


@pytest.fixture
def visitor(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 1280, "height": 800}, bypass_csp=False)
    yield context.new_page()
    context.close()


@pytest.fixture(scope="module")
def demo_site(demo_workspace: Workspace, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site") / "of demo"
    write_site(demo_workspace, RUN, folder)
    return folder


def rows_of(workspace: Workspace, **wanted: Any) -> list[str]:
    with workspace.store.read() as db:
        return predictions.find_pair_ids(db, runs.find(db, RUN).id, RowFilter(**wanted))


def wrong_rows(workspace: Workspace) -> list[str]:
    with workspace.store.read() as db:
        return predictions.find_pair_ids(
            db, runs.find(db, RUN).id, RowFilter(), predictions.CONFIDENTLY_WRONG
        )


def rows_without_argument(workspace: Workspace) -> int:
    """Rows none of whose briefs has 120 characters without answering A, B or C."""
    with workspace.store.read() as db:
        [(found,)] = db.execute(
            """SELECT count(*) FROM (SELECT pair_id FROM trace_event WHERE run = ? AND kind = 'brief' GROUP BY pair_id
                 HAVING count(*) FILTER (length(content) >= 120 AND NOT list_contains(findings, 'answers')) = 0)""",
            [runs.find(db, RUN).id],
        ).fetchall()
    assert found > 0
    return int(found)


@pytest.mark.soak
def test_a_colleague_reads_filters_and_searches(
    visitor: Page, demo_site: Path, demo_workspace: Workspace
) -> None:
    site = Site(visitor, demo_site)
    site.open()
    everything = rows_of(demo_workspace)
    total = f"{len(everything):,}"
    site.says(f"{total} of {total} rows")
    site.heading(wrong_rows(demo_workspace)[0].replace("_", " ⟶ "))
    assert "most confidently wrong" in visitor.locator("#page .intro").inner_text()
    assert re.search(r"[0-9a-f]{64}", visitor.locator("#sources").inner_text())
    visitor.locator("#about").click()
    assert "DE" in visitor.locator("#page .figures").inner_text()
    assert not re.search(r"[0-9a-f]{64}", visitor.locator("#page").inner_text())
    first, second = (key.replace("_", " ⟶ ") for key in everything[:2])
    visitor.keyboard.press("j")
    site.heading(first)
    visitor.keyboard.press("ArrowDown")
    site.heading(second)
    visitor.keyboard.press("k")
    site.heading(first)
    assert visitor.locator("#list [aria-selected=true]").count() == 1
    hits = len(rows_of(demo_workspace, outcome="hit", labels=("none",)))
    visitor.locator("#label").select_option("none")
    visitor.locator("#call").select_option("hit")
    site.says(f"{hits:,} of {total} rows")
    visitor.locator("#flag").select_option("did not argue its side")
    both = len(rows_of(demo_workspace, outcome="hit", labels=("none",), flags=("role_collapse",)))
    site.says(f"{both:,} of {total} rows")
    for name in ("label", "call", "flag"):
        visitor.locator(f"#{name}").select_option("any")
    visitor.locator("#argued").select_option("0 of 4 advocates")
    site.says(f"{rows_without_argument(demo_workspace):,} of {total} rows")
    assert not site.faults


@pytest.mark.soak
def test_a_link_leads_to_the_same_row_and_filters(
    visitor: Page, demo_site: Path, demo_workspace: Workspace
) -> None:
    site = Site(visitor, demo_site)
    key = rows_of(demo_workspace)[7]
    pert = key.partition("_")[0]
    site.open(row=key, q=pert)
    site.heading(key.replace("_", " ⟶ "))
    shown = site.count
    visitor.keyboard.press("j")
    link = visitor.evaluate("location.href")
    visitor.goto("about:blank")
    visitor.goto(link)
    site.says(shown)
    assert visitor.locator("#q").input_value() == pert
    visitor.go_back()
    assert not site.faults


@pytest.mark.soak
def test_a_search_reads_all_texts(
    visitor: Page, demo_site: Path, demo_workspace: Workspace
) -> None:
    site = Site(visitor, demo_site)
    site.open()
    visitor.keyboard.press("/")
    visitor.keyboard.type("no change")
    visitor.locator("#all").check()
    wanted = len(rows_of(demo_workspace, text="no change"))
    site.says(f"{wanted:,} of {len(rows_of(demo_workspace)):,} rows")
    assert wanted > 0
    visitor.locator("[role=option]").first.click()
    visitor.locator("#page mark").first.wait_for()
    assert {text.lower() for text in visitor.locator("#page mark").all_inner_texts()} == {
        "no change"
    }
    assert not site.faults


@pytest.mark.soak
@pytest.mark.parametrize("colours", ["light", "dark"])
def test_nothing_keeps_anybody_out(
    browser: Browser, demo_site: Path, demo_workspace: Workspace, colours: Any
) -> None:
    context = browser.new_context(
        viewport={"width": 1280, "height": 800}, color_scheme=colours, bypass_csp=True
    )
    site = Site(context.new_page(), demo_site)
    site.open(row=rows_of(demo_workspace)[0])
    assert violations(site.page) == []
    context.close()


@pytest.mark.soak
def test_a_phone_shows_the_list_or_a_row(visitor: Page, demo_site: Path) -> None:
    visitor.set_viewport_size({"width": 400, "height": 800})
    site = Site(visitor, demo_site)
    site.open()
    visitor.locator("[role=option]").first.click()
    visitor.get_by_role("button", name="All rows").wait_for()
    assert not visitor.locator("#side").is_visible()
    assert visitor.evaluate("document.documentElement.scrollWidth") <= 400
    visitor.get_by_role("button", name="All rows").click()
    visitor.locator("#side").wait_for()


@pytest.mark.soak
def test_paper_has_the_row_alone(visitor: Page, demo_site: Path, demo_workspace: Workspace) -> None:
    site = Site(visitor, demo_site)
    site.open(row=rows_of(demo_workspace)[0])
    visitor.emulate_media(media="print")
    assert not visitor.locator("#side").is_visible()
    assert not visitor.locator(".controls").is_visible()
    assert visitor.locator(".stage").first.is_visible()


def test_text_of_a_model_is_text(visitor: Page, workspace: Workspace, tmp_path: Path) -> None:
    trace = cases.debate_trace(EFFECT=HOSTILE, NULL=json.dumps({"__proto__": {"text": HOSTILE}}))
    for content, name in (
        (cases.TRAIN, "train.csv"),
        (cases.submission([("Pa_Ga", 0.3, 0.1, trace)]), "debate.csv"),
    ):
        assert import_upload(workspace, content, name, ImportOptions()).kind != "failed"
    write_site(workspace, "debate", tmp_path / "site")
    site = Site(visitor, tmp_path / "site")
    site.open(row="Pa_Ga")
    said = visitor.locator(".step .text").first.inner_text()
    assert (
        "<img src=x onerror=window.hacked=1></script><script>window.hacked=1</script> [a](javascript:alert(1)) bold"
        in said
    )
    assert visitor.evaluate("window.hacked") is None
    assert visitor.locator("#page a, #page img, #page script").count() == 0
    assert not site.faults


@pytest.mark.soak
def test_who_gets_only_the_site_sees_that_nobody_argued(
    visitor: Page, real_workspace: Workspace, tmp_path: Path
) -> None:
    """Issue: "finds the row Stat1 ⟶ Pcm1 of track_b_sharp, reads it, and sees that its advocates did not argue"."""
    write_site(real_workspace, "track_b_sharp", tmp_path / "site")
    site = Site(visitor, tmp_path / "site")
    site.open()
    assert "the one with the longest texts" in visitor.locator("#page .intro").inner_text()
    visitor.locator("#about").click()
    assert "no labels here, so no score" in visitor.locator("#page").inner_text()
    visitor.keyboard.press("/")
    visitor.keyboard.type("Stat1 ⟶ Pcm1")
    site.says("1 of 1,813 rows")
    visitor.locator("[role=option]").click()
    site.heading("Stat1 ⟶ Pcm1")
    page = visitor.locator("#page").inner_text()
    assert "None of the 4 advocates argued" in page
    # Read in the published file: two bare letters, then two options.
    assert visitor.locator(".advocates li").all_inner_texts() == [
        "EFFECT ✗ answered with a letter",
        "NULL ✗ answered with a letter",
        "UP ✗ an answer against its own side",
        "DOWN ✗ an answer, not an argument",
    ]
    assert "C) Knockdown of Stat1 does not significantly affect Pcm1." in page
    assert "up = 0.4470 × 0.1500 = 0.0670, down = 0.4470 × 0.8500 = 0.3800" in page
    assert not site.faults
