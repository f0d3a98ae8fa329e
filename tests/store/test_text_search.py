"""What a text has to hold to be found, beside Python's own search; and the texts of all runs that hold a phrase."""

from __future__ import annotations

import random
from collections import Counter
from datetime import UTC, datetime

import pytest

from core.base.types import Evidence, Prediction, RowResult, TraceEvent
from core.runs import audited_rows
from core.runs.audited_rows import audit_rows
from core.runs.workspace import Workspace
from core.store import predictions, runs, text_search
from core.store.predictions import RowFilter
from core.store.text_search import DOSSIER, Found, TextQuery

ROWS = ("Pa_Ga", "Pa_Gb", "Pb_Ga", "Pb_Gb", "Pc_Gc", "Pc_Gm12")
ROLES = ("EFFECT", "NULL", "gene_info")
WORDS = (
    "IFN-β",
    "ifn-Β",
    "cell",
    "Cell\ncycle",
    'a "quoted"',
    "C:\\new",
    "50%",
    "a.c",
    "(x",
    "[y]",
    "Straße",
    "tumour_growth",
)
PHRASES = (
    *WORDS,
    "cell cycle",
    "CELL",
    "β",
    "Β",
    "a.",
    "_",
    "%",
    "\\",
    '"',
    "e c",
    'quoted" c:\\',
    "absent",
)
TITLE = "Loss of β-catenin, then\nof “Wnt” and \\n in Mouse 🐭 cells"


def add_run(workspace: Workspace, name: str, rows: list[RowResult]) -> str:
    with workspace.change("test", name) as (db, _):
        dataset = runs.find(db, "debate").dataset
        about = {
            "id": f"{name:0>10}",
            "dataset": dataset,
            "name": name,
            "method": "debate",
            "origin": "made here",
            "spec": {},
        }
        return audited_rows.write_run(db, audit_rows(rows), **about).id


def row(pair_id: str, *events: TraceEvent, evidence: tuple[Evidence, ...] = ()) -> RowResult:
    return RowResult(Prediction(pair_id, 0.1, 0.1, 0.2, 0.5, "trace"), events, evidence)


def said(content: str, role: str = "EFFECT") -> TraceEvent:
    return TraceEvent("de", role, "brief", content)


def papers(title: str) -> Evidence:
    return Evidence(
        "literature",
        "Pa|Ga",
        "ok",
        "a source",
        datetime(2026, 1, 1, tzinfo=UTC),
        {"papers": [{"title": title}]},
    )


def find(workspace: Workspace, phrase: str, **wanted: str | int) -> Found:
    with workspace.store.read() as db:
        return text_search.search(db, runs.find(db, "debate").dataset, TextQuery(phrase, **wanted))  # type: ignore[arg-type]


def holds(text: str, phrase: str) -> bool:
    return " ".join(phrase.lower().split()) in " ".join(text.lower().split())


@pytest.mark.soak
def test_counts_by_run_and_role_agree_with_a_plain_search(small_workspace: Workspace) -> None:
    rng = random.Random(0)
    texts = {
        (name, pair_id, role): " ".join(rng.choices(WORDS, k=3))
        for name in ("one", "two")
        for pair_id in ROWS
        for role in ROLES
    }
    ids = {
        name: add_run(
            small_workspace,
            name,
            [
                row(pair_id, *(said(texts[name, pair_id, role], role) for role in ROLES))
                for pair_id in ROWS
            ],
        )
        for name in ("one", "two")
    }
    for phrase in PHRASES:
        expected = Counter(
            (ids[name], role) for (name, _, role), text in texts.items() if holds(text, phrase)
        )
        found = find(small_workspace, phrase)
        ours = {key: n for key, n in found.counts.items() if key[0] in ids.values()}
        assert ours == expected, phrase
        assert all(holds(hit.hit, phrase) for hit in found.hits), phrase
        for run in (
            ids.values()
        ):  # the rows that Debates finds in one run are those found here, and those of the symbol
            with small_workspace.store.read() as db:
                rows = predictions.find_pair_ids(db, run, RowFilter(text=phrase))
            assert set(rows) == {h.pair_id for h in found.hits if h.run == run} | {
                r for r in ROWS if holds(r.replace("_", " "), phrase)
            }


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "phrase", ["β-CATENIN", "then of", "“wnt”", "\\n in mouse", "🐭", "papers"]
)
def test_dossiers_are_searched_as_they_are_read(small_workspace: Workspace, phrase: str) -> None:
    run = add_run(
        small_workspace,
        "one",
        [row("Pa_Ga", evidence=(papers(TITLE),)), row("Pa_Gb", evidence=(papers("else"),))],
    )
    found = find(small_workspace, phrase)
    hits = [hit for hit in found.hits if hit.pair_id == "Pa_Ga"]
    assert found.counts[run, DOSSIER] == len(found.hits) == (2 if phrase == "papers" else 1)
    [hit] = hits
    assert holds(hit.hit, phrase)
    assert f"{hit.before}{hit.hit}{hit.after}" == f"papers: title: {TITLE}"


@pytest.mark.soak
def test_every_run_gets_its_first_hits_and_one_can_be_asked_for(small_workspace: Workspace) -> None:
    many = add_run(
        small_workspace, "many", [row(r, said("needle"), said("Needle", "NULL")) for r in ROWS]
    )
    few = add_run(small_workspace, "few", [row("Pb_Ga", said("a needle here"))])
    found = find(small_workspace, "needle", limit=4)
    assert found.texts == 13
    assert [(hit.run, hit.pair_id, hit.role) for hit in found.hits] == [
        (many, "Pa_Ga", "EFFECT"),  # one of each run in turn, as long as there are any
        (few, "Pb_Ga", "EFFECT"),
        (many, "Pa_Ga", "NULL"),
        (many, "Pa_Gb", "EFFECT"),
    ]
    assert [hit.run for hit in find(small_workspace, "needle", run=few).hits] == [few]
    asked = find(small_workspace, "needle", role="NULL")
    assert [hit.pair_id for hit in asked.hits] == list(ROWS)
    assert {hit.hit for hit in asked.hits} == {"Needle"}
    assert asked.counts == found.counts  # of all runs and roles, whatever is listed


@pytest.mark.soak
def test_words_around_a_hit_are_whole(small_workspace: Workspace) -> None:
    run = add_run(
        small_workspace, "one", [row("Pa_Ga", said(f"{'before ' * 50}the needle{' after' * 50}"))]
    )
    [hit] = find(small_workspace, "needle", run=run).hits
    assert hit.before.startswith("… before before")
    assert hit.before.endswith(" the ")
    assert hit.after.endswith(" after …")
    assert len(hit.before) < 110
    assert len(hit.after) < 160
    assert (hit.pert, hit.gene) == ("Pa", "Ga")


@pytest.mark.parametrize("phrase", ["", "  \n"])
def test_nothing_holds_an_empty_phrase(small_workspace: Workspace, phrase: str) -> None:
    assert find(small_workspace, phrase) == Found({}, [])


@pytest.mark.soak
def test_other_datasets_and_deleted_runs_are_left_out(small_workspace: Workspace) -> None:
    run = add_run(small_workspace, "one", [row("Pa_Ga", said("needle"))])
    with small_workspace.store.write() as db:
        assert text_search.search(db, "another", TextQuery("needle")).texts == 0
        runs.delete(db, run)
    assert find(small_workspace, "needle").texts == 0
