"""Runs on a Ray cluster of two nodes, which the tests of this file share; soak/test_ray.py has more rows, nodes and kills.

What needs a cluster is `make soak PART=variants`.
"""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from core.base.errors import InputError, MissingPackage, StateError, Unreachable
from core.base.types import Failed, Pair, RowResult
from core.features.cells import differential_expression
from core.methods.base import Context
from core.runs import launch, ray_cluster, run_control
from core.runs.jobs.folder import log_tail
from core.runs.journal import read_entries
from core.runs.ray_cluster import Cluster
from core.runs.request import RunRequest
from core.runs.spec import ExecutionSettings
from core.runs.workspace import Workspace
from tests import commands
from tests.fakes.scripted import MODEL, request_counts, serving
from tests.features.cells.cases import write_case
from tests.features.predicting.test_serve import free_port
from tests.runs.cases import assert_whole, fast, keyed, run_here, status, wish, workspace_with
from tests.runs.methods import Asking, Base, constant, here
from tests.runs.ray_clusters import Nodes, cluster
from tests.runs.test_killed import stored
from tests.runs.test_packs_of_runs import DESCRIBED, EDGES, SIGNS, bring

ROWS = 160
AT_ONCE = 8
KEY = "sesame-" + secrets.token_hex(16)


@pytest.fixture(scope="module")
def nodes() -> Iterator[Nodes]:
    with cluster(2) as found:
        yield found


def on(nodes: Nodes, url: str = "", **more: Any) -> ExecutionSettings:
    """The settings of a run on a cluster."""
    how = {
        "rows_in_flight": AT_ONCE,
        "concurrency": AT_ONCE,
        "timeout_s": 20.0,
        "backend": "ray",
        "ray_address": nodes.address,
    }
    return fast(url, **how | more)


def assert_equal(ours: Workspace, theirs: Workspace) -> None:
    """Every table of two stores holds the same."""
    expected = stored(theirs)
    for name, table in stored(ours).items():
        pd.testing.assert_frame_equal(table, expected.pop(name), obj=name)
    assert not expected


@pytest.mark.soak
def test_a_run_with_packs_and_folds_that_began_here_goes_on_there_and_is_the_same(
    nodes: Nodes, tmp_path: Path
) -> None:
    whole, moved = (workspace_with(tmp_path / name, 6) for name in ("whole", "moved"))
    request = RunRequest("debate", "bmdm", rows="sample=12", model=MODEL, name="r", cached=False)
    with serving() as url:
        runs = []
        for workspace, budget in ((whole, None), (moved, 1)):
            for content, name in (
                (EDGES, "edges.json"),
                (SIGNS, "signs.json"),
                (DESCRIBED, "descriptions.json"),
            ):
                bring(workspace, content, name)
            how = {"endpoint": url, "concurrency": 2, "token_budget": budget}
            runs.append(launch.start(workspace, replace(request, **how)))
        run = runs[1]
        done = status(moved, run).counts.done
        assert status(moved, run).state == "budget"
        there = replace(on(nodes, url), token_budget=None)
        run_control.resume(
            keyed(moved, url, KEY), run.id, settings=there, begin=run_control.work_on
        )
    assert not nodes.holds_in_memory(KEY)
    assert 0 < done < 12
    assert runs[0].id == run.id
    assert_whole(moved, run, 12)
    assert_equal(moved, whole)


@pytest.mark.soak
def test_the_driver_gathers_dossiers_and_keeps_the_answers(nodes: Nodes, tmp_path: Path) -> None:
    """Public sources are asked by the driver alone, and a run here afterwards finds every answer in the cache."""
    workspace = workspace_with(tmp_path, 6)
    request = RunRequest(
        "debate", "bmdm", {"sources": "cache"}, rows="split=test", model=MODEL, name="r"
    )
    with serving() as url:
        spec = launch.resolve(workspace, replace(request, endpoint=url))
        run = run_control.start(workspace, spec, "r", on(nodes, url), begin=run_control.work_on)
        assert_whole(workspace, run, 6)
        asked = request_counts(url)["answers"]
        again = launch.start(
            workspace, replace(request, endpoint=url, name="again", rows="split=test; sample=5")
        )
        assert request_counts(url)["answers"] == asked
    assert status(workspace, again).counts.done == 5
    assert status(workspace, run).counts.spent == status(workspace, run).counts.cost > 0


