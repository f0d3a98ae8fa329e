"""Runs whose dossiers come from public sources: from options to the store, and once more from the cache alone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from core.actions import journals, wishes
from core.actions.desk import Desk
from core.engine.world import World, web_of
from core.errors import InputError
from core.evidence import mimic
from core.evidence.pubmed import Article
from core.llm.scripted import MODEL, serving
from core.methods.debate import METHOD
from core.store import evidence
from core.store.runs import Run
from tests.engine.cases import desk_with, fast
from tests.engine.methods import here

KEY = "sk-of-ncbi-0123456789"
ARTICLES = (Article("1", 2000, "Qb0 and Hb0 in macrophages", ("They are named.",)),)
WORLD = mimic.invented(["Qb0", "Qb1", "Hb0", "Hb1"], ARTICLES)


def launched(desk: Desk, name: str, url: str, **options: Any) -> Run:
    chosen = {"rounds": 0, "tools": "gene_info,gene_class,literature", **options}
    spec = wishes.specify(desk, wishes.Wish("bmdm", METHOD, chosen, "split=test", MODEL))
    return journals.launch(desk, spec, name, fast(url), begin=here(METHOD))


def seen(desk: Desk, run: Run, row: str = "Qb0_Hb0") -> list[tuple[str, str, str]]:
    with desk.store.read() as db:
        return [(one["tool"], one["status"], one["source"]) for one in evidence.of_row(db, run.id, row)]


def test_a_run_asks_public_sources_once_and_another_takes_what_they_said(tmp_path: Path) -> None:
    with mimic.serving(WORLD) as server, serving() as url:
        net = server.net()
        desk = desk_with(tmp_path, 2)
        given = replace(desk.settings, mygene=net.mygene, string=net.string, pubmed=net.pubmed, ncbi_api_key=KEY)
        desk = replace(desk, settings=given)
        packs = launched(desk, "packs", url)
        assert server.came == []
        assert not (tmp_path / "cache" / "http.sqlite").exists()
        web = launched(desk, "web", url, sources="web")
        assert (web.status, web.done, web.failed) == ("done", 2, 0)
        assert [one.params["q"] for one in server.came if one.path == "query"] == ["Qb0,Qb1,Hb0,Hb1"]
        came = len(server.came)
        cache = launched(desk, "cache", url, sources="cache")
        again = launched(desk, "again", url, sources="cache", literature="keyword")
        assert len(server.came) == came
    assert [status for _, status, _ in seen(desk, packs)] == ["offline", "offline", "ok", "ok", "offline"]
    assert [status for _, status, _ in seen(desk, web)] == ["ok"] * 5
    assert seen(desk, web)[0][2].startswith("mygene.info 20260101, retrieved ")
    assert seen(desk, cache) == seen(desk, web) == seen(desk, again)
    assert [status for _, status, _ in seen(desk, cache, "Qb1_Hb1")] == ["ok", "ok", "ok", "ok", "empty"]
    kept = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert KEY.encode() not in kept


def test_a_world_without_addresses_cannot_make_such_a_run(tmp_path: Path) -> None:
    desk = desk_with(tmp_path, 1)
    spec = wishes.specify(desk, wishes.Wish("bmdm", METHOD, {"sources": "web"}, "split=test", MODEL))
    with pytest.raises(InputError, match="sources: web, but no addresses of public sources are known here"):
        web_of(World(desk.store), spec)
    assert web_of(World(desk.store), replace(spec, options={})) is None  # a run from before there was a choice
