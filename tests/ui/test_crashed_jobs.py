"""A job whose process is dead is shown as crashed, with its cause, by the first visit of its page.

Runs: tests/ui/overview/test_panels.py; fine-tunes: tests/ui/launch/test_finetune_tab.py; benchmarks:
tests/ui/experiments/test_benchmark_tab.py.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from core.actions import target_ranking
from core.actions.cells import job_of
from core.actions.workspace import Workspace
from core.config import REPOSITORY
from core.jobs.folder import JobFolder, write_json
from core.jobs.state import NO_REASON
from tests.target_ranking import cases
from tests.ui.conftest import Visit
from tests.ui.test_apptest import text_of

SAID = "33% of it is done"
# A process on a job, which kills itself.
PROGRAM = f"""
import os, signal, sys
from pathlib import Path
from core.jobs.folder import JobFolder
from core.jobs.work import work_on
folder = JobFolder(Path(sys.argv[1]))
with work_on(folder):
    folder.log.write_text("{SAID}\\n")
    os.kill(os.getpid(), signal.SIGKILL)
"""


def kill_on(folder: JobFolder) -> None:
    """Leave a job as a process does that is killed while it works on it."""
    done = subprocess.run([sys.executable, "-c", PROGRAM, str(folder.path)], cwd=REPOSITORY, check=False)
    assert done.returncode < 0


def target_job(workspace: Workspace) -> JobFolder:
    return target_ranking.job_of(target_ranking.create(workspace, replace(cases.request(), models={"pca_knn": {}})))


def labels_job(workspace: Workspace) -> JobFolder:
    folder = job_of(workspace, Path("screen.h5ad"), "screen")
    about = {"kind": "cells", "arguments": [], "started_at": 1.0, "dataset": "screen", "file": "screen.h5ad"}
    folder.path.mkdir(parents=True)
    write_json(folder.about, about)
    return folder


PAGES: dict[str, tuple[Callable[[Workspace], JobFolder], str, str]] = {
    "a target ranking": (target_job, "targets", "crashed; can be resumed"),
    "labels of cells": (labels_job, "data?tab=Cells", "screen of screen.h5ad"),
}


@pytest.mark.parametrize("what", PAGES)
def test_the_first_visit_says_that_it_crashed_and_why(visit: Visit, small_workspace: Workspace, what: str) -> None:
    make, address, words = PAGES[what]
    kill_on(make(small_workspace))
    page, _, tab = address.partition("?tab=")
    app = visit(small_workspace, page, **({"tab": tab} if tab else {}))
    assert not app.exception
    bars = [element.proto.text for element in app.main.get("progress")]
    shown = " ".join([text_of(app), *bars, *(error.value for error in app.error)]).replace("\\", "")
    assert words in shown
    assert f"{NO_REASON}; the last line of its log: {SAID}" in shown
