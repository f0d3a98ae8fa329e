"""The command search, in this process."""

from __future__ import annotations

from core.runs.workspace import Workspace
from tests.commands import core, core_json


def test_search_prints_counts_then_hits(small_workspace: Workspace) -> None:
    place = small_workspace.settings.workspace
    found = core_json(place, "search", "PA  regulates", "--dataset", "bmdm")
    assert (found["dataset"], found["texts"]) == (
        "bmdm",
        11,
    )  # three rows of four briefs, one of which says something else
    assert found["counts"] == [
        {"run": "debate", "role": role, "texts": n}
        for role, n in (("DOWN", 3), ("EFFECT", 3), ("NULL", 3), ("UP", 2))
    ]
    first = {
        "run": "debate",
        "pair_id": "Pa_Ga",
        "pert": "Pa",
        "gene": "Ga",
        "role": "EFFECT",
        "before": "",
        "hit": "Pa regulates",
    }
    assert first.items() <= found["hits"][0].items()
    assert len(found["hits"]) == 11
    assert len(core_json(place, "search", "Pa regulates", "--limit", "2")["hits"]) == 2
    lines = core(place, "search", "does not", "--limit", "1").out.splitlines()
    assert lines == [
        "1 text; showing 1",
        "        1  debate  UP",
        "debate  Pa_Gb  UP: C) Knockdown of Pa [does not] affect Gb.",
    ]
    assert core_json(place, "search", "quinquereme") == {
        "dataset": "bmdm",
        "texts": 0,
        "counts": [],
        "hits": [],
    }


def test_search_says_what_is_wrong(small_workspace: Workspace) -> None:
    done = core(small_workspace.settings.workspace, "search", " ")
    assert (done.status, done.out) == (1, "")
    assert "expected a word or phrase" in done.err
    assert (
        "not in this workspace"
        in core(small_workspace.settings.workspace, "search", "x", "--dataset", "none").err
    )
