"""Files that leave: whatever names, notes, traces and titles hold is shown as text, and nothing in them runs or asks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from core.features.sharing import walks
from core.features.sharing.walks import Stop
from core.store import predictions, runs
from core.store.predictions import RowFilter
from tests import commands
from tests.ui import hostile
from tests.ui.conftest import OpenTab

pytestmark = pytest.mark.browser

LATEX = r"\input{/etc/passwd} 100% & $x$ #1 a_b^c ~ \begin{document}"
FILES = ("report.html", "slides.html", "walk.html", "fusion.html", "site/index.html")


@pytest.fixture(scope="module")
def listener() -> Iterator[hostile.Listener]:
    with hostile.listening() as listener:
        yield listener


@pytest.fixture(scope="module")
def files(listener: hostile.Listener, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every kind of HTML file that is made of runs, of a workspace in which all text is hostile."""
    workspace = hostile.workspace(tmp_path_factory.mktemp("hostile"), listener.address)
    out = tmp_path_factory.mktemp("files")
    every = "\n\n".join([*hostile.texts(listener.address), LATEX])
    name = f"{hostile.texts(listener.address)[0]}{LATEX}"
    with workspace.store.read() as db:
        debate, steps = (
            run.id for run in runs.list_all(db) if "debate" in run.name or "steps" in run.name
        )
        rows = predictions.find_pair_ids(db, steps, RowFilter())
        dataset = runs.find(db, debate).dataset
    walks.add_stop(
        workspace,
        Stop(dataset=dataset, walk=LATEX[:40], title=every[:100], address=f"./rows?run={debate}",
             sentence=every[:399], run=debate, pair_id=rows[0]),
    )  # fmt: skip

    def do(*arguments: str) -> None:
        done = commands.core(workspace, *arguments)
        assert done.status == 0, done.err

    do(
        "fuse",
        "--base",
        debate,
        "--with",
        steps,
        "--w-de",
        "0.5",
        "--w-dir",
        "0.5",
        "--name",
        name,
    )
    do("report", "new", name[:60], "--runs", f"{debate},{steps}", "--compare", f"{debate},{steps}",
       "--title", every, "--abstract", every, "--authors", every, "--walk", LATEX[:40])  # fmt: skip
    do("report", "build", name[:60], "--out", str(out / "report.html"))
    do("report", "build", name[:60], "--slides", "--out", str(out / "slides.html"))
    do("report", "walk", "export", LATEX[:40], "--out", str(out / "walk.html"))
    do("report", "fusion", name, "--out", str(out / "fusion.html"))
    do("report", "site", debate, "--out", str(out / "site"))
    return out


@pytest.mark.parametrize("file", FILES)
def test_text_in_a_file_is_text(
    listener: hostile.Listener, files: Path, file: str, open_tab: OpenTab
) -> None:
    page, did = open_tab(), list[str]()
    page.on("dialog", lambda dialog: (did.append(dialog.message), dialog.dismiss()))
    page.on("pageerror", lambda error: did.append(str(error)))
    page.on(
        "request",
        lambda r: None if r.url.startswith(("file:", "data:", "blob:")) else did.append(r.url),
    )
    listener.asked.clear()
    page.goto((files / file).as_uri())
    page.wait_for_load_state("networkidle")
    assert page.evaluate("window.pwned") is None
    assert (did, listener.asked) == ([], [])
    text = page.evaluate("document.documentElement.textContent")
    assert hostile.CANARY in text
    links = page.evaluate(
        "[...document.querySelectorAll('a, area, form')].map(a => a.href || a.action || '')"
    )
    assert [
        link for link in links if link.startswith(("javascript:", listener.address, "data:"))
    ] == []
    inside = page.evaluate(
        f"[...document.querySelectorAll('[onerror], [onload], iframe, img')].map(each => each.outerHTML).filter(html => html.includes('{listener.address}') || html.includes('pwned'))"
    )
    assert inside == []
