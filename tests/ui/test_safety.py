"""Nothing that a text holds becomes more than text, and nothing leaves the machine."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING
from urllib.request import Request, urlopen

import pytest

from core.actions.workspace import Workspace
from core.plots import theme
from core.store import runs
from tests import cases
from tests.ui import hostile
from tests.ui.conftest import EACH_START, OpenTab, button, settle, then
from tests.ui.serving import STARTS, Server, serving
from tests.ui.watch import Watch

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser
# What a row's texts may link to: one article, or one gene, whose symbol may hold anything that is encoded.
OUR_LINKS = re.compile(
    r"https://pubmed\.ncbi\.nlm\.nih\.gov/\d+/"
    r"|https://www\.ncbi\.nlm\.nih\.gov/gene/\?term=[\w.+%~-]*%5Bsym%5D\+AND\+(Mus\+musculus|Homo\+sapiens)%5Borgn%5D"
)


def links_of(page: Page) -> list[str]:
    """Where the links of a page lead, those of Streamlit's own frame and of our components included."""
    return page.evaluate(
        """[document, ...[...document.querySelectorAll('*')].map(each => each.shadowRoot).filter(Boolean)]
             .flatMap(root => [...root.querySelectorAll('a, area, form')])
             .map(a => a.getAttribute('href') ?? a.getAttribute('xlink:href') ?? a.getAttribute('action'))
             .filter(Boolean).map(address => new URL(address, document.baseURI).href)"""
    )


@pytest.fixture(scope="module")
def listener() -> Iterator[hostile.Listener]:
    with hostile.listening() as listener:
        yield listener


