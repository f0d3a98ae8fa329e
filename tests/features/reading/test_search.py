"""The page Search: counts by run and role, what they restrict, and the links to rows."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from core.features.importing.actions import import_upload
from core.runs.workspace import Workspace
from core.store import runs
from tests import cases
from tests.commands import core, core_json
from tests.ui.conftest import Visit, components
from tests.ui.test_apptest import text_of

HOSTILE = "<img src=x onerror=alert(1)> **bold** [link](https://example.org)"


def drawn(app: AppTest) -> list[dict[str, Any]]:
    """The rows with hits that the page draws."""
    found = [json.loads(each.json) for each in components(app, "hit_list")]
    return found[0]["groups"] if found else []


def choices(app: AppTest) -> dict[str, list[str]]:
    return {
        each.label: [option.content for option in each.proto.options]
        for each in app.get("button_group")
    }


def add_second_run(workspace: Workspace) -> str:
    trace = cases.debate_trace(EFFECT=f"Pb regulates Ga. {HOSTILE}", NULL="nothing")
    assert (
        import_upload(workspace, cases.submission([("Pb_Ga", 0.2, 0.2, trace)]), "second.csv").kind
        != "failed"
    )
    with workspace.store.read() as db:
        return runs.find(db, "second").id


def test_counts_come_first_then_hits_by_row_with_links_that_carry_the_phrase(
    visit: Visit, small_workspace: Workspace
) -> None:
    second = add_second_run(small_workspace)
    app = visit(small_workspace, "search", phrase="regulates ga")
    # Three rows of `cases.DEBATES` have four briefs, one of which says something else; of the second run three briefs hold it.
    assert choices(app) == {
        "Run": ["debate · 11", "second · 3"],
        "Role": ["DOWN · 4", "EFFECT · 4", "NULL · 3", "UP · 3"],
    }
    assert "**14 texts in 2 runs**" in text_of(app)
    groups = {(group["pert"], group["gene"]): group["hits"] for group in drawn(app)}
    hits = [hit for group in groups.values() for hit in group]
    assert sum(len(hit["runs"]) for hit in hits) == 14
    assert len(groups) == 3
    hit = next(hit for hit in groups["Pb", "Ga"] if hit["after"].endswith(HOSTILE))
    assert (hit["role"], hit["before"], hit["hit"], hit["after"]) == (
        "EFFECT",
        "Pb ",
        "regulates Ga",
        f". {HOSTILE}",
    )
    [run] = hit["runs"]
    assert run["name"] == "second"
    assert {f"run={second}", "row=Pb_Ga", "q=regulates+ga"} <= set(
        run["link"].removeprefix("./rows?").split("&")
    )
    shared = [
        [run["name"] for run in hit["runs"]] for hit in groups["Pb", "Ga"] if len(hit["runs"]) > 1
    ]
    assert shared == [["debate", "second"]] * len(
        shared
    )  # the same words stand once, with both runs
    assert app.query_params["phrase"] == "regulates ga"


@pytest.mark.soak
def test_a_run_and_a_role_restrict_the_hits_and_the_address_names_them(
    visit: Visit, small_workspace: Workspace
) -> None:
    second = add_second_run(small_workspace)
    app = visit(small_workspace, "search", phrase="regulates", of_run=second, role="UP")
    [[hit]] = [group["hits"] for group in drawn(app)]
    assert (hit["role"], [run["name"] for run in hit["runs"]]) == ("UP", ["second"])
    assert "**1 text in 1 run**" in text_of(app)
    assert choices(app)["Run"] == ["debate · 11", "second · 3"]
    assert choices(app)["Role"] == ["DOWN · 1", "EFFECT · 1", "UP · 1"]
    app = visit(small_workspace, "search", phrase="regulates", of_run="unknown")
    assert "**14 texts in 2 runs**" in text_of(app)
    assert "of_run" not in app.query_params


def test_it_says_when_not_all_hits_are_listed(glance: Visit, demo_workspace: Workspace) -> None:
    app = glance(demo_workspace, "search", phrase="the")
    runs_of_hits = [
        run["name"] for group in drawn(app) for hit in group["hits"] for run in hit["runs"]
    ]
    assert re.search(
        r"texts in \d+ runs\*\*\. Listed are 200, one of each run in turn", text_of(app)
    )
    assert (
        len({group["hits"][0]["runs"][0]["name"] for group in drawn(app)[:3]}) > 1
    )  # the first screen is not of one run
    assert len(set(runs_of_hits)) > 1
    assert len(runs_of_hits) <= 200


@pytest.mark.soak
def test_a_gene_leads_to_its_rows_and_nothing_found_is_said(
    visit: Visit, small_workspace: Workspace
) -> None:
    links = [each.proto for each in visit(small_workspace, "search", phrase="GA").get("page_link")]
    assert [link.label for link in links if "all its rows" in link.label] == [
        "*Ga* as target gene: all its rows"
    ]
    app = visit(small_workspace, "search", phrase="quinque*reme*")
    assert "No text of 1 run contains “quinque\\*reme\\*”." in text_of(app)
    assert drawn(app) == []
    assert "Case is ignored" in text_of(visit(small_workspace, "search"))


@pytest.mark.soak
def test_debates_leads_from_its_search_to_all_runs(
    visit: Visit, small_workspace: Workspace
) -> None:
    app = visit(small_workspace, "rows", run="debate", q="does not")
    [link] = [each.proto for each in app.get("page_link") if each.proto.label == "in all runs"]
    assert "phrase=does+not" in link.query_string


def test_search_prints_counts_then_hits(small_workspace: Workspace) -> None:
    place = small_workspace.settings.workspace
    found = core_json(place, "search 'PA  regulates' --dataset bmdm")
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
    assert len(core_json(place, "search 'Pa regulates' --limit 2")["hits"]) == 2
    lines = core(place, "search 'does not' --limit 1").out.splitlines()
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
    done = core(small_workspace, "search", " ")
    assert (done.status, done.out) == (1, "")
    assert "expected a word or phrase" in done.err
    assert "not in this workspace" in core(small_workspace, "search x --dataset none").err
