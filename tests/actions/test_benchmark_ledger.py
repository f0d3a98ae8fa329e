"""A benchmark's hypothesis: registered before its arms are made, its result recorded once, whoever looks twice."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.actions import benchmark_ledger, benchmarks, ledger
from core.actions.ledger import Registration
from core.actions.workspace import Workspace, open_workspace
from core.config import Settings
from core.errors import InputError, NotFound
from core.experiments.benchmark_report import report_benchmark
from core.experiments.benchmark_spec import BenchmarkSpec, parse_benchmark
from core.experiments.decision import DecisionRule
from core.experiments.ledger import ledger_lines, line_of_benchmark
from core.experiments.ledger_words import benchmark_sentence
from core.store import runs
from core.store.hypotheses import Entry
from tests import worlds
from tests.actions.test_benchmarks import FUSED, VOTED, Voting, methods_with
from tests.commands import core, core_json

ABOUT = '[hypothesis]\nclaim = "Similar genes respond alike"\nprediction = "the mean rises"\n'
CLAIMED = FUSED + ABOUT


Run = tuple[Workspace, benchmarks.SavedBenchmark]


@pytest.fixture(scope="module")
def run_once(furnished: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """The benchmark with its result, shared: `done` has a copy."""
    workspace = open_workspace(Settings(workspace=tmp_path_factory.mktemp("run-once"), author="tester"))
    return workspace, benchmarks.run_benchmark(worlds.copied(furnished, workspace), spec_of())


@pytest.fixture
def done(workspace: Workspace, run_once: Run) -> Run:
    made, saved = run_once
    return worlds.copied(made.settings.workspace, workspace), saved


def spec_of(text: str = CLAIMED) -> BenchmarkSpec:
    return parse_benchmark(text)


def kinds(workspace: Workspace) -> list[str]:
    return [entry.kind for entry in ledger.list_entries(workspace)]


@pytest.mark.soak
def test_the_result_is_the_change_that_the_benchmark_reports(screen: Workspace) -> None:
    spec = spec_of(CLAIMED + 'unit = "row"\n')
    saved = benchmarks.run_benchmark(screen, spec)
    with screen.store.read() as db:
        [found] = report_benchmark(db, spec, saved.dataset, saved.rows, saved.runs).results
    registration, result = ledger.list_entries(screen)
    by_row = found.change("mean").change.row
    assert (result.estimate, result.low, result.high, result.se) == (by_row.estimate, by_row.low, by_row.high, by_row.se)
    assert (result.verdict, result.scored) == (found.decision(spec).verdict, "inside 2×2 cells, mean of 2 cuts")
    assert (result.name, result.benchmark, result.name_a, result.name_b) == ("b", "b", "LLM", "LLM + kNN")
    assert (result.first, registration.hypothesis) == (registration.id, "Similar genes respond alike")
    assert (registration.metric, registration.level, registration.unit) == ("mean", "fused", "row")
    assert registration.smallest_effect == 0.01
    line = line_of_benchmark(ledger_lines([registration, result]), "b")
    assert line is not None
    assert "registered before its result" in benchmark_sentence(line, "b")


@pytest.mark.soak
def test_it_is_registered_before_its_arms_are_made(done: Run) -> None:
    screen, saved = done
    registration, result = ledger.list_entries(screen)
    assert not registration.seen_before
    assert not result.seen_before
    with screen.store.read() as db:
        made = [runs.find(db, run).created_at for run in saved.runs["LLM + kNN"].values()]
    assert all(registration.written_at < at for at in made if at and registration.written_at)


@pytest.mark.soak
def test_twice_the_same_changes_nothing(done: Run) -> None:
    screen, saved = done
    before = ledger.list_entries(screen)
    assert benchmarks.run_benchmark(screen, spec_of()) == saved
    assert benchmarks.record_result(screen, saved) == before[-1]
    assert ledger.list_entries(screen) == before


@pytest.mark.soak
def test_who_names_it_after_the_runs_were_made_has_seen_the_result(screen: Workspace) -> None:
    """The same runs under another name are the same runs, of which one cut is enough to look at."""
    one_cut = FUSED.replace("cuts = [0, 1]", "cuts = [1]").replace('name = "b"', 'name = "look"')
    benchmarks.run_benchmark(screen, spec_of(one_cut))
    assert kinds(screen) == []
    benchmarks.run_benchmark(screen, spec_of())
    assert [entry.seen_before for entry in ledger.list_entries(screen)] == [True, True]


@pytest.mark.soak
def test_a_killed_benchmark_has_one_entry_of_each_kind(screen: Workspace) -> None:
    spec = spec_of(VOTED + ABOUT + 'level = "other"\n')
    voting = Voting(stop_after=50)
    with pytest.raises(KeyboardInterrupt):
        benchmarks.run_benchmark(screen, spec, method=methods_with(voting))
    assert kinds(screen) == ["registration"]
    voting.stop_after = None
    benchmarks.run_benchmark(screen, spec, method=methods_with(voting))
    entries = ledger.list_entries(screen)
    assert [entry.kind for entry in entries] == ["registration", "result"]
    assert [entry.seen_before for entry in entries] == [False, False]


@pytest.mark.soak
def test_the_rule_that_was_registered_first_decides(screen: Workspace) -> None:
    rule = DecisionRule("de", "fused", "two-way", 0.3)
    ledger.register(screen, Registration("b", "by hand", "it rises", rule))
    benchmarks.run_benchmark(screen, spec_of())
    by_hand, of_benchmark, result = ledger.list_entries(screen)
    assert (of_benchmark.first, result.first) == (by_hand.id, by_hand.id)
    assert (result.metric, result.smallest_effect, result.seen_before) == ("de", 0.3, False)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (CLAIMED.replace('prediction = "the mean rises"\n', ""), "line 21: hypothesis.prediction is missing"),
        (CLAIMED + 'unit = "cell"\n', "line 24: hypothesis.unit is 'cell', expected row, pert, gene, two-way"),
        (CLAIMED + 'arm = "LLM"\n', "hypothesis.arm is 'LLM', expected LLM [+] kNN"),
        (CLAIMED + "smallest_effect = 0.1\n", "hypothesis.smallest_effect is not known"),
    ],
)
def test_what_a_file_may_say(text: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        parse_benchmark(text)


@pytest.mark.soak
def test_what_is_refused_before_anything_is_made(screen: Workspace) -> None:
    with pytest.raises(InputError, match=r"arm 'LLM [+] kNN': of the method fusion, but the rule is about the level 'embedding'"):
        benchmarks.run_benchmark(screen, spec_of(CLAIMED + 'level = "embedding"\n'))
    ledger.register(screen, Registration("b", "c", "p", a="llm train", b="another"))
    with pytest.raises(InputError, match="the ledger has one about another against llm train"):
        benchmarks.run_benchmark(screen, spec_of())
    assert benchmarks.STUDY.list_saved(screen) == []
    assert kinds(screen) == ["registration"]
    named = spec_of(CLAIMED + 'name = "mine"\n')
    benchmarks.save_benchmark(screen, named)
    with pytest.raises(InputError, match="registered by the benchmark 'b', which records its result"):
        ledger.record_result(screen, "mine")
    with pytest.raises(NotFound, match="hypothesis 'b2': not registered here"):
        benchmark_ledger.record_result(screen, spec_of(CLAIMED + 'name = "b2"\n'), dataset_of(screen), (), {})


def dataset_of(workspace: Workspace) -> str:
    with workspace.store.read() as db:
        return runs.find(db, "llm train").dataset


@pytest.mark.soak
def test_the_command_says_how_it_stands(done: Run, tmp_path: Path) -> None:
    screen, _ = done
    file = tmp_path / "b.toml"
    file.write_text(CLAIMED, "utf-8")
    folder = screen.settings.workspace
    said = core(folder, "benchmark", str(file))
    assert "In the ledger, its hypothesis: " in said.out, said.err
    found = core_json(folder, "benchmark", str(file))
    listed = core_json(folder, "ledger", "list")["hypotheses"]
    assert listed == [found["hypothesis"]]
    assert listed[0]["benchmark"] == "b"
    assert listed[0]["verdict"] == found["comparisons"][0]["verdict"]


@pytest.mark.soak
def test_the_same_written_at_once_stands_once(screen: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process writes between the look and the write: the second finds the first's entry in its own transaction."""
    wanted = Registration("at once", "c", "p")
    first = ledger.register(screen, wanted)
    looks: list[list[Entry]] = [[]]  # what the second saw before the first wrote
    monkeypatch.setattr(ledger, "list_entries", lambda _workspace: looks.pop())
    second = ledger.register(screen, wanted)
    monkeypatch.undo()
    assert second == first
    assert kinds(screen) == ["registration"]
