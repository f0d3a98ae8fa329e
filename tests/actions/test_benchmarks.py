"""Benchmarks: arms are runs under blinded views, scored inside the same cells; a killed one goes on."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from core.actions import benchmarks
from core.actions.benchmark_plans import plan_inputs
from core.actions.imports import ImportOptions, import_upload
from core.actions.workspace import Workspace
from core.errors import InputError, StateError
from core.experiments.benchmark_report import BenchmarkReport, report_benchmark
from core.experiments.benchmark_spec import parse_benchmark
from core.experiments.benchmark_words import benchmark as as_json
from core.experiments.benchmark_words import benchmark_lines
from core.experiments.planning import plan_benchmark
from core.methods.base import Context, Method, method_named
from core.stats.official_score import point_score
from core.store import runs
from core.transfer.protocols import EvaluationProtocol
from core.types import Pair, Prediction, RowResult
from tests import worlds
from tests.commands import core, core_json
from tests.engine.methods import Base
from tests.fakes import scripted as scripted_server

FUSED = """\
name = "b"
primary = "mean"
smallest_effect = 0.01
[rows]
run = "llm train"
[folds]
k = 2
cuts = [0, 1]
[[arms]]
name = "LLM"
run = "llm train"
[[arms]]
name = "LLM + kNN"
base = "LLM"
knn = { spaces = ["near"] }
w_de = 0.5
w_dir = 0.5
placebo = ["DE within gene", "DIR within gene"]
[noise]
arm = "LLM + kNN"
"""
VOTED = """\
name = "v"
primary = "mean"
smallest_effect = 0.01
[rows]
sample = 40
[folds]
k = 2
cuts = [0, 1]
[[arms]]
name = "LLM"
run = "llm train"
[[arms]]
name = "vote"
method = "voting"
"""


@dataclass
class Voting(Base):
    """Predicts the base rates of the view it is given; remembers what was visible. stop_after: rows until a signal ends it."""

    name: str = "voting"
    seen: dict[str, list[Pair]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    stop_after: int | None = None

    async def predict_row(self, pair: Pair, context: Context) -> RowResult:
        self.asked.append(pair.pair_id)
        view = context.view_of(pair)
        self.seen[pair.pair_id] = [*view.rows]
        if self.stop_after is not None and len(self.asked) == self.stop_after:
            os.kill(os.getpid(), signal.SIGTERM)
        share = (view.counts.p_de or 0.5) * (0.5 + len(pair.gene) / 10)
        return RowResult(Prediction(pair.pair_id, share / 2, share / 2, share, 0.5, "trace"))


def methods_with(voting: Voting) -> benchmarks.FindMethod:
    def find(name: str) -> Method:
        return voting if name == "voting" else method_named(name)

    return find


def report(workspace: Workspace, saved: benchmarks.SavedBenchmark) -> BenchmarkReport:
    with workspace.store.read() as db:
        return report_benchmark(db, saved.spec, saved.dataset, saved.rows, saved.runs)


def names(workspace: Workspace) -> Iterator[str]:
    with workspace.store.read() as db:
        yield from (run.name for run in runs.list_all(db))


@pytest.mark.soak
def test_both_arms_are_scored_inside_the_same_cells(screen: Workspace) -> None:
    saved = benchmarks.run_benchmark(screen, parse_benchmark(FUSED))
    found = report(screen, saved)
    [result] = found.results
    pair = result.found.pair
    assert pair.replicates == ((0, 0), (1, 0))
    for cut, (a, b) in enumerate(zip(pair.a, pair.b, strict=True)):
        assert a.frame["pair_id"].tolist() == b.frame["pair_id"].tolist()
        assert np.array_equal(a.cells, b.cells)
        assert a.protocols == b.protocols == (EvaluationProtocol("folds", 2, cut),)
        # the mean over cuts is the mean of what each run scores inside the cells of its cut
        score = point_score(b.labels, b.scores, b.cells)
        assert result.found.values[cut, 1] == pytest.approx([score.de, score.dir])
    de = result.found.comparison.de
    assert de.change.value == pytest.approx(result.found.changes[:, 0].mean())
    # rows that the LLM never predicted are its stand-ins, and count for neither
    assert pair.left_out == found.n_wanted - len(pair.a[0])
    assert all(placebo.change.change.value == pytest.approx(0, abs=1e-12) and not placebo.moved for placebo in result.placebos)
    assert found.noise is not None
    assert (found.noise.kind, found.noise.repeats) == ("cut", 2)
    assert as_json(found)["comparisons"][0]["placebo"][0]["moved"] is False
    assert any(line.startswith("Noise floor: LLM + kNN under another cut") for line in benchmark_lines(found))


@pytest.mark.soak
def test_a_view_holds_no_label_of_the_rows_perturbation_or_gene(screen: Workspace) -> None:
    voting = Voting()
    saved = benchmarks.run_benchmark(screen, parse_benchmark(VOTED), method=methods_with(voting))
    assert len(saved.rows) == 40
    assert set(voting.seen) == set(saved.rows)
    for pair_id, seen in voting.seen.items():
        pert, gene = pair_id.split("_")
        assert seen
        assert not any(row.pert == pert or row.gene == gene for row in seen)
    [result] = report(screen, saved).results
    assert not result.difference.known


@pytest.mark.soak
def test_a_killed_benchmark_goes_on(screen: Workspace) -> None:
    """The first cut's run is cut short: the second try asks for the rows that are missing, and for no other run again."""
    voting = Voting(stop_after=10)
    spec = parse_benchmark(VOTED)
    with pytest.raises(KeyboardInterrupt):
        benchmarks.run_benchmark(screen, spec, method=methods_with(voting))
    assert not benchmarks.STUDY.find_saved(screen, "v").runs
    first, voting.stop_after = len(voting.asked), None
    assert first < 40
    saved = benchmarks.run_benchmark(screen, spec, method=methods_with(voting))
    assert len(voting.asked) <= 80 + (first - 9)  # rows in flight when it was killed are asked for again
    assert {run for run in names(screen) if run.startswith("v: ")} == {"v: vote, cut 0", "v: vote, cut 1"}
    asked = len(voting.asked)
    assert benchmarks.run_benchmark(screen, spec, method=methods_with(voting)) == saved
    assert len(voting.asked) == asked
    assert benchmarks.find_benchmark(screen, spec, methods_with(voting)).runs == saved.runs


