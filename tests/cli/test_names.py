"""A run that is not there is answered with runs like it, by every command that names one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from core.base.hashes import sha256_of
from core.runs.spec import RunSpec
from core.runs.workspace import Workspace
from core.store import datasets, runs
from core.store.runs import Run
from tests.commands import core
from tests.runs.cases import fast
from tests.worlds import workspace_in


def run_named(name: str) -> Run:
    counts = dict.fromkeys(
        ("total", "done", "failed", "fallbacks", "collapsed", "tokens_unknown"), 0
    )
    nothing = dict.fromkeys(("track", "model", "tokens"))
    return Run(
        id=sha256_of(name)[:10],
        name=name,
        method="evidence_rules",
        origin="imported",
        dataset="d1",
        spec={},
        parents=(),
        status="done",
        code_version="0",
        **counts,
        **nothing,
    )


@pytest.fixture
def some_runs(tmp_path: Path) -> Workspace:
    made = workspace_in(tmp_path)
    with made.store.write() as db:
        datasets.add(db, datasets.Dataset("d1", "simulated", "mouse", "", "simulated"))
        for name in ("kNN", "fused", "asked", "argued"):
            runs.add(db, run_named(name))
        db.execute("INSERT INTO pair VALUES ('d1', 'Pa_Ga', 'Pa', 'Ga', 'up', 'test', 0, 'i1')")
        db.execute(
            """INSERT INTO prediction BY NAME
               SELECT id AS run, 'Pa_Ga' AS pair_id, 0.1 AS prediction_up, 0.1 AS prediction_down, [] AS flags FROM run"""
        )
    spec = RunSpec("evidence_rules", 1, {}, "d1", "ab", ("Pa_Ga",))
    made.run_folder(sha256_of("fused")[:10]).create(spec, fast())
    return made


FUSION = "--with kNN --w-de 0.5 --w-dir 0.5 --name new"


@pytest.mark.few(5)
@pytest.mark.parametrize(
    "command",
    [
        "score fusd",
        "compare kNN asked,fusd",
        "audit debate fusd",
        "rubric rate short argued --reading fusd",
        "export fusd",
        "report new 'paper 2' --runs kNN,fusd",
        f"fuse --base fusd {FUSION}",
        "run fusion --set base=fusd --set with=kNN",
        "jobs log fusd",
    ],
)
def test_a_run_that_is_not_there_is_answered_with_runs_like_it(
    some_runs: Workspace, command: str
) -> None:
    done = core(some_runs, command)
    assert done.status == 1
    assert re.search("did you mean .*fused", done.err)
