"""The runs of experiments that a file or settings describe: resumed after a kill, under folds, fused as `fuse` does."""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from core.base.errors import InputError, StateError
from core.base.fields.record import make
from core.base.result import to_json
from core.features.experiments import engine
from core.features.experiments.engine import SavedExperiment, kind_named
from core.features.experiments.result import ExperimentResult
from core.runs import launch
from core.runs.request import RunRequest
from core.runs.workspace import Workspace
from core.store import predictions, runs
from tests.fakes.scripted import Script, ScriptedPrompt, serving, write_reply
from tests.runs.cases import run_named

pytestmark = pytest.mark.soak

ASKED = """\
name = "asked"
primary = "mean"
smallest_effect = 0.01
[rows]
sample = 12
[folds]
k = 2
[[arms]]
name = "judge alone"
method = "debate"
model = "scripted"
options = { rounds = 0 }
[[arms]]
name = "briefs"
method = "debate"
model = "scripted"
options = { rounds = 1 }
"""
FUSED = """\
name = "fused"
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
w_dir = 0.25
[[arms]]
name = "less"
base = "LLM"
knn = { spaces = ["near"] }
against = "LLM + kNN"
w_de = 0.25
w_dir = 0.25
several = true
"""
ARGUED = RunRequest(
    "debate", None, {"rounds": 0}, "split=train;sample=16,seed=0", "argued", "scripted"
)


@dataclass
class Asked:
    """Answers as the scripted server does; counts each prompt. stop_at: at which answer a signal ends it."""

    stop_at: int | None = None
    prompts: Counter[str] = field(default_factory=Counter)

    def __call__(self, prompt: ScriptedPrompt) -> str:
        self.prompts[prompt.identity] += 1
        if self.n == self.stop_at:
            os.kill(os.getpid(), signal.SIGTERM)
        return write_reply(prompt)

    @property
    def n(self) -> int:
        """How many prompts were answered."""
        return sum(self.prompts.values())


def run_kind(workspace: Workspace, kind: str, **values: Any) -> SavedExperiment:
    return engine.run(
        workspace, engine.plan(workspace, kind, make(kind_named(kind).settings, values))
    )


def run_file(workspace: Workspace, text: str, **values: Any) -> SavedExperiment:
    return run_kind(workspace, "file", text=text, **values)


def frame_of(workspace: Workspace, run: str) -> Mapping[str, list[Any]]:
    with workspace.store.read() as db:
        frame = predictions.frame(db, run).sort_values("pair_id")
    return frame[["pair_id", "p_de", "p_up_given_de"]].to_dict("list")


def result_of(workspace: Workspace, saved: SavedExperiment) -> ExperimentResult:
    found = engine.result_of(workspace, saved)
    assert to_json(found)["verdict"] == found.sentence
    return found


@pytest.fixture
def debate(screen: Workspace) -> Iterator[tuple[Workspace, str]]:
    """A small debate over labelled rows, made here, and the server that answered."""
    with serving() as url:
        assert launch.start(screen, replace(ARGUED, endpoint=url)).status == "done"
        yield screen, url