@pytest.fixture(scope="module")
def hostile_desk(listener: hostile.Listener, tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    return hostile.workspace(tmp_path_factory.mktemp("hostile"), listener.address)


def every_view(page: Page, server: Server) -> Iterator[str]:
    """Every page of the sidebar with every one of its tabs, one after the other; where we are."""
    page.goto(server.url())
    settle(page)
    for entry in page.get_by_test_id("stSidebar").get_by_role("link").all():
        then(page, entry.click)
        yield entry.inner_text()
        for tab in page.get_by_role("tab", selected=False).all():
            then(page, tab.click)
            yield f"{entry.inner_text()}, {tab.inner_text()}"


def every_row_view(page: Page, server: Server, workspace: Workspace) -> Iterator[str]:
    """The first two rows of every run, three runs side by side, the pages of symbols, a file that is refused."""
    with workspace.store.read() as db:
        everything = [run.id for run in runs.list_all(db)]
        [(symbol,), *_] = db.execute("SELECT pert FROM pair ORDER BY position").fetchall()
    page.goto(server.url("debates", run=everything[0], **{"with": everything[1:]}))
    settle(page)
    yield "the same row in three runs"
    for run in everything:
        page.goto(server.url("debates", run=run))
        settle(page)
        yield f"first row of {run}"
        button(page, "go-right").click()
        page.get_by_text("row 2 of").wait_for()
        settle(page)
        yield f"second row of {run}"
    for role in ("perturbation", "gene"):
        page.goto(server.url(role, name=symbol))
        settle(page)
        yield role
    page.goto(server.url("data"))
    settle(page)
    bad = workspace.settings.workspace / "bad.csv"
    bad.write_bytes(cases.as_csv([" ".join(hostile.texts(server.address))], []))
    page.get_by_label("File or folder").fill(str(bad))
    then(page, lambda: page.get_by_label("File or folder").press("Enter"))
    then(page, page.get_by_role("button", name="Import path").click)
    assert "nothing imported" in page.locator("[data-testid=stAlert]").inner_text()
    yield "a refused file"


@pytest.mark.parametrize("start", EACH_START)
def test_text_stays_text(open_tab: OpenTab, hostile_desk: Workspace, listener: hostile.Listener, start: str) -> None:
    """Every row where no policy stands behind us; with it, where what it stops is an error, every view, in the dark."""
    plain = start == "plain"
    listener.asked.clear()
    watch, page = Watch(), open_tab(color_scheme="light" if plain else "dark")
    with serving(hostile_desk.settings.workspace, STARTS[start]) as server:
        watch.over(page, server)
        for where in every_row_view(page, server, hostile_desk) if plain else every_view(page, server):
            assert page.get_by_test_id("stException").count() == 0, server.log.read_text()
            outside = [link for link in links_of(page) if not link.startswith(server.address)]
            assert [link for link in outside if not OUR_LINKS.fullmatch(link)] == [], where
            assert page.locator("[data-testid=stMain] img").count() == 0, where
            assert page.evaluate("window.pwned") is None, where
            assert (watch, listener.asked) == (Watch(), []), where


def test_the_listener_hears(open_tab: OpenTab, listener: hostile.Listener) -> None:
    """What the test above relies on: the same text as HTML does ask."""
    page = open_tab()
    page.set_content("".join(hostile.texts(listener.address)))
    page.wait_for_function("window.pwned")
    page.wait_for_load_state("networkidle")
    assert {"/x.png", "/css.png", "/div.png", "/frame", "/import.css", "/script", "/svg.png"} <= set(listener.asked)


def test_the_dark_is_ours(open_tab: OpenTab, demo_server: Server) -> None:
    watch, page = Watch(), open_tab(color_scheme="dark")
    watch.over(page, demo_server)
    page.goto(demo_server.url("debates"))
    settle(page)
    assert watch == Watch()
    paper = page.locator("[data-testid=stApp]").evaluate("app => getComputedStyle(app).backgroundColor")
    assert paper == f"rgb{tuple(bytes.fromhex(theme.SURFACES['dark']['paper'][1:]))}"


def test_every_answer_carries_the_policy(demo_server: Server) -> None:
    for path in ("", "debates", "_stcore/health", "static/favicon.png"):
        with urlopen(f"{demo_server.address}/{path}") as answer:
            headers = answer.headers
        policy = headers["content-security-policy"]
        assert "default-src 'self'" in policy
        assert "'unsafe-inline'" not in policy.partition("script-src")[2].partition(";")[0]
        assert headers["x-content-type-options"] == "nosniff"


def test_a_page_finds_its_server_at_the_first_try(open_tab: OpenTab, demo_server: Server) -> None:
    """Streamlit's page tries the address of the page before that of the server, and waits between the two."""
    page, asked = open_tab(), []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(demo_server.url("debates"))
    settle(page)
    assert [url for url in asked if "_stcore/health" in url] == [f"{demo_server.address}/_stcore/health"]


def test_only_pages_are_changed_on_their_way(demo_server: Server) -> None:
    for path, accepted, is_page in (
        ("debates", "text/html,*/*", True),
        ("favicon.png", "text/html", False),
        ("", "*/*", False),
    ):
        with urlopen(Request(f"{demo_server.address}/{path}", headers={"Accept": accepted})) as answer:
            body = answer.read()
        assert (b"<head><script>window.__streamlit={BACKEND_BASE_URL" in body) == is_page
        assert len(body) == int(answer.headers["content-length"])


def test_the_policy_holds(open_tab: OpenTab, demo_server: Server, listener: hostile.Listener) -> None:
    """Were text to become HTML after all, it still could not phone home."""
    listener.asked.clear()
    page = open_tab()
    page.goto(demo_server.url())
    settle(page)
    page.evaluate(
        """([html, address]) => {
             window.blocked = [];
             document.addEventListener('securitypolicyviolation', event => window.blocked.push(event.blockedURI));
             document.body.insertAdjacentHTML('beforeend', html);
             fetch(address + '/fetch').catch(() => 0);
           }""",
        ["".join(hostile.texts(listener.address)), listener.address],
    )
    beacons = ["/x.png", "/import.css", "/css.png", "/div.png", "/svg.png", "/fetch", ""]  # of a frame, only the origin
    page.wait_for_function(
        "all => all.every(one => window.blocked.includes(one))", arg=[listener.address + beacon for beacon in beacons]
    )
    assert page.evaluate("window.pwned") is None
    assert listener.asked == []
