"""Nothing that a text holds becomes more than text, and nothing leaves the machine."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any
from urllib.request import Request, urlopen

import pytest
from markdown_it import MarkdownIt

from core.plots import drawing
from core.runs.workspace import Workspace
from core.store import runs
from tests import cases
from tests.ui import hostile
from tests.ui.conftest import OpenTab, Visit, button, settle, then
from tests.ui.serving import STARTS, Server, serving
from tests.ui.test_apptest import VIEWS, tab_of
from tests.ui.watch import Watch

if TYPE_CHECKING:
    from playwright.sync_api import Page

Views = Callable[
    ["Page", Server, Workspace], Iterator[str]
]  # what is looked at, one after the other; where we are
# What a row's texts may link to: one article, or one gene, whose symbol may hold anything that is encoded.
OUR_LINKS = re.compile(
    r"https://pubmed\.ncbi\.nlm\.nih\.gov/\d+/"
    r"|https://www\.ncbi\.nlm\.nih\.gov/gene/\?term=[\w.+%~-]*%5Bsym%5D\+AND\+(Mus\+musculus|Homo\+sapiens)%5Borgn%5D"
)
MARKED = MarkdownIt("commonmark", {"html": True}).enable("table")
BARE_LINK = re.compile(r"(?:https?://|www\.)\w")  # GitHub's Markdown makes a link of it
TAG = re.compile(r"<(?:script|img|svg|image|iframe|a|form)\b", re.IGNORECASE)
MARKDOWN_FIELDS = ("body", "label", "help", "caption")
PLAIN = ("text", "code", "html", "json", "bidi_component")  # what they hold is no Markdown


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


def every_view(page: Page, server: Server, _: Workspace) -> Iterator[str]:
    """Every page of the sidebar with every one of its tabs, one after the other; where we are."""
    page.goto(server.url())
    settle(page)
    sidebar = page.get_by_test_id("stSidebar")
    for title in sidebar.locator(".st-key-navigation a p").all_text_contents():
        link = sidebar.locator(".st-key-navigation a").filter(
            has=page.locator("p", has_text=re.compile(f"^{title}$"))
        )
        if not link.is_visible():
            sidebar.get_by_text("More", exact=True).click()
        then(page, link.click)
        yield title
        for tab in page.get_by_role("tab", selected=False).all():
            then(page, tab.click)
            yield f"{title}, {tab.inner_text()}"


def every_row_view(page: Page, server: Server, workspace: Workspace) -> Iterator[str]:
    """The first two rows of every run, three runs side by side, the pages of symbols, a file that is refused."""
    yield from same_row_in_every_run(page, server, workspace)
    with workspace.store.read() as db:
        everything = [run.id for run in runs.list_all(db)]
        [(symbol,), *_] = db.execute("SELECT pert FROM pair ORDER BY position").fetchall()
    for run in everything:
        page.goto(server.url("rows", run=run))
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


def same_row_in_every_run(page: Page, server: Server, workspace: Workspace) -> Iterator[str]:
    """A row with its texts of every run, side by side; where we are."""
    with workspace.store.read() as db:
        everything = [run.id for run in runs.list_all(db)]
    page.goto(server.url("rows", run=everything[0], **{"with": everything[1:]}))
    settle(page)
    yield "the same row in three runs"


@pytest.mark.soak
@pytest.mark.browser
@pytest.mark.parametrize(
    ("start", "scheme", "views"),
    [
        ("plain", "light", same_row_in_every_run),
        pytest.param("plain", "light", every_row_view, marks=pytest.mark.soak),
        pytest.param("hardened", "dark", every_view, marks=pytest.mark.soak),
    ],
)
def test_text_stays_text(
    open_tab: OpenTab,
    hostile_desk: Workspace,
    listener: hostile.Listener,
    start: str,
    scheme: Any,
    views: Views,
) -> None:
    """Every row where no policy stands behind us; with it, where what it stops is an error, every view, in the dark."""
    listener.asked.clear()
    watch, page = Watch(), open_tab(color_scheme=scheme)
    with serving(hostile_desk.settings.workspace, STARTS[start]) as server:
        watch.over(page, server)
        for where in views(page, server, hostile_desk):
            assert page.get_by_test_id("stException").count() == 0, server.log.read_text()
            outside = [link for link in links_of(page) if not link.startswith(server.address)]
            assert [link for link in outside if not OUR_LINKS.fullmatch(link)] == [], where
            assert page.locator("[data-testid=stMain] img").count() == 0, where
            assert page.evaluate("window.pwned") is None, where
            assert (watch, listener.asked) == (Watch(), []), where


def said_in(message: Any) -> Iterator[tuple[str, str]]:
    """Every text of a page's element with the name of its field, however deep."""
    for field, value in message.ListFields():
        for each in value if field.is_repeated else (value,):
            if field.type == field.TYPE_MESSAGE and hasattr(each, "ListFields"):
                yield from said_in(each)
            elif field.type == field.TYPE_STRING:
                yield field.name, each


