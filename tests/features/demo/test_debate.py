"""The simulated debates: predictions follow from verdicts, arguments argue, and the collapsed run does not."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest

from core.base.types import Flag, Label, RowResult, TraceEvent
from core.features.demo.actions import Demo, DemoRun
from core.features.importing.traces import parse_trace
from tests.features.demo import demo_cases
from tests.features.demo.demo_cases import all_evidence, of_split, runs_of

demo = demo_cases.demo
OPTION = re.compile(r"\W*([ABC])\)")


def briefs(run: DemoRun) -> list[tuple[RowResult, TraceEvent]]:
    return [(row, event) for row in run.rows for event in row.events if event.kind == "brief"]


def test_runs_are_named_and_cover_their_rows(demo: Demo) -> None:
    argued, collapsed, test = runs_of(demo)
    assert [run.name for run in demo.runs] == [
        "simulated debate",
        "simulated collapsed debate",
        "simulated debate test",
    ]
    assert all("imulated" in run.note for run in demo.runs)
    ids = [[row.prediction.pair_id for row in run.rows] for run in demo.runs]
    assert len(argued.rows) == 1_200
    assert ids[0] == ids[1]
    assert len(set(ids[0])) == 1_200
    assert set(ids[0]) <= {pair.pair_id for pair in of_split(demo, "train")}
    assert ids[2] == [pair.pair_id for pair in of_split(demo, "test")]
    assert (argued.split, collapsed.split, test.split) == ("train", "train", "test")


def test_predictions_follow_from_the_verdicts(demo: Demo) -> None:
    for run in runs_of(demo):
        for row in run.rows:
            found = row.prediction
            verdicts = {event.stage: event for event in row.events if event.kind == "verdict"}
            de, up = (verdicts[stage].meta["p"] for stage in ("de", "dir"))
            assert (found.p_de, found.p_up_given_de, found.p_source) == (de, up, "trace")
            assert found.prediction_up == pytest.approx(de * up, abs=5.1e-7)
            assert found.prediction_down == pytest.approx(de * (1 - up), abs=5.1e-7)
            assert found.tokens == sum(event.tokens or 0 for event in row.events)
            assert found.tool_calls == len(row.evidence) == 5
            for stage, flag in (("de", Flag.DE_FALLBACK), ("dir", Flag.DIR_FALLBACK)):
                said = re.findall(r"<prob>(\d+)</prob>$", verdicts[stage].content)
                assert verdicts[stage].meta["fallback"] == (flag in found.flags) == (said == [])
                assert said in ([], [str(round(100 * verdicts[stage].meta["p"]))])


def test_only_the_collapsed_run_has_fallbacks_and_they_are_the_base_rates_in_view(
    demo: Demo,
) -> None:
    argued, collapsed, test = runs_of(demo)
    assert not any(row.prediction.flags for run in (argued, test) for row in run.rows)
    flags = Counter(flag for row in collapsed.rows for flag in row.prediction.flags)
    assert 5 < flags[Flag.DE_FALLBACK] < 30  # 1.3% and 0.8% of 1,200
    assert 2 < flags[Flag.DIR_FALLBACK] < 25
    for row in collapsed.rows:
        rates = next(item.body for item in row.evidence if item.tool == "base_rates")
        if Flag.DE_FALLBACK in row.prediction.flags:
            assert row.prediction.p_de == rates["p_de"]
        if Flag.DIR_FALLBACK in row.prediction.flags:
            assert row.prediction.p_up_given_de == rates["p_up_given_de"]


Told = tuple[str, str, str, str, dict[str, Any]]


def told(events: Iterable[Any]) -> list[Told]:
    """What a trace holds of events."""
    return [(e.stage, e.role, e.kind, e.content, dict(e.meta)) for e in events]


def test_events_are_those_of_an_imported_debate(demo: Demo) -> None:
    """Written as a published trace and read back, a row has the same events (less what a trace does not hold)."""
    for row in (row for run in runs_of(demo) for row in run.rows[::40]):
        said = {"brief": {}, "rebuttal": {}, "verdict": {}}
        for event in row.events:
            key = event.stage if event.kind == "verdict" else event.role
            said[event.kind][key] = event.content
        found = row.prediction
        read = parse_trace(
            json.dumps(
                {"briefs": said["brief"], "rebuttals": said["rebuttal"]}
                | {f"{stage}_verdict": text for stage, text in said["verdict"].items()}
                | {"P_DE": found.p_de, "P_up_given_DE": found.p_up_given_de}
                | {str(flag): True for flag in found.flags}
            )
        )
        assert read.flags == found.flags
        assert told(read.events) == told(row.events)


def test_argued_briefs_argue_and_collapsed_ones_mostly_do_not(demo: Demo) -> None:
    argued, collapsed, test = runs_of(demo)
    assert not [
        event.content
        for run in (argued, test)
        for _, event in briefs(run)
        if OPTION.match(event.content)
    ]
    opens = defaultdict(list)
    against = {"EFFECT": "C", "NULL": "AB", "UP": "BC", "DOWN": "AC"}
    contrary = Counter()
    for _, event in briefs(collapsed):
        option = OPTION.match(event.content)
        opens[event.role].append(option is not None)
        contrary[event.role] += option is not None and option[1] in against[event.role]
    share = {role: float(np.mean(found)) for role, found in opens.items()}
    assert share["EFFECT"] == pytest.approx(0.65, abs=0.04)
    assert share["NULL"] == pytest.approx(0.65, abs=0.04)
    assert share["UP"] > 0.9
    assert share["DOWN"] > 0.9
    assert contrary["UP"] > 400
    assert contrary["DOWN"] > 750


def test_argued_briefs_name_both_genes_in_four_to_six_sentences(demo: Demo) -> None:
    argued, _, test = runs_of(demo)
    for run in (argued, test):
        for row, event in briefs(run):
            pert, gene = row.prediction.pair_id.split("_")
            assert pert in event.content
            assert gene in event.content
            assert 4 <= len(re.findall(r"[.!?](?:\*\*)?(?:\s|$)", event.content)) <= 6
            assert len(event.content) >= 120
    texts = [event.content for _, event in briefs(argued)]
    assert len(set(texts)) > 0.95 * len(texts)


def test_phrases_are_filled_from_the_rows_own_dossier(demo: Demo) -> None:
    for run in runs_of(demo):
        for row in run.rows:
            dossier = json.dumps([dict(item.body) for item in row.evidence])
            for event in row.events:
                assert "{" not in event.content
                assert "None" not in event.content
                cited = set(re.findall(r"SIM-\d+|\bSim\w+", event.content))
                own = set(row.prediction.pair_id.split("_"))
                assert not [name for name in cited - own if f'"{name}"' not in dossier]


def test_a_dossier_is_said_to_be_simulated_and_can_be_stored(demo: Demo) -> None:
    items = all_evidence(demo)
    assert {(item.source, item.status) for item in items} == {("simulated", "ok")}
    bodies = [dict(item.body) for item in items[::20]]
    assert json.loads(json.dumps(bodies)) == bodies


def test_only_tools_that_read_labels_name_a_view(demo: Demo) -> None:
    argued, _, test = runs_of(demo)
    readers = {item.tool for item in all_evidence(demo) if item.view}
    assert readers == {"base_rates", "pathway_neighbours"}
    assert {item.view for row in test.rows for item in row.evidence} == {"", "train"}
    assert all(
        item.view.startswith("train without fold")
        for row in argued.rows
        for item in row.evidence
        if item.view
    )


def test_labels_in_a_dossier_come_from_rows_without_the_folds_perturbations_and_genes(
    demo: Demo,
) -> None:
    """Counted again from the pairs: per view, nothing that shares a perturbation or a gene with a row that saw it."""
    pairs = {pair.pair_id: pair for pair in demo.pairs}
    for run in runs_of(demo):
        seen_by = defaultdict(list)
        for row in run.rows:
            (view,) = {item.view for item in row.evidence} - {""}
            seen_by[view].append(row)
        for rows in seen_by.values():
            own = [pairs[row.prediction.pair_id] for row in rows]
            perts, genes = {pair.pert for pair in own}, {pair.gene for pair in own}
            seen = [
                pair
                for pair in of_split(demo, "train")
                if pair.pert not in perts and pair.gene not in genes
            ]
            counts = Counter((pair.pert, pair.label) for pair in seen)
            up, down = (
                sum(pair.label is label for pair in seen) for label in (Label.UP, Label.DOWN)
            )
            expected = {
                "n": len(seen),
                "p_de": (up + down) / len(seen),
                "p_up_given_de": up / (up + down),
            }
            for item in (item for row in rows for item in row.evidence):
                if item.tool == "base_rates":
                    assert dict(item.body) == pytest.approx(expected, abs=5.1e-4)
                for partner in item.body.get("partners", []):
                    up, down, none = (
                        counts[partner["symbol"], label]
                        for label in (Label.UP, Label.DOWN, Label.NONE)
                    )
                    assert partner["symbol"] not in perts
                    assert (partner["n"], partner["de"], partner["up"], partner["down"]) == (
                        up + down + none,
                        up + down,
                        up,
                        down,
                    )
