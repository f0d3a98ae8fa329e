"""Data as scripts: what any text in them is to a browser, and the palette."""

from __future__ import annotations

import json
import re
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import Any

from core.features.sharing.site.actions import CHUNK_ROWS, SiteFiles
from core.features.sharing.site.content import SiteContent
from core.plots import drawing

HOSTILE = "</script><script>alert(1)</script><!-- \u2028\u2029 \" ' \\ ` ${1} \0 é 🧬"


def files(rows: int = 1, text: str = HOSTILE) -> dict[str, bytes]:
    run = {"name": f"<b>{text}", "dataset": "bmdm"}
    folder = Path(mkdtemp())
    made = SiteFiles(folder)
    for n in range(rows):
        made.add_texts({"n": n, "text": text})
    made.finish(SiteContent(run, {"pair_id": [text] * rows}))
    content = {path: (folder / path).read_bytes() for path in made.paths}
    rmtree(folder)
    return content


def data_of(script: bytes) -> Any:
    """What a script hands to the page: JSON in a string literal, which is JSON too."""
    found = re.fullmatch(
        r"site\.receive\w+\((?:\d+, )?JSON\.parse\((.*)\)\);\n", script.decode(), re.DOTALL
    )
    assert found
    return json.loads(json.loads(found[1]))


def test_hostile_text_comes_back_as_it_was_and_is_nothing_in_a_script() -> None:
    made = files()
    assert data_of(made["data/texts-0000.js"]) == [{"n": 0, "text": HOSTILE}]
    assert data_of(made["data/rows.js"]) == {"pair_id": [HOSTILE]}
    for name in ("data/run.js", "data/rows.js", "data/texts-0000.js"):
        text = made[name].decode()
        assert not set("<>\u2028\u2029\0") & set(text)
        assert text.count("\n") == 1


def test_a_name_is_text_in_the_page() -> None:
    page = files()["index.html"].decode()
    assert "<script>alert" not in page
    assert "&lt;b&gt;&lt;/script&gt;" in page


def test_a_hundred_rows_share_a_file_and_the_page_comes_last() -> None:
    made = files(rows=2 * CHUNK_ROWS + 1)
    chunks = [data_of(content) for name, content in made.items() if name.startswith("data/texts-")]
    assert [len(chunk) for chunk in chunks] == [100, 100, 1]
    assert data_of(made["data/run.js"])["chunks"] == 3
    assert list(made)[-1] == "index.html"


def test_the_page_allows_its_own_files_alone() -> None:
    page = files()["index.html"].decode()
    [policy] = re.findall(r'Content-Security-Policy" content="([^"]+)"', page)
    assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self';")
    named = re.findall(r'(?:src|href)="([^"]+)"', page)
    assert set(named) <= set(files())
    assert "http" not in page.replace("http-equiv", "")


def test_the_colours_are_those_of_the_theme() -> None:
    style = files()["style.css"].decode()
    assert f"--up:{drawing.UP};" in style
    light, dark = style.split("\n")[:2]
    assert drawing.ACCENT["light"] in light
    assert drawing.ACCENT["dark"] in dark