def becomes_more(text: str) -> list[str]:
    """What a browser would make of a text as Markdown that is more than text: images, HTML, links elsewhere."""
    tokens = [each for block in MARKED.parse(text) for each in (block, *(block.children or ()))]
    links = [str(each.attrs["href"]) for each in tokens if each.type == "link_open"]
    found = [link for link in links if re.match("[a-z]+:", link) and not OUR_LINKS.fullmatch(link)]
    found += [
        each.content for each in tokens if each.type in ("image", "html_block", "html_inline")
    ]
    return found + [
        each.content for each in tokens if each.type == "text" and BARE_LINK.search(each.content)
    ]


@pytest.mark.few(4)
@pytest.mark.parametrize(("page", "tab"), VIEWS)
def test_no_view_makes_more_of_a_text(
    glance: Visit, hostile_desk: Workspace, page: str, tab: str
) -> None:
    """As the browser above sees it: what is drawn as Markdown, in labels and hints too."""
    app = glance(hostile_desk, page, **tab_of(page, tab))
    elements = [*app.main, *app.sidebar]
    assert [
        each.proto.body for each in elements if each.type == "html" and TAG.search(each.proto.body)
    ] == []
    for element in (
        each for each in elements if each.type not in PLAIN and hasattr(each.proto, "ListFields")
    ):
        for name, text in said_in(element.proto):
            assert name not in MARKDOWN_FIELDS or not becomes_more(text), (element.type, name, text)


@pytest.mark.browser
def test_the_listener_hears(open_tab: OpenTab, listener: hostile.Listener) -> None:
    """What the test above relies on: the same text as HTML does ask."""
    page = open_tab()
    page.set_content("".join(hostile.texts(listener.address)))
    page.wait_for_function("window.pwned")
    page.wait_for_load_state("networkidle")
    assert {
        "/x.png",
        "/css.png",
        "/div.png",
        "/frame",
        "/import.css",
        "/script",
        "/svg.png",
    } <= set(listener.asked)


def assert_policy_holds(page: Page, listener: hostile.Listener) -> None:
    """Put every trick into a page as HTML: each is blocked, and nothing is asked for."""
    listener.asked.clear()
    page.evaluate(
        """([html, address]) => {
             window.blocked = [];
             document.addEventListener('securitypolicyviolation', event => window.blocked.push(event.blockedURI));
             document.body.insertAdjacentHTML('beforeend', html);
             fetch(address + '/fetch').catch(() => 0);
           }""",
        ["".join(hostile.texts(listener.address)), listener.address],
    )
    beacons = [
        "/x.png",
        "/import.css",
        "/css.png",
        "/div.png",
        "/svg.png",
        "/fetch",
        "",
    ]  # of a frame, only the origin
    page.wait_for_function(
        "all => all.every(one => window.blocked.includes(one))",
        arg=[listener.address + beacon for beacon in beacons],
    )
    assert page.evaluate("window.pwned") is None
    assert listener.asked == []


@pytest.mark.soak
@pytest.mark.browser
def test_the_dark_is_ours_and_the_policy_holds(
    open_tab: OpenTab, demo_server: Server, listener: hostile.Listener
) -> None:
    """A page finds its server at the first try: Streamlit's tries the address of the page before, and waits between the two.
    Were text to become HTML after all, it still could not phone home."""
    watch, page, asked = Watch(), open_tab(color_scheme="dark"), []
    watch.over(page, demo_server)
    page.on("request", lambda request: asked.append(request.url))
    page.goto(demo_server.url("rows"))
    settle(page)
    assert watch == Watch()
    assert [url for url in asked if "_stcore/health" in url] == [
        f"{demo_server.address}/_stcore/health"
    ]
    paper = page.locator("[data-testid=stApp]").evaluate(
        "app => getComputedStyle(app).backgroundColor"
    )
    assert paper == f"rgb{tuple(bytes.fromhex(drawing.SURFACES['dark']['paper'][1:]))}"
    assert_policy_holds(page, listener)


def test_every_answer_carries_the_policy(demo_server: Server) -> None:
    for path in ("", "rows", "_stcore/health", "static/favicon.png"):
        with urlopen(f"{demo_server.address}/{path}") as answer:
            headers = answer.headers
        policy = headers["content-security-policy"]
        assert "default-src 'self'" in policy
        assert "'unsafe-inline'" not in policy.partition("script-src")[2].partition(";")[0]
        assert headers["x-content-type-options"] == "nosniff"


def test_only_pages_are_changed_on_their_way(demo_server: Server) -> None:
    for path, accepted, is_page in (
        ("rows", "text/html,*/*", True),
        ("favicon.png", "text/html", False),
        ("", "*/*", False),
    ):
        with urlopen(
            Request(f"{demo_server.address}/{path}", headers={"Accept": accepted})
        ) as answer:
            body = answer.read()
        assert (b"<head><script>window.__streamlit={BACKEND_BASE_URL" in body) == is_page
        assert len(body) == int(answer.headers["content-length"])
