"""A run is known by its specification: every way to start each method gives one id for one request."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from core.base.errors import InputError
from core.base.types import ASKED_AGAIN, READING_METHODS
from core.methods.base import methods
from core.methods.fusion_settings import FusionSettings
from core.runs import component_loader, launch
from core.runs.component_loader import default_dataset
from core.runs.request import RunRequest
from core.runs.workspace import Workspace
from core.store import runs
from core.transfer.knn_settings import KnnSettings
from core.transfer.protocols import EvaluationProtocol
from tests import worlds
from tests.commands import core, core_json
from tests.fakes.scripted import serving
from tests.runs.cases import run_named

KNN = {"spaces": "near", "protocol": "loo"}
FUSION = {"base": "llm train", "with": "knn", "w_de": "0.5", "w_dir": "0.7"}
RECOVERED = {"base": "llm train", "fused": "fused", "w_de": "0.5", "w_dir": "0.7"}
DERIVED = {"knn": KNN, "fusion": FUSION, "recovered": RECOVERED}


def furnish(workspace: Workspace) -> None:
    worlds.furnish(workspace)
    launch.start(workspace, RunRequest("knn", options=KNN, name="knn"))
    launch.start(workspace, RunRequest("fusion", options=FUSION, name="fused"))
    launch.start(workspace, RunRequest("recovered", options=RECOVERED, name="recovered"))


@pytest.fixture(scope="module")
def furnished(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """A workspace with one run of each derived method; what is asked for again changes nothing."""
    folder = worlds.template(tmp_path_factory.mktemp("furnished"), furnish)
    return worlds.workspace_in(folder)


def by_command(workspace: Workspace, method: str, *arguments: str) -> str:
    """The id of a run that a command makes, under a name of its own."""
    printed = core_json(workspace, *arguments, "--name", f"another {method}")
    return run_named(workspace, printed["run"]).id


def run_command(workspace: Workspace, method: str, *more: str) -> str:
    options = [
        part for key, value in DERIVED[method].items() for part in ("--set", f"{key}={value}")
    ]
    return by_command(workspace, method, "run", method, *options, *more)


def from_what_if(workspace: Workspace, method: str) -> RunRequest:
    """What the button Save of What-if asks for."""
    if method == "knn":
        settings = KnnSettings(("near",), EvaluationProtocol("loo"))
        return component_loader.knn_request(default_dataset(workspace, None), settings, "saved")
    base, knn = (run_named(workspace, name) for name in ("llm train", "knn"))
    return component_loader.fusion_request(
        base.dataset, FusionSettings(base.id, (knn.id,), (0.5,), (0.7,)), "saved"
    )


Way = Callable[[Workspace], str]
WAYS = {
    "knn": {
        "run": lambda w: run_command(w, "knn"),
        "run, its rows named": lambda w: run_command(w, "knn", "--rows", "split=train"),
        "knn": lambda w: by_command(w, "knn", "knn", "--space", "near", "--protocol", "loo"),
        "Fuse": lambda w: launch.start(w, from_what_if(w, "knn")).id,
    },
    "fusion": {
        "run": lambda w: run_command(w, "fusion"),
        "run, its rows named": lambda w: run_command(w, "fusion", "--rows", "split=train"),
        "fuse": lambda w: by_command(
            w,
            "fusion",
            "fuse",
            "--base",
            "llm train",
            "--with",
            "knn",
            "--w-de",
            ".5",
            "--w-dir",
            "0.70",
        ),
        "Fuse": lambda w: launch.start(w, from_what_if(w, "fusion")).id,
    },
    "recovered": {
        "run": lambda w: run_command(w, "recovered"),
        "decompose": lambda w: by_command(
            w,
            "recovered",
            "fuse",
            "--from",
            "fused",
            "--base",
            "llm train",
            "--w-de",
            "0.5",
            "--w-dir",
            "0.7",
        ),
    },
}


@pytest.mark.few(4)
@pytest.mark.parametrize(
    ("method", "way"), [(method, way) for method, ways in WAYS.items() for way in ways]
)
def test_every_way_to_a_derived_run_gives_its_one_id(
    furnished: Workspace, method: str, way: str
) -> None:
    made = run_named(furnished, {"fusion": "fused"}.get(method, method))
    assert made.id == launch.resolve(furnished, RunRequest(method, options=DERIVED[method])).key
    assert WAYS[method][way](furnished) == made.id
    with furnished.store.read() as db:
        assert [run.name for run in runs.list_all(db) if run.method == method] == [made.name]


@pytest.mark.soak
@pytest.mark.parametrize(
    "method", sorted(set(methods()) - set(WAYS) - {*READING_METHODS, ASKED_AGAIN})
)
def test_every_other_method_has_one_id_by_command_and_by_request(
    workspace: Workspace, method: str
) -> None:
    """The page Launch and the commands share `launch.start`; tests/ui/run presses its button."""
    worlds.furnish(workspace)
    with serving() as url:
        request = RunRequest(method, rows="split=test", endpoint=url, name="by request")
        asked = launch.start(workspace, request)
        assert asked.id == launch.resolve(workspace, request).key
        arguments = (
            "run",
            method,
            "--rows",
            "split=test",
            "--endpoint",
            url,
            "--name",
            "by command",
        )
        assert core_json(workspace, *arguments)["id"] == asked.id


def test_a_second_name_says_whose_it_is(furnished: Workspace) -> None:
    done = core(
        furnished,
        "knn --space near --protocol loo --name again",
    )
    assert done.status == 0
    assert (
        f"again: the same specification as run knn ({run_named(furnished, 'knn').id}), which is returned"
        in done.err
    )


def test_what_has_no_effect_is_no_part_of_what_a_run_is(furnished: Workspace) -> None:
    """Leave-one-out cuts no folds."""
    told = {**KNN, "folds": "7", "seed": "3", "power": "2"}
    assert (
        launch.resolve(furnished, RunRequest("knn", options=told)).key
        == run_named(furnished, "knn").id
    )


@pytest.mark.parametrize("given", [{"labels": "all"}, {"seed": 3}, {"repeat": 1}])
def test_what_a_derived_method_does_not_heed_is_refused(
    furnished: Workspace, given: Mapping[str, Any]
) -> None:
    with pytest.raises(InputError, match="which has no effect on knn"):
        launch.resolve(furnished, RunRequest("knn", options=KNN, **given))


@pytest.mark.soak
def test_a_refused_request_leaves_nothing(furnished: Workspace) -> None:
    folder = furnished.settings.data / "runs"
    before = sorted(folder.iterdir())
    for method, options in (
        ("knn", {"spaces": "far"}),
        ("fusion", {**FUSION, "w_de": "1.5"}),
        ("fusion", {**FUSION, "with": "llm test"}),
    ):
        with pytest.raises(Exception, match=r"space 'far'|w_de|covers none"):
            launch.start(furnished, RunRequest(method, options=options, name="refused"))
    assert sorted(folder.iterdir()) == before
