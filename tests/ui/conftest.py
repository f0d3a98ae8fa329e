"""Pages without a browser, and a browser."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest
import streamlit as st
from streamlit.components.v2 import manifest_scanner
from streamlit.runtime.pages_manager import PagesManager
from streamlit.testing.v1 import AppTest, local_script_runner
from streamlit.testing.v1.local_script_runner import LocalScriptRunner

from core.base.config import REPOSITORY
from core.features.fuse.page import results
from core.features.neighbours.page import loaders as space_numbers
from core.features.perturbqa import tab as baselines_tab
from core.methods.fusion_settings import FusionSettings
from core.runs import component_loader
from core.runs.workspace import Workspace
from core.store import runs
from core.transfer.knn_settings import KnnSettings
from core.transfer.protocols import EvaluationProtocol
from core.ui import widgets
from core.ui.background import Background, Result
from core.ui.loaders import records
from tests import worlds
from tests.conftest import make_once
from tests.derived import save_fusion, save_knn
from tests.ui.kept_caches import kept_caches
from tests.ui.serving import CHROMIUM_FLAGS, WAIT_S, Server, chromium, serving
from tests.ui.shared_server import ADA, SharedServer, sharing
from tests.ui.strangers import LIMITS, Visitor, run_script

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Locator, Page

APP = REPOSITORY / "app.py"
LABELLED, KNN, FUSED = "simulated debate", "knn by folds", "fused with it"  # runs of `fused_demo`
READ_AHEAD = records._AHEAD.submit  # as it is before a test replaces it
RUN = AppTest._run
EACH_START = ("hardened", pytest.param("plain", marks=pytest.mark.soak))  # of STARTS
Visit = Callable[..., AppTest]
OpenTab = Callable[..., "Page"]
# Streamlit says on its outermost element whether the script runs; `runs` counts how often it ended. `alerts` keeps every
# error or warning that was ever shown, however briefly; `alone` all text shown while the router's sidebar was not there.
WATCH = """
  window.runs = 0; window.alerts = []; window.alone = [];
  let before = null;
  new MutationObserver(() => {
    const now = document.querySelector('[data-testid=stApp]')?.getAttribute('data-test-script-state');
    if (now === 'notRunning' && before !== now) window.runs++;
    before = now;
    document.querySelectorAll('[data-testid=stAlert], [data-testid=stException]').forEach(
      alert => window.alerts.includes(alert.textContent) || window.alerts.push(alert.textContent));
    const text = document.querySelector('[data-testid=stMainBlockContainer]')?.textContent.trim();
    const routed = document.querySelector('[data-testid=stSidebarUserContent] [data-testid=stElementContainer]');
    if (text && !routed) window.alone.push(text);
  }).observe(document, {subtree: true, childList: true, attributes: true, characterData: true});
"""
# A run that is over before the browser draws its beginning is not seen; one that has not begun by then never will.
UNSEEN_MS = 1500
DRAWN = """([runs, since]) => (window.runs > runs || performance.now() > since)
  && document.querySelector('[data-testid=stApp][data-test-script-state=notRunning]')
  && document.querySelector('[data-testid=stMainBlockContainer] [data-testid=stElementContainer]')
  && !document.querySelector('[data-testid=stSkeleton]')"""


@pytest.fixture(scope="session")
def fused_demo(little_demo: Workspace, tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """It with a kNN by folds, and its fusion with a debate by the weights that What-if starts with, shared."""

    def fill(workspace: Workspace) -> None:
        worlds.copied(little_demo.settings.workspace, workspace)
        dataset = component_loader.default_dataset(workspace, None)
        knn = save_knn(
            workspace, dataset, KnnSettings(("simulated",), EvaluationProtocol("folds", 5, 2)), KNN
        )
        with workspace.store.read() as db:
            base = runs.find(db, LABELLED)
        save_fusion(workspace, FusionSettings(base.id, (knn.id,), (0.5,), (0.5,)), FUSED)

    return make_once(tmp_path_factory, "fused", fill)


@pytest.fixture
def fused_copy(fused_demo: Workspace, workspace: Workspace) -> Workspace:
    """A copy of that to change."""
    return worlds.copied(fused_demo.settings.workspace, workspace)


class RoutedPages(PagesManager):
    """A server whose router has run; AppTest pretends before each run that it has not."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        PagesManager.uses_pages_directory = False