@pytest.mark.soak
def test_what_is_refused(screen: Workspace) -> None:
    spec = parse_benchmark(FUSED)
    benchmarks.run_benchmark(screen, spec)
    with pytest.raises(StateError, match="benchmark 'b': exists with another specification"):
        benchmarks.run_benchmark(screen, parse_benchmark(FUSED.replace("0.01", "0.02")))
    unlabelled = FUSED.replace('name = "b"', 'name = "u"').replace('run = "llm train"', 'run = "llm test"')
    with pytest.raises(InputError, match="none of run llm test has a label"):
        benchmarks.run_benchmark(screen, parse_benchmark(unlabelled))
    made = next(run for run in names(screen) if run.startswith("b: LLM + kNN, cut 0"))
    other_cut = FUSED.replace('name = "b"', 'name = "c"').replace('base = "LLM"', f'run = "{made}"')
    kept = [line for line in other_cut.splitlines() if not line.startswith(("knn", "w_", "placebo"))]
    saved = benchmarks.run_benchmark(screen, parse_benchmark("\n".join(kept)))
    with pytest.raises(InputError, match="made under 2×2 folds, cut 0, expected 2×2 and cut 1"):
        report(screen, saved)


@pytest.mark.soak
def test_the_command(screen: Workspace, tmp_path: Path) -> None:
    folder, file = screen.settings.workspace, tmp_path / "b.toml"
    file.write_text(FUSED)
    found = core_json(folder, "benchmark", str(file), "--name", "mine")
    assert found["name"] == "mine"
    [comparison] = found["comparisons"]
    assert {"delta_de", "delta_dir", "delta_mean", "p_gt_0", "placebo", "verdict", "scored"} <= set(comparison)
    assert {"row", "pert", "gene", "two_way"} <= set(comparison["delta_mean"])
    assert found["noise_floor"]["kind"] == "cut"
    file.write_text(FUSED.replace("k = 2", "k = 0"))
    wrong = core(folder, "benchmark", str(file))
    assert (wrong.status, wrong.out) == (1, "")
    assert f"{file}, line 7: folds.k is 0" in wrong.err