@pytest.mark.parametrize(
    ("kind", "values", "seeds"),
    [
        ("file", {"text": ASKED}, [[0, 1], [0]]),
        pytest.param(
            "method",
            {"run": "argued", "options": {"rounds": "1"}},
            [[0, 1], [0]],
            marks=pytest.mark.soak,
        ),
        pytest.param(
            "dossier",
            {"run": "argued", "tools": ("gene_class", "base_rates")},
            [[0, 1], [0]],
            marks=pytest.mark.soak,
        ),
        pytest.param(
            "seeds", {"run": "argued", "repeats": 3}, [[0, 1, 2, 3]], marks=pytest.mark.soak
        ),
    ],
)
def test_a_killed_experiment_goes_on_and_asks_nothing_twice(
    screen: Workspace, kind: str, values: Mapping[str, Any], seeds: list[list[int]]
) -> None:
    asked = Asked()
    with serving(Script(answer=asked)) as url:
        launch.start(screen, replace(ARGUED, endpoint=url))
        n_before = asked.n
        asked.stop_at = n_before + 20
        with pytest.raises(KeyboardInterrupt):
            run_kind(screen, kind, **values, endpoint=url, concurrency=1)
        assert asked.n < n_before + 24
        [begun] = engine.list_saved(screen)
        with pytest.raises(StateError, match="runs are missing"):
            engine.result_of(screen, begun)
        asked.stop_at = None
        saved = run_kind(screen, kind, **values, endpoint=url, concurrency=1)
        assert [[seed for _, seed, _ in made] for made in saved.runs.values()] == seeds
        assert asked.n - len(asked.prompts) <= 2  # what was under way as it was killed
        n = asked.n
        assert run_kind(screen, kind, **values, endpoint=url).runs == saved.runs
        assert asked.n == n
    found = result_of(screen, saved)
    assert found.noise_floor.seeds == len(seeds[0])
    assert [arm.change.startswith(("rounds: 0 → 1", "tools: ")) for arm in found.arms[1:]] == [
        True
    ] * (len(seeds) - 1)


def test_a_fused_arm_scores_as_fuse_does_with_its_weights(screen: Workspace) -> None:
    saved = run_file(screen, FUSED)
    [(_, _, of_cut), _] = saved.runs["LLM + kNN"]
    options = {"spaces": "near", "protocol": "folds", "folds": 2, "seed": 0}
    with screen.store.read() as db:
        rows = tuple(predictions.frame(db, runs.find(db, of_cut).id)["pair_id"])
    knn = launch.start(screen, RunRequest("knn", None, options, rows, "by hand"))
    fusion = {"base": "llm train", "with": knn.id, "w_de": "0.5", "w_dir": "0.25"}
    by_hand = launch.start(screen, RunRequest("fusion", None, fusion, rows, "fused by hand"))
    assert frame_of(screen, by_hand.id) == frame_of(screen, of_cut)
    found = result_of(screen, saved)
    assert {arm.scored for arm in found.arms} == {"inside 2×2 cells, mean of 2 cuts"}
    assert [(pair.a, pair.b) for pair in found.contrasts] == [("less", "LLM + kNN")]
    assert found.noise_floor is None


def test_a_component_is_a_run_or_a_knn_under_folds(screen: Workspace) -> None:
    saved = run_kind(
        screen, "component", run="llm train", spaces=("near",), w_de=0.5, w_dir=0.25, folds=2
    )
    of_file = run_file(screen, FUSED)
    arm = saved.runs["llm train + kNN over near, weights 0.5 and 0.25"]
    assert frame_of(screen, arm[0][2]) == frame_of(screen, of_file.runs["LLM + kNN"][0][2])
    assert any("no model is asked again" in caveat for caveat in result_of(screen, saved).caveats)
    with pytest.raises(InputError, match="nothing to fuse"):
        run_kind(screen, "component", run="llm train")


def test_a_method_an_option_and_a_dossier_are_changed_alone(debate: tuple[Workspace, str]) -> None:
    workspace, url = debate
    saved = run_kind(workspace, "method", run="argued", options={"rounds": "1"}, endpoint=url)
    found = result_of(workspace, saved)
    assert [arm.change for arm in found.arms] == ["", "rounds: 0 → 1"]
    assert found.noise_floor is not None
    other = run_kind(workspace, "method", run="argued", method="evidence_rules")
    assert [arm.change for arm in result_of(workspace, other).arms] == [
        "",
        "method: debate → evidence_rules",
    ]
    given = run_named(workspace, "argued").spec["options"]["tools"].split(",")
    fewer = run_kind(
        workspace, "dossier", run="argued", tools=tuple(given[:2]), endpoint=url, measure="answers"
    )
    found = result_of(workspace, fewer)
    assert found.arms[1].change.startswith("tools: ")
    assert found.arms[1].moved is not None
    with pytest.raises(InputError, match="nothing would be changed"):
        run_kind(workspace, "method", run="argued", options={"rounds": 0})
    with pytest.raises(InputError, match="is a tool of run argued already"):
        run_kind(workspace, "dossier", run="argued", add=(given[0],))