def wait_for_script(runner: LocalScriptRunner, timeout: float) -> None:
    """Until the script of an AppTest has ended. Streamlit itself looks through all messages so far, each millisecond."""
    thread = runner._script_thread
    thread.join(timeout)
    if thread.is_alive():
        runner.request_stop()
        raise RuntimeError(f"the page has not ended after {timeout:g} s")


def run_page(app: AppTest, *arguments: Any, **options: Any) -> AppTest:
    """Run a page, which may show errors but ends with no exception that nobody foresaw."""
    ran = RUN(app, *arguments, **options)
    assert not ran.exception, ran.exception
    return ran


@pytest.fixture(autouse=True, scope="session")
def app_tests_cost_little_more_than_their_pages() -> Iterator[None]:
    """Every AppTest reads what all installed packages say of themselves, which takes longer than most pages."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            manifest_scanner,
            "scan_component_manifests",
            cache(manifest_scanner.scan_component_manifests),
        )
        patch.setattr(local_script_runner, "require_widgets_deltas", wait_for_script)
        patch.setattr(AppTest, "_run", run_page)
        yield


class Idle(Background):
    """Computes nothing: what a page would compute in the background never comes."""

    def ask(self, key: Hashable, compute: object) -> Result:  # noqa: ARG002
        return Result(ready=False)


def app_at(page: str) -> AppTest:
    """The app, about to open a page by its address."""
    app = AppTest.from_file(APP, default_timeout=60)
    return app if page == "overview" else app.switch_page(f"pages/{page}.py")  # that one lives at /


def page_opener(monkeypatch: pytest.MonkeyPatch) -> Visit:
    """Return what opens a page with what the caches hold; nothing is computed in the background, and no browser is waited for."""
    for module in (space_numbers, results, baselines_tab):
        monkeypatch.setattr(module, "background", Idle)
    monkeypatch.setattr(widgets, "_HEAD_START_S", 0)
    monkeypatch.setattr(widgets, "_DRAWN_S", 0)
    monkeypatch.setattr("streamlit.testing.v1.app_test.PagesManager", RoutedPages)
    monkeypatch.delenv("PERTURBDESK_READ_ONLY", raising=False)
    monkeypatch.setenv("PERTURBDESK_AUTHOR", "tester")

    def open_page(workspace: Workspace, page: str, **parameters: str | Sequence[str]) -> AppTest:
        monkeypatch.setenv("PERTURBDESK_WORKSPACE", str(workspace.settings.workspace))
        app = app_at(page)
        app.query_params.update(parameters)
        return app.run()

    return open_page


@pytest.fixture
def visit(monkeypatch: pytest.MonkeyPatch) -> Iterator[Visit]:
    """Open a page of a workspace, with query parameters; it has run once."""
    open_page = page_opener(monkeypatch)

    def open_anew(workspace: Workspace, page: str, **parameters: str | Sequence[str]) -> AppTest:
        forget()
        return open_page(workspace, page, **parameters)

    yield open_anew
    forget()


@pytest.fixture
def glance(monkeypatch: pytest.MonkeyPatch) -> Iterator[Visit]:
    """Open a page of a workspace that no test changes, to look at only: what was read of it once is not read again."""
    open_page = page_opener(monkeypatch)

    def open_again(workspace: Workspace, page: str, **parameters: str | Sequence[str]) -> AppTest:
        forget()
        with kept_caches(workspace.settings.workspace):
            app = open_page(workspace, page, **parameters)
            READ_AHEAD(bool).result()  # belongs to this workspace, too
        return app

    yield open_again
    forget()


def forget() -> None:
    """Empty what pages keep between runs: it belongs to one workspace."""
    READ_AHEAD(bool).result()  # what is still being read would open the next workspace
    st.cache_data.clear()
    st.cache_resource.clear()


def components(app: AppTest, name: str) -> list[Any]:
    """What a page sent to its components of a name."""
    return [each.proto for each in app.get("bidi_component") if each.proto.component_name == name]


def read_page(page: str, cause: str = "") -> str:
    """Everything that a page shows, as text; its only errors are those of crashed jobs that begin with a cause, if given."""
    forget()
    app = app_at(page).run()
    assert [
        error.value for error in app.error if not (cause and error.value.startswith(cause))
    ] == []
    return "\n".join(str(element.proto) for element in app.main)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium; tests that need it are skipped where it is absent. Playwright keeps an event loop running in this thread
    meanwhile, in which nothing else can start one: so it ends with each file."""
    sync_api = pytest.importorskip(
        "playwright.sync_api", reason="needs the Python package playwright"
    )
    found = chromium()
    if found is None:
        pytest.skip("needs Chromium on the path")
    with sync_api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=found, args=CHROMIUM_FLAGS)
        yield started
        started.close()


