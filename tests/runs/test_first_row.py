"""How many source files somebody reads who follows a run from its request to its first row."""

from __future__ import annotations

import inspect
import json
import subprocess
import sys
import threading
from pathlib import Path
from types import CodeType, FrameType

import pytest

from core.base.config import REPOSITORY
from core.runs import launch
from core.runs.journal import Journal
from core.runs.request import RunRequest
from tests.fakes.scripted import MODEL, serving
from tests.runs.cases import workspace_with

CORE = Path(inspect.getfile(launch)).parents[1]
MOST_FILES = (
    79  # beside the evidence tools and the rules of the audit, each of which is a file of its own
)


class Crossing:
    """Collects the files of core whose functions run, in every thread, until a journal has its first row."""

    def __init__(self) -> None:
        self.files: set[str] = set()
        self.ended = False

    def __enter__(self) -> Crossing:
        threading.setprofile(self._see)
        sys.setprofile(self._see)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]

    def _see(self, frame: FrameType, event: str, _: object) -> None:
        if self.ended:
            return
        if event == "call" and _is_function(frame.f_code):
            self.files.add(frame.f_code.co_filename)
        if event == "return" and frame.f_code is Journal.append.__code__:
            self.ended = True  # and stays so: other threads are here too


def _is_function(code: CodeType) -> bool:
    """Whether code is that of a function, and not of a module or a class, which run when they are imported."""
    return bool(code.co_flags & inspect.CO_NEWLOCALS and code.co_flags & inspect.CO_OPTIMIZED)


def crossed_files(method: str, folder: Path) -> list[str]:
    """The files of core that the first row of a run crosses, relative to it and sorted."""
    workspace = workspace_with(folder, 1)
    with workspace.store.read():  # whose schema is checked when it is opened first
        pass
    with serving() as url, Crossing() as crossing:
        run = launch.start(workspace, RunRequest(method, endpoint=url))
    assert (run.status, run.done, run.model) == ("done", 1, MODEL)
    assert crossing.ended
    return sorted(
        str(Path(file).relative_to(CORE)) for file in crossing.files if file.startswith(str(CORE))
    )


@pytest.mark.soak
@pytest.mark.parametrize("method", ["debate", pytest.param("prompt_only", marks=pytest.mark.soak)])
def test_a_first_row_crosses_few_files(method: str, tmp_path: Path) -> None:
    # In a process of its own: what earlier tests left in this one (caches, a log) would be counted or hide what counts.
    command = (sys.executable, "-m", "tests.runs.test_first_row", method, str(tmp_path))
    files = json.loads(
        subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=True).stdout
    )
    assert {
        "actions/launch.py",
        "engine/worker.py",
        "engine/journal.py",
        f"methods/{method}.py",
    } <= set(files)
    crossed = [file for file in files if not file.startswith(("evidence/tools/", "audit/rules/"))]
    assert len(crossed) <= MOST_FILES, "\n".join(crossed)


if __name__ == "__main__":
    print(json.dumps(crossed_files(sys.argv[1], Path(sys.argv[2]))))
