"""Runs whose dossiers come from public sources: from options to the store, and once more from the cache alone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from core.evidence.tools.literature import Article
from core.methods.debate import METHOD
from core.runs import launch, run_control
from core.runs.request import RunRequest
from core.runs.workspace import Workspace
from core.store import evidence
from core.store.runs import Run
from tests.fakes import sources as testing
from tests.fakes.scripted import MODEL, serving
from tests.runs.cases import fast, workspace_with
from tests.runs.methods import here

KEY = "sk-of-ncbi-0123456789"
ARTICLES = (Article("1", 2000, "Qb0 and Hb0 in macrophages", ("They are named.",)),)
WORLD = testing.fake_data(["Qb0", "Qb1", "Hb0", "Hb1"], ARTICLES)


def launched(workspace: Workspace, name: str, url: str, **options: Any) -> Run:
    chosen = {"rounds": 0, "tools": "gene_info,gene_class,literature", **options}
    spec = launch.resolve(
        workspace, RunRequest("debate", "bmdm", chosen, "split=test", model=MODEL)
    )
    return run_control.start(workspace, spec, name, fast(url), begin=here(METHOD))


def seen(workspace: Workspace, run: Run, row: str = "Qb0_Hb0") -> list[tuple[str, str, str]]:
    with workspace.store.read() as db:
        return [
            (one["tool"], one["status"], one["source"]) for one in evidence.of_row(db, run.id, row)
        ]


@pytest.mark.soak
def test_a_run_asks_public_sources_once_and_another_takes_what_they_said(tmp_path: Path) -> None:
    with testing.serve_fake_sources(WORLD) as server, serving() as url:
        net = server.settings()
        workspace = workspace_with(tmp_path, 2)
        given = replace(
            workspace.settings,
            mygene=net.mygene,
            string=net.string,
            pubmed=net.pubmed,
            ncbi_api_key=KEY,
        )
        workspace = replace(workspace, settings=given)
        packs = launched(workspace, "packs", url)
        assert server.requests == []
        assert not (tmp_path / "cache" / "http.sqlite").exists()
        web = launched(workspace, "web", url, sources="web")
        assert (web.status, web.done, web.failed) == ("done", 2, 0)
        assert [one.params["q"] for one in server.requests if one.path == "query"] == [
            "Qb0,Qb1,Hb0,Hb1"
        ]
        came = len(server.requests)
        cache = launched(workspace, "cache", url, sources="cache")
        again = launched(workspace, "again", url, sources="cache", literature="keyword")
        assert len(server.requests) == came
    assert [status for _, status, _ in seen(workspace, packs)] == [
        "offline",
        "offline",
        "ok",
        "ok",
        "offline",
    ]
    assert [status for _, status, _ in seen(workspace, web)] == ["ok"] * 5
    assert seen(workspace, web)[0][2].startswith("mygene.info 20260101, retrieved ")
    assert seen(workspace, cache) == seen(workspace, web) == seen(workspace, again)
    assert [status for _, status, _ in seen(workspace, cache, "Qb1_Hb1")] == [
        "ok",
        "ok",
        "ok",
        "ok",
        "empty",
    ]
    kept = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert KEY.encode() not in kept