def new_context(browser: Browser, **options: Any) -> BrowserContext:
    """A visitor, whose tabs keep what `WATCH` notes and in which nothing turns or fades, which would take as long to draw as the
    pages themselves; options are those of a browser context."""
    context = browser.new_context(
        **{"viewport": {"width": 1280, "height": 900}, "reduced_motion": "reduce"} | options
    )
    context.set_default_timeout(1000 * WAIT_S)
    context.add_init_script(WATCH)
    return context


@pytest.fixture
def open_tab(browser: Browser) -> Iterator[OpenTab]:
    """Open an empty tab of a visitor of its own; options are those of a browser context."""
    contexts = []

    def new_tab(**options: Any) -> Page:
        contexts.append(new_context(browser, **options))
        return contexts[-1].new_page()

    yield new_tab
    for context in contexts:
        context.close()


@pytest.fixture(scope="session")
def demo_server(demo_workspace: Workspace) -> Iterator[Server]:
    """The hardened start on the demo; tests only read it. Where there is no browser it is not started."""
    if chromium() is None:
        pytest.skip("needs Chromium on the path")
    with serving(demo_workspace.settings.workspace) as server:
        yield server


@pytest.fixture(scope="session")
def shared_workspace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SharedServer]:
    """A workspace that a server with small limits shares with two editors and two readers, and which has shown a page."""
    with sharing(
        tmp_path_factory.mktemp("shared"), PERTURBDESK_TAB_KEPT_S="0.5", **LIMITS
    ) as shared:
        with Visitor(shared.server, ADA).socket() as opened:
            run_script(opened)
        yield shared


@pytest.fixture(scope="session")
def shared_server(shared_workspace: SharedServer) -> Server:
    """The server alone."""
    return shared_workspace.server


def settle(page: Page) -> None:
    """Wait until the script of a page that was just opened has ended and all of the page is drawn."""
    page.wait_for_function(DRAWN, arg=[0, float("inf")])


def then(page: Page, act: Callable[[], Any]) -> None:
    """Do something that makes the page's script run, and wait until all of it is drawn."""
    runs = page.evaluate("window.runs")
    act()
    page.wait_for_function(DRAWN, arg=[runs, page.evaluate("performance.now()") + UNSEEN_MS])


def button(page: Page, key: str) -> Locator:
    """The button of a key; Streamlit draws a second, hidden one where there is a shortcut."""
    return page.locator(f".st-key-{key} button:visible")


def heading(page: Page) -> Locator:
    """The heading of the row in Debates: perturbation ⟶ gene."""
    return page.locator("[data-testid=stMain] h3").first