@pytest.mark.soak
def test_a_budget_ends_a_run_and_a_server_that_is_gone_is_replaced(
    nodes: Nodes, tmp_path: Path
) -> None:
    workspace = workspace_with(tmp_path, 40)
    gone = f"http://127.0.0.1:{free_port()}/v1"
    with serving() as url:
        spec = wish(workspace, Asking(), model=MODEL)
        settings = on(nodes, f"{gone},{url}", token_budget=400)
        run = run_control.start(workspace, spec, "r", settings, begin=here(Asking()))
        assert status(workspace, run).state == "budget"
        done = status(workspace, run).counts.done
        run_control.resume(
            workspace, run.id, settings=replace(settings, token_budget=None), begin=here(Asking())
        )
    assert 0 < done < 40
    assert_whole(workspace, run, 40)


@dataclass
class Harmful(Base):
    """Ends its process for one row once, as a file then says, and for another always; fails for a third as nobody foresaw."""

    name: str = "harmful"
    ended: Path = Path()

    async def predict_row(self, pair: Pair, context: Context) -> RowResult:  # noqa: ARG002
        if pair.gene == "Hb1" and not self.ended.exists():
            self.ended.touch()
            os._exit(1)
        if pair.gene == "Hb2":
            os._exit(1)
        return constant(pair, tokens=1 // (0 if pair.gene == "Hb3" else 1))


@pytest.mark.soak
def test_rows_that_end_their_process_or_fail_as_nobody_foresaw_harm_no_others(
    nodes: Nodes, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    workspace = workspace_with(tmp_path / "w", 8)
    method = Harmful(ended=tmp_path / "ended")
    run = run_here(workspace, method, on(nodes, rows_in_flight=1))
    assert_whole(workspace, run, 8, failed=2)
    failed = {
        entry.pair_id: entry
        for entry, _ in read_entries(workspace.run_folder(run.id).rows)
        if isinstance(entry, Failed)
    }
    assert {pair_id: row.kind for pair_id, row in failed.items()} == {
        "Qb2_Hb2": "ProcessDied",
        "Qb3_Hb3": "ZeroDivisionError",
    }
    assert failed["Qb2_Hb2"].message.startswith("5 tasks died while they predicted it, the last: ")
    log = "\n".join(log_tail(workspace.run_folder(run.id)))
    assert log.count("(the first of its kind; every such row is a failure)") == 1
    assert "constant(pair, tokens=1 // " in caplog.text


@pytest.mark.parametrize(
    "address",
    ["nowhere", "ray://head:10001", "head:port", "head", "head:0", "head:65536", "[::1]:99999"],
)
def test_what_is_no_address_of_a_cluster(address: str) -> None:
    with pytest.raises(InputError, match=r"ray_address: got .*, expected HOST:PORT or auto"):
        ExecutionSettings(backend="ray", ray_address=address)


def test_settings_that_do_not_go_together() -> None:
    with pytest.raises(InputError, match="backend: got 'spark', expected local or ray"):
        ExecutionSettings(backend="spark")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="ray_address: got auto, but the backend is local"):
        ExecutionSettings(ray_address="auto")


@pytest.mark.soak
def test_an_address_where_no_cluster_is_gives_one_clear_error_and_no_run(tmp_path: Path) -> None:
    workspace = workspace_with(tmp_path, 4)
    address = f"127.0.0.1:{free_port()}"
    with serving() as url:
        arguments = (
            "run",
            "prompt_only",
            "--endpoint",
            url,
            "--backend",
            "ray",
            "--ray-address",
            address,
        )
        done = commands.core(workspace, *arguments)
    assert done.status == 1
    assert done.err.splitlines()[-1] == (
        f"error: ray address {address}: no connection (Connection refused), expected the HOST:PORT that `ray start --head` "
        "prints, or auto"
    )
    assert commands.core_json(workspace, "runs")["runs"] == []


def test_what_cannot_run_on_a_cluster_is_refused_before_it_begins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = workspace_with(tmp_path, 4)
    with pytest.raises(
        InputError,
        match="got ray, but evidence_rules predicts all rows at once, on one machine; expected local",
    ):
        launch.start(workspace, RunRequest("evidence_rules", "bmdm", backend="ray"))
    with pytest.raises(InputError, match="got ray, but sources is web"):
        launch.start(
            workspace, RunRequest("react", "bmdm", {"sources": "web"}, model=MODEL, backend="ray")
        )
    with pytest.raises(Unreachable, match="no connection"):
        launch.start(
            workspace,
            RunRequest(
                "prompt_only",
                "bmdm",
                model=MODEL,
                backend="ray",
                ray_address=f"127.0.0.1:{free_port()}",
            ),
        )
    monkeypatch.setitem(__import__("sys").modules, "ray", None)
    with pytest.raises(
        MissingPackage, match=r"the backend ray needs the package ray, .*requirements-cluster\.txt"
    ):
        launch.start(workspace, RunRequest("prompt_only", "bmdm", model=MODEL, backend="ray"))


def slow_square(number: int, plus: int) -> int:
    time.sleep(0.2)
    if number == plus:
        raise InputError(f"number {number}: got {plus}, expected another")
    return 1 // number if number < 1 else number**2 + plus


@pytest.mark.soak
def test_calls_come_back_in_order_though_a_node_dies(nodes: Nodes) -> None:
    nodes.add()
    with closing(Cluster(nodes.address)) as tasks:
        results = tasks.call_each(slow_square, range(1, 25), 100)
        found = [next(results)]
        nodes.kill()
        assert found + list(results) == [number**2 + 100 for number in range(1, 25)]
        with pytest.raises(InputError, match="number 3: got 3, expected another"):
            list(tasks.call_each(slow_square, range(1, 25), 3))
        with pytest.raises(StateError, match="ray: ZeroDivisionError: "):
            list(tasks.call_each(slow_square, [0], 3))


@pytest.mark.soak
def test_other_code_on_a_node_is_refused(nodes: Nodes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray_cluster, "describe_version", lambda: "0.0.1")
    with (
        closing(Cluster(nodes.address)) as tasks,
        pytest.raises(StateError, match=r"a node has PerturbDesk .*, expected 0\.0\.1"),
    ):
        list(tasks.call_each(slow_square, [1], 3))


@pytest.mark.soak
def test_labels_of_cells_are_those_of_one_process(
    nodes: Nodes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        differential_expression, "DENSE_VALUES", 50_000
    )  # several parts of the genes
    write_case(tmp_path / "screen.h5ad")
    for place, where in (
        ("here", []),
        ("there", ["--backend", "ray", "--ray-address", nodes.address]),
    ):
        commands.core_json(
            tmp_path / place,
            "cells",
            "labels",
            str(tmp_path / "screen.h5ad"),
            "--name",
            "screen",
            *where,
        )
    ours, theirs = (
        sorted((tmp_path / place / "data" / "cells").rglob("*.*")) for place in ("here", "there")
    )
    assert [path.name for path in ours] == [path.name for path in theirs] != []
    assert all(a.read_bytes() == b.read_bytes() for a, b in zip(ours, theirs, strict=True))
    done = commands.core(tmp_path / "here", "cells labels screen.h5ad --name s --ray-address auto")
    assert (done.status, "--ray-address: got auto, but the backend is local" in done.err) == (
        1,
        True,
    )