@pytest.mark.soak
def test_the_plan(screen: Workspace, tmp_path: Path) -> None:
    """Before, variances are those of two runs that are named; after, the benchmark's own."""
    folder, file = screen.settings.workspace, tmp_path / "b.toml"
    file.write_text(FUSED)
    wrong = core(folder, "plan", str(file))
    assert wrong.status == 1
    assert "no runs for estimating variances" in wrong.err
    file.write_text(FUSED + "[plan]\ncorrelation = 0.5\n")
    [before] = core_json(folder, "plan", str(file))["comparisons"]
    assert before["basis"] == "llm train alone, assuming a correlation of 0.5 between the scores of both arms"
    file.write_text(FUSED)
    benchmarks.run_benchmark(screen, parse_benchmark(FUSED.replace('"b"', '"a"').replace("power = 2", "power = 1")))
    after = core_json(folder, "plan", str(file))  # what is not in a name is not in a run's identity
    [own] = after["comparisons"]
    assert own["basis"].startswith("the benchmark's own runs")
    assert own["enough_rows_here"] == (own["rows_needed"] is not None and own["rows_needed"] <= after["available"]["rows"])
    assert own["tokens"] == 0
    assert "unknown" not in core(folder, "plan", str(file)).out  # two cuts, and no seeds without a model
    other = next(run for run in names(screen) if run.startswith("a: LLM + kNN, cut 0"))
    fewer = FUSED.replace("cuts = [0, 1]", "cuts = [5, 6]") + f'[plan]\nlike = ["llm train", "{other}"]\n'
    file.write_text(fewer)
    [like] = core_json(folder, "plan", str(file))["comparisons"]
    assert like["basis"] == f"llm train and {other}, which differ like the arms"
    assert like["detectable"] > 0


DEBATED = """\
name = "d"
primary = "mean"
smallest_effect = 0.01
[rows]
sample = 24
[folds]
k = 2
[[arms]]
name = "judge alone"
method = "debate"
model = "scripted"
endpoint = "{address}"
options = {{ rounds = 0 }}
[[arms]]
name = "briefs"
method = "debate"
model = "scripted"
endpoint = "{address}"
options = {{ rounds = 1 }}
[noise]
arm = "judge alone"
seeds = [1]
[plan]
like = ["llm train", "other"]
"""


@pytest.mark.soak
def test_arms_that_call_a_model(screen: Workspace) -> None:
    """Both read the same dossiers under the same views; another seed of the control is the noise floor."""
    with scripted_server.serving() as address:
        spec = parse_benchmark(DEBATED.format(address=address))
        saved = benchmarks.run_benchmark(screen, spec)
    assert {arm: sorted(made) for arm, made in saved.runs.items()} == {"judge alone": [(0, 0), (0, 1)], "briefs": [(0, 0)]}
    found = report(screen, saved)
    [result] = found.results
    assert result.difference.things == ("rounds: 0 → 1",)
    assert result.dossiers == (24, 0)
    assert found.noise is not None
    assert (found.noise.kind, found.noise.repeats) == ("seed", 2)
    assert found.noise.change is not None
    assert found.tokens
    with screen.store.read() as db:
        [plan] = plan_benchmark(db, spec, plan_inputs(screen, spec)).arms
    assert plan.tokens  # a row of the first arm takes 2 calls, of the second 2 · 3


def test_another_seed_changes_the_seeds_that_a_method_names() -> None:
    assert benchmarks.shift_seeds(method_named("prompt_only"), {}, 2)["seeds"] == "2042,2043,2044"
    assert benchmarks.shift_seeds(method_named("prompt_only"), {"seeds": "7"}, 0) == {"seeds": "7"}
    assert benchmarks.shift_seeds(method_named("debate"), {}, 2) == {}


def test_a_plan_needs_no_server(screen: Workspace) -> None:
    """An arm without a model's name asks its server for one; a plan does without, and tokens are unknown."""
    text = DEBATED.replace('model = "scripted"\n', "").format(address="http://127.0.0.1:9/v1")
    spec = parse_benchmark(text)
    other = worlds.llm(worlds.screen().ids[:70], seed=2)
    assert import_upload(screen, other, "other.csv", ImportOptions(name="other")).kind != "failed"
    with screen.store.read() as db:
        [plan] = plan_benchmark(db, spec, plan_inputs(screen, spec)).arms
    assert plan.basis == "llm train and other, which differ like the arms"
    assert plan.unknown_noise == ("cuts", "seeds")
    assert plan.tokens is None


@pytest.mark.soak
def test_an_arm_whose_server_is_dead_goes_on_at_a_new_address(screen: Workspace) -> None:
    """The address is no part of what is compared: the benchmark is the same one, and needs no --replace."""
    dead = "http://127.0.0.1:9/v1"
    text = VOTED.replace('method = "voting"', f'method = "prompt_only"\nmodel = "scripted"\nendpoint = "{dead}"')
    text = text.replace("sample = 40", "sample = 2")
    with pytest.raises(StateError, match="nobody answered"):
        benchmarks.run_benchmark(screen, parse_benchmark(text))
    with scripted_server.serving() as address:
        saved = benchmarks.run_benchmark(screen, parse_benchmark(text.replace(dead, address)))
    assert saved.is_done
