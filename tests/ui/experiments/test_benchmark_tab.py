"""The tabs Benchmark and Plan of Experiments."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.actions import benchmarks, job_control, ledger
from core.actions import runs as runs_actions
from core.actions.studies import Study
from core.actions.workspace import Workspace
from core.experiments.benchmark_spec import parse_benchmark
from core.jobs.work import work_on
from core.store import notes
from tests import worlds
from tests.actions.test_benchmark_ledger import CLAIMED
from tests.actions.test_benchmarks import FUSED
from tests.jobs.crashed import BENCHMARK
from tests.jobs.worker import until
from tests.ui.conftest import Visit
from tests.ui.test_apptest import press, text_of
from tests.ui.test_crashed_jobs import watched


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The small screen with a benchmark that is done, and one that has no run yet."""

    def fill(workspace: Workspace) -> None:
        worlds.furnish(workspace)
        benchmarks.run_benchmark(workspace, parse_benchmark(FUSED))
        benchmarks.save_benchmark(workspace, parse_benchmark(FUSED.replace('name = "b"', 'name = "later"')))

    return worlds.template(tmp_path_factory.mktemp("benchmarks"), fill)


@pytest.fixture
def workspace_with_benchmarks(workspace: Workspace, made: Path) -> Workspace:
    return worlds.copied(made, workspace)


@pytest.mark.soak
def test_a_benchmark_and_its_plan(visit: Visit, workspace_with_benchmarks: Workspace) -> None:
    app = visit(workspace_with_benchmarks, "experiments", tab="Benchmark", benchmark="b")
    assert not app.exception
    shown = text_of(app).replace("\\", "")
    assert "LLM + kNN against LLM: mean" in shown
    assert "Placebo DE within gene, which the change cannot affect, did not move" in shown
    assert "Noise floor: LLM + kNN under another cut" in shown
    arms = app.dataframe[-1].value
    assert arms["arm"].tolist() == ["LLM", "LLM + kNN"]
    assert arms["runs"].tolist() == [1, 2]
    app = visit(workspace_with_benchmarks, "experiments", tab="Plan", plan="b")
    assert "Variances are from the benchmark's own runs" in text_of(app)


@pytest.mark.soak
def test_how_its_hypothesis_stands(visit: Visit, workspace_with_benchmarks: Workspace) -> None:
    """A result that was not recorded, since the benchmark was killed before it could, is recorded by one press."""
    spec = parse_benchmark(CLAIMED.replace('name = "b"', 'name = "claimed"'))
    benchmarks.save_benchmark(workspace_with_benchmarks, spec)
    [registration] = ledger.list_entries(workspace_with_benchmarks)
    app = visit(workspace_with_benchmarks, "experiments", tab="Ledger", ledger_of=registration.first)
    assert "The benchmark claimed records the result when it is done" in text_of(app).replace("\\", "")
    assert not [button for button in app.button if button.label == "Record result"]
    made = benchmarks.find_benchmark(workspace_with_benchmarks, spec)
    runs_actions.save_preset(workspace_with_benchmarks, benchmarks.PAGE, "claimed", made.as_json())
    app = visit(workspace_with_benchmarks, "experiments", tab="Benchmark", benchmark="claimed")
    assert "In the ledger, its hypothesis: no result yet" in text_of(app).replace("\\", "")
    app = press(app, "Record result")
    assert not app.exception
    result = ledger.list_entries(workspace_with_benchmarks)[-1]
    assert (result.kind, result.benchmark) == ("result", "claimed")
    assert f"In the ledger, its hypothesis: {result.verdict}" in text_of(app).replace("\\", "")
    assert not [button for button in app.button if button.label == "Record result"]


@pytest.mark.soak
def test_one_that_goes_on_is_drawn_again_until_it_has_ended(
    visit: Visit, workspace_with_benchmarks: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What runs again every few seconds finds the runs that its process recorded meanwhile."""
    drawn = watched(monkeypatch)
    with work_on(benchmarks.STUDY.job_of(workspace_with_benchmarks, benchmarks.job_key("later"))) as reporter:
        reporter.report(0.5, "LLM + kNN, cut 1, seed 0")
        app = visit(workspace_with_benchmarks, "experiments", tab="Benchmark", benchmark="later")
        assert "Not finished" in text_of(app)
        [bar] = app.main.get("progress")
        assert bar.proto.text.replace("\\", "") == "running · LLM + kNN, cut 1, seed 0"
        assert not [button for button in app.button if button.label == "Resume"]
    assert [every_s for every_s in drawn if every_s] == [2.0]
    benchmarks.run_benchmark(workspace_with_benchmarks, parse_benchmark(FUSED.replace('name = "b"', 'name = "later"')))
    drawn.clear()
    app.run()
    assert "LLM + kNN against LLM: mean" in text_of(app).replace("\\", "")
    assert not any(drawn)


@pytest.mark.soak
def test_one_is_started_and_resumed(visit: Visit, workspace_with_benchmarks: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[str] = []
    monkeypatch.setattr(Study, "start_apart", lambda *given: started.append(given[-1]))  # the last argument is the name
    app = visit(workspace_with_benchmarks, "experiments", tab="Benchmark", benchmark="later")
    assert "Not finished: the arms are compared once all 4 of its runs are done" in text_of(app)
    press(app, "Resume")
    assert started == ["later"]
    app.text_area[0].set_value(FUSED.replace('name = "b"', 'name = "new"'))
    app = press(app, "Start benchmark")
    assert not app.error
    assert started == ["later", "new"]
    with workspace_with_benchmarks.store.read() as db:
        assert set(notes.presets_of_page(db, benchmarks.PAGE)) == {"b", "later", "new"}
    app.text_area[0].set_value(FUSED.replace("k = 2", "k = 1"))
    app = press(app, "Start benchmark")
    assert "line 7: folds.k is 1" in app.error[0].value.replace("\\", "")


@pytest.mark.soak
def test_one_whose_server_is_dead_says_so_on_the_page(visit: Visit, workspace_with_benchmarks: Workspace) -> None:
    """A real process: it fails as soon as it asks which models there are."""
    app = visit(workspace_with_benchmarks, "experiments", tab="Benchmark")
    dead = BENCHMARK.replace('model = "m"', 'endpoint = "http://127.0.0.1:9/v1"').replace('name = "rules"', 'name = "dead"', 1)
    app.text_area[0].set_value(dead)
    app = press(app, "Start benchmark")
    assert not app.exception
    until(lambda: not job_control.find_named(workspace_with_benchmarks, "benchmark/dead").is_live)
    app.run()
    assert app.selectbox(key="id-benchmark").value == "dead"
    [error] = app.error
    assert "the connection failed" in error.value
    assert [button.label for button in app.button if button.label in ("Stop", "Resume")] == ["Resume"]
