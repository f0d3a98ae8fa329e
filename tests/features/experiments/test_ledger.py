"""The ledger is only ever added to: registrations, results computed from runs, and what others published."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.main import get_command

from core.base.config import Settings
from core.base.errors import InputError, NotFound
from core.features.experiments import ledger
from core.features.experiments.commands import ledger_app
from core.features.experiments.ledger_result import LedgerLine
from core.features.experiments.ledger_table import HERE, DecisionRule, Entry, judged
from core.features.importing import backups
from core.runs import actions as runs
from core.runs.workspace import Workspace, open_workspace
from core.scoring.compare_runs import compare_runs
from core.scoring.run_scores import load_scored_rows
from core.stats.comparison import verdict_of
from core.stats.intervals import Interval, normal_interval
from core.store import runs as stored_runs
from tests.commands import core, core_json

A, B = "simulated collapsed debate", "simulated debate"


@pytest.fixture
def filled(demo_copy: Workspace) -> Workspace:
    """A workspace for each test, which Ada writes to: what one adds to the ledger stays there for good."""
    return open_workspace(replace(demo_copy.settings, author="Ada"))


def register(workspace: Workspace, name: str, a: str = A, b: str = B, **rule: object) -> Entry:
    entry = ledger.claim(name, "A debate that argues is better", "the mean rises")
    return ledger.register(
        workspace, entry, DecisionRule(**{"smallest_effect": 0.01, **rule}), (a, b)
    )  # type: ignore[arg-type]


def line_of(workspace: Workspace, name: str) -> LedgerLine:
    return next(
        line for line in ledger.list_ledger(workspace).hypotheses if line.entry.name == name
    )


@pytest.mark.soak
def test_a_result_is_the_comparison_of_two_runs(filled: Workspace) -> None:
    registration = register(filled, "arguing")
    result = ledger.record(filled, "arguing")
    with filled.store.read() as db:
        change = compare_runs(load_scored_rows(db, A), load_scored_rows(db, B)).covered.mean
    shown = change.change.shown
    assert (result.estimate, result.low, result.high, result.se) == (
        shown.estimate,
        shown.low,
        shown.high,
        shown.se,
    )
    assert (result.n, result.detectable) == (shown.n, change.detectable)
    assert (result.score_a, result.score_b) == (change.before.value, change.after.value)
    assert (result.kind, result.about, result.author) == ("result", registration.about, "Ada")
    assert (result.name_a, result.name_b) == (A, B)
    assert result.verdict == (
        "confirmed" if shown.low > 0 and shown.estimate >= 0.01 else result.verdict
    )
    assert result.code_version


@pytest.mark.soak
@pytest.mark.parametrize("metric", ["de", "dir"])
def test_the_rule_chooses_the_metric(filled: Workspace, metric: str) -> None:
    register(filled, metric, metric=metric)
    result = ledger.record(filled, metric)
    with filled.store.read() as db:
        compared = compare_runs(load_scored_rows(db, A), load_scored_rows(db, B)).covered
    assert result.se == getattr(compared, metric).change.shown.se


@pytest.mark.soak
def test_a_registration_after_its_result_says_so(filled: Workspace) -> None:
    """Both runs are there, with labels: whoever registers now can have looked."""
    assert register(filled, "late").seen_before
    assert (
        line_of(filled, "late").words == "no result yet, registered after its result could be seen"
    )
    assert ledger.record(filled, "late").seen_before
    assert "registered after its result could be seen" in line_of(filled, "late").words


def test_a_registration_before_its_run_does_not(filled: Workspace) -> None:
    """The run that is to win is made after the registration, which knows it by its name."""
    register(filled, "early", b="a run to come")
    with filled.store.write() as db:
        found = stored_runs.find(db, B)
        db.execute(
            "UPDATE run SET name = 'a run to come', created_at = now()::TIMESTAMP WHERE id = ?",
            [found.id],
        )
    try:
        result = ledger.record(filled, "early")
    finally:
        runs.rename(filled, found.id, B)
    assert (result.seen_before, result.run_b) == (False, found.id)
    assert "seen" not in line_of(filled, "early").words


def test_a_second_registration_is_refused_with_the_date_of_the_first(filled: Workspace) -> None:
    first = register(filled, "twice", smallest_effect=0.9)
    assert register(filled, "twice", smallest_effect=0.9) == first  # the same again adds nothing
    assert first.written_at
    with pytest.raises(
        InputError, match=f"'twice': in the ledger since {first.written_at:%Y-%m-%d}"
    ):
        register(filled, "twice", smallest_effect=0.001)
    result = ledger.record(filled, "twice")
    assert (result.about, result.smallest_effect) == (first.about, 0.9)
    assert ledger.record(filled, "twice") == result


@pytest.mark.soak
def test_the_published_ladder_is_imported_once(filled: Workspace) -> None:
    assert len(ledger.import_published_ladder(filled)) == 9
    assert ledger.import_published_ladder(filled) == []
    with pytest.raises(InputError, match="'scGPT': in the ledger since"):
        ledger.import_file(
            filled, b"name,hypothesis,dataset,z\nscGPT,again,challenge,2.0\n", "more.csv"
        )


def test_a_file_with_one_wrong_line_adds_nothing(filled: Workspace) -> None:
    before = ledger.list_entries(filled)
    with pytest.raises(InputError, match=r"bad\.csv, line 3: z"):
        ledger.import_file(filled, b"name,hypothesis,dataset,z\nx,h,d,1\ny,h,d,0\n", "bad.csv")
    assert ledger.list_entries(filled) == before


def test_a_result_that_cannot_be_computed_is_refused(filled: Workspace) -> None:
    with pytest.raises(NotFound, match="hypothesis 'nobody': not registered here, which has "):
        ledger.record(filled, "nobody")
    register(filled, "too early", b="absent")
    with pytest.raises(NotFound, match="run 'absent'"):
        ledger.record(filled, "too early")
    with pytest.raises(NotFound, match="run 'absent'"):
        register(filled, "no baseline", a="absent")


def test_texts_are_needed() -> None:
    with pytest.raises(InputError, match="prediction: 0 characters"):
        ledger.claim("x", "claim", " ")
    with pytest.raises(InputError, match="name of a hypothesis"):
        ledger.claim("", "claim", "it rises")


@pytest.mark.soak
def test_a_deleted_run_takes_no_entry_with_it_and_a_backup_has_them_all(
    filled: Workspace, tmp_path: Path
) -> None:
    register(filled, "arguing")
    before = ledger.list_entries(filled)
    assert before
    runs.delete(filled, B)
    assert ledger.list_entries(filled) == before
    backups.back_up(filled, tmp_path / "b.zip")
    other = open_workspace(Settings(workspace=tmp_path / "other", author="Bob"))
    backups.restore(other, tmp_path / "b.zip")
    assert ledger.list_entries(other) == before


@pytest.fixture
def place(demo_copy: Workspace) -> Path:
    """A workspace for each test: what one adds to the ledger stays there for good."""
    return demo_copy.settings.workspace


@pytest.mark.soak
def test_a_hypothesis_from_registration_to_verdict(place: Path) -> None:
    assert core_json(place, "ledger", "list")["hypotheses"] == []
    claim = (
        "--hypothesis",
        "Arguing helps",
        "--prediction",
        "the mean rises",
        "--smallest",
        "0.01",
    )
    added = core_json(place, "ledger", "add", "arguing", *claim, "--runs", f"{A},{B}")
    assert (added["verdict"], added["seen_before"], added["p"]) == (None, True, None)
    result = core_json(place, "ledger result arguing")
    compared = core_json(place, "compare", A, B)
    assert result["estimate"] == compared["delta_mean"]["estimate"]
    assert result["p"] == result["p_holm"] == result["p_bh"] == pytest.approx(compared["p"])
    assert (result["name"], result["kind"], added["kind"]) == ("arguing", "result", "registration")
    assert core_json(place, "ledger", "list")["hypotheses"] == [result]
    assert "registered after its result could be seen" in core(place, "ledger", "list").out


@pytest.mark.few(4)
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("import",), "expected either a file or --published"),
        (("import", "absent.csv"), "absent.csv"),
        (("result", "nobody"), "not registered here"),
        (
            (
                "add",
                "x",
                "--hypothesis",
                "h",
                "--prediction",
                "p",
                "--smallest",
                "0",
                "--runs",
                "a,b",
            ),
            "--smallest: got '0', expected a number, more than 0",
        ),
        (
            (
                "add",
                "x",
                "--hypothesis",
                "h",
                "--prediction",
                "p",
                "--smallest",
                "0.1",
                "--runs",
                "one",
            ),
            "expected two runs as A,B",
        ),
    ],
)
def test_what_is_wrong_is_one_line(place: Path, words: tuple[str, ...], said: str) -> None:
    done = core(place, "ledger", *words)
    assert (done.status, said in done.err, done.err.count("\n")) == (1, True, 1)


def test_there_is_no_command_that_changes_or_deletes() -> None:
    assert set(get_command(ledger_app).commands) == {"list", "add", "result", "import"}  # type: ignore[attr-defined]


CLAIM = Entry(kind="registration", name="x", hypothesis="h", source=HERE)


def change(estimate: float, se: float) -> Interval:
    return normal_interval(estimate, se**2, 100, "row", "by hand", (-1.0, 1.0))


# With se 0.01: the interval is ± 0.0196, detectable is 0.0280.
@pytest.mark.parametrize(
    ("estimate", "smallest", "verdict"),
    [
        (0.030, 0.03, "confirmed"),
        (0.021, 0.02, "confirmed"),  # also where an effect of 0.02 would mostly have been missed
        (0.021, 0.03, "undecided"),
        (0.021, 0.05, "confirmed, small"),
        (0.010, 0.03, "rejected"),
        (0.011, 0.03, "undecided"),
        (-0.010, 0.009, "undecided"),
        (-0.021, 0.02, "harmful"),
    ],
)
def test_the_verdict_follows_the_rule(estimate: float, smallest: float, verdict: str) -> None:
    result = judged(CLAIM, change(estimate, 0.01), smallest)
    assert (result.kind, result.verdict) == ("result", verdict)
    assert result.detectable == pytest.approx(0.0280, abs=1e-4)
    assert (result.z, result.n) == (pytest.approx(100 * estimate), 100)


def test_few_clusters_detect_less() -> None:
    """The noncentral t with 4 degrees of freedom exceeds 2.776 in 80% at 3.761."""
    few = Interval(0.03, 0.002, 0.058, 0.01, 100, "pert", "by hand", clusters=5)
    result = judged(CLAIM, few, 0.01)
    assert (result.detectable, result.df) == (pytest.approx(0.03761, abs=1e-5), 4)


@pytest.mark.parametrize(("estimate", "se"), [(np.nan, 0.01), (0.5, np.nan)])
def test_without_an_interval_there_is_no_verdict(estimate: float, se: float) -> None:
    result = judged(CLAIM, change(estimate, se), 0.01)
    assert (result.verdict, result.low, result.z) == ("no verdict", None, None)


@given(st.floats(-0.2, 0.2), st.floats(1e-4, 0.1), st.floats(1e-3, 0.2))
def test_nothing_is_rejected_whose_interval_holds_what_is_worth_having(
    estimate: float, se: float, smallest: float
) -> None:
    found = change(estimate, se)
    verdict = verdict_of(found, smallest)
    if found.low <= smallest <= found.high:
        assert verdict in ("confirmed", "undecided")
    if found.low <= 0 <= found.high:
        assert verdict in ("rejected", "undecided")


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"metric": "auroc"}, "metric: got 'auroc', expected de, dir, mean"),
        ({"smallest_effect": 0.0}, "smallest_effect: got 0.0"),
        ({"smallest_effect": float("nan")}, "smallest_effect: got nan"),
    ],
)
def test_a_rule_that_cannot_decide_is_refused(values: dict[str, object], words: str) -> None:
    with pytest.raises(InputError, match=words):
        DecisionRule(**values)  # type: ignore[arg-type]
