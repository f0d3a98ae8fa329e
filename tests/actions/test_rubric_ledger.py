"""A rubric's worth in the ledger: registered, measured here, corrected beside the other results."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

import pytest

from core.actions import ledger, readings, rubric_ledger, rubrics
from core.actions.ledger import Recording, Registration
from core.actions.rubric_ledger import RubricRegistration
from core.actions.workspace import Workspace
from core.audit.rubric import Rubric
from core.errors import InputError, NotFound, StateError
from core.experiments import measure
from core.experiments.ledger_words import compared_text, rule_text
from core.experiments.rubric_hypothesis import WorthRule
from core.scoring import rubric_worth
from core.stats.verdicts import Verdict
from core.store import runs
from tests.commands import core, core_json

RUN = "simulated debate"
RUBRIC = Rubric("open", "Does it leave the question open?", pattern="open question|not reported|leaves", roles=("EFFECT",))
WANTED = RubricRegistration("open rows", "Open briefs are honest", "they hit more often", RUBRIC.name, RUN)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, demo_workspace: Workspace) -> Workspace:
    """A copy of the demo with the rubric; every test adds to its ledger under names of its own."""
    import shutil

    from core.actions.workspace import open_workspace

    folder = tmp_path_factory.mktemp("ledger") / "demo"
    shutil.copytree(demo_workspace.settings.workspace, folder, ignore=shutil.ignore_patterns("desk.log*"))
    copy = open_workspace(replace(demo_workspace.settings, workspace=folder))
    rubrics.add(copy, RUBRIC)
    return copy


@pytest.mark.soak
def test_a_worth_is_registered_measured_and_corrected(place: Workspace) -> None:
    registered = rubric_ledger.register(place, WANTED)
    assert (registered.kind, registered.rubric, registered.seen_before) == ("registration", "open", True)
    assert rubric_ledger.register(place, WANTED) == registered
    entry = rubric_ledger.record_result(place, WANTED.name)
    with place.store.read() as db:
        rows = measure.load_scored_rows(db, runs.find(db, RUN).id)
        outcomes = rubric_worth.load_outcomes(db, rows)
    said, made_by = readings.answers(place, RUBRIC, RUN)
    [worth] = rubric_worth.rubric_worth(rows, outcomes, [(RUBRIC, said)])
    shown = worth.measures["hit_rate"].change.shown
    assert made_by == "rule"
    assert worth.n_yes > 0
    assert worth.n_no > 0
    assert (entry.estimate, entry.low, entry.high, entry.se, entry.df) == (
        shown.estimate,
        shown.low,
        shown.high,
        shown.se,
        shown.df,
    )
    assert entry.verdict in get_args(Verdict)
    assert (entry.rubric, entry.rubric_sha256, entry.first) == ("open", RUBRIC.sha256, registered.id)
    assert "answered by its rule" in (entry.scored or "")
    assert compared_text(entry) == f"rows of {RUN} with the answer yes to open against the others"
    assert rule_text(registered) == "hit rate, by two-way, at least +0.05"
    line = next(line for line in ledger.list_lines(place) if line.entry.id == entry.id)
    assert line.adjusted is not None
    assert line.adjusted.holm >= line.adjusted.p == pytest.approx(worth.p["hit_rate"].p)


def test_one_of_a_run_that_is_yet_to_be_made_was_not_seen(place: Workspace) -> None:
    entry = rubric_ledger.register(place, replace(WANTED, name="later", run="a run to come", rule=WorthRule("de")))
    assert (entry.run_b, entry.name_b, entry.seen_before, entry.metric) == (None, "a run to come", False, "de")
    with pytest.raises(NotFound, match="a run to come"):
        rubric_ledger.record_result(place, "later")


def test_what_does_not_fit_is_refused(place: Workspace) -> None:
    rubric_ledger.register(place, replace(WANTED, name="worth"))
    ledger.register(place, Registration("runs", "h", "p", a="simulated collapsed debate", b=RUN))
    with pytest.raises(InputError, match="registered about the rubric 'open', not about two runs"):
        ledger.record_result(place, "worth", Recording())
    with pytest.raises(InputError, match="registered about two runs, not about a rubric"):
        rubric_ledger.record_result(place, "runs")
    with pytest.raises(NotFound, match="nothing"):
        rubric_ledger.register(place, replace(WANTED, name="n", rubric="nothing"))
    for wrong, said in (
        ({"metric": "mean"}, "metric"),
        ({"unit": "cell"}, "unit"),
        ({"smallest_effect": 0.0}, "smallest_effect"),
    ):
        with pytest.raises(InputError, match=said):
            WorthRule(**wrong)  # type: ignore[arg-type]
    with place.store.write() as db:
        db.execute("UPDATE hypothesis SET rubric_sha256 = 'another' WHERE name = 'worth'")
    with pytest.raises(StateError, match="has changed its question since the registration"):
        rubric_ledger.record_result(place, "worth")


def test_the_commands(place: Workspace) -> None:
    folder = place.settings.workspace
    claim = ("--hypothesis", "h", "--prediction", "p", "--smallest", "0.02", "--rubric", "open", "--run", RUN)
    added = core_json(folder, "ledger", "add", "by command", *claim, "--metric", "dir")
    assert (added["rubric"], added["rule"]["metric"], added["result"]) == ("open", "dir", None)
    result = core_json(folder, "ledger", "result", "by command", "--note", "seen")
    assert {"estimate", "low", "high"} <= result["result"].keys()
    assert result["p_holm"] >= result["p"]
    done = core(folder, "ledger", "result", "by command", "--runs", "a,b")
    assert (done.status, "registered about a rubric" in done.err) == (1, True)
    done = core(folder, "ledger", "add", "x", *claim[:8])
    assert (done.status, "--rubric and --run together" in done.err) == (1, True)
