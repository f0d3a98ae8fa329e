"""The pinned Inspect AI, in a virtual environment of its own: it reads the logs made here, its viewer shows them, and what its
mock model said is imported row by row."""

from __future__ import annotations

import os
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.error import URLError

import pytest

from core.base.config import REPOSITORY
from core.features.importing.actions import import_paths
from core.features.importing.export import write_log
from core.runs.workspace import Workspace
from core.store import predictions, runs, traces
from tests.ui.conftest import OpenTab
from tests.ui.serving import WAIT_S, free_port

if TYPE_CHECKING:
    pass

BIN = REPOSITORY / ".venv-inspect" / "bin"
pytestmark = pytest.mark.skipif(
    not (BIN / "inspect").exists(), reason="needs Inspect AI: make .venv-inspect/ok"
)

# Reads a log, then makes one: in one process, since its start takes longer than all else. The outputs of the mock model say
# their usage: it would count tokens by a file that it downloads.
SCRIPT = """
import sys
from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.log import read_eval_log
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import match

log = read_eval_log(sys.argv[1])
print(log.status, log.eval.task, log.eval.model, len(log.samples))
[sample] = [each for each in log.samples if each.id == "Pa_Ga"]
print(sample.scores["prediction"].value)
print(sample.messages[-1].text)

def output(text):
    made = ModelOutput.from_content("mockllm/model", text)
    made.usage = ModelUsage(input_tokens=7, output_tokens=5, total_tokens=12)
    return made

said = ['{"prediction_up": 0.3, "prediction_down": 0.1}', "Down.", "It is hard to say.", "up"]
samples = [Sample(id=each, input=f"What happens in {each}?", target="x") for each in ("Pa_Ga", "Pb_Ga", "Pc_Gc", "Px_Gx")]
model = get_model("mockllm/model", custom_outputs=[output(text) for text in said])
[log] = eval(Task(dataset=samples, scorer=match()), model=model, log_dir=sys.argv[2], display="none", max_samples=1)
print(log.status)
"""


@contextmanager
def inspect_view(folder: Path, home: Path) -> Iterator[str]:
    """The viewer's server on a folder of logs; its address."""
    port = free_port()
    command = [
        str(BIN / "inspect"),
        "view",
        "start",
        "--log-dir",
        str(folder),
        "--host",
        "127.0.0.1",
        "--port",
        str(port),
    ]
    server = subprocess.Popen(
        command,
        cwd=home,
        env={**os.environ, "XDG_DATA_HOME": str(home)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        deadline = time.monotonic() + WAIT_S
        while time.monotonic() < deadline and server.poll() is None:
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=5):
                    break
            except (URLError, ConnectionError, TimeoutError):
                time.sleep(0.1)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.kill()
        server.wait()


@pytest.fixture
def logs(small_workspace: Workspace, tmp_path: Path) -> Path:
    """A folder with the log of the small debate."""
    folder = tmp_path / "logs"
    folder.mkdir()
    with (folder / "debate.eval").open("wb") as out:
        write_log(out, small_workspace, "debate")
    return folder


@pytest.mark.soak
def test_the_pinned_release_reads_a_log_made_here_and_one_that_it_made_is_imported_row_by_row(
    small_workspace: Workspace, logs: Path, tmp_path: Path
) -> None:
    command = [str(BIN / "python"), "-c", SCRIPT, str(logs / "debate.eval"), str(tmp_path / "made")]
    environment = {**os.environ, "XDG_DATA_HOME": str(tmp_path)}
    done = subprocess.run(
        command,
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=2 * WAIT_S,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "success debate some/model 4",
        str({"prediction_up": 0.3, "prediction_down": 0.1, "p_de": 0.4, "p_up_given_de": 0.75}),
        "up 0.300, down 0.100",
        "success",
    ]
    [file] = (tmp_path / "made").glob("*.eval")
    [imported] = import_paths(small_workspace, [file])
    assert (imported.kind, imported.rows) == ("inspect_log", 3)
    assert [(row.reason, "Px_Gx" in row.detail) for row in imported.rejected] == [
        ("unknown id", True)
    ]
    with small_workspace.store.read() as db:
        run = runs.find(db, str(imported.name))
        rows = predictions.frame(db, run.id).set_index("pair_id")
        events = traces.of_row(db, run.id, "Pb_Ga")
    assert rows["prediction_up"].to_dict() == {"Pa_Ga": 0.3, "Pb_Ga": 0, "Pc_Gc": 1 / 3}
    assert rows["prediction_down"].to_dict() == {"Pa_Ga": 0.1, "Pb_Ga": 1, "Pc_Gc": 1 / 3}
    assert {key: list(flags) for key, flags in rows["flags"].items()} == {
        "Pa_Ga": [],
        "Pb_Ga": [],
        "Pc_Gc": ["uniform_fallback"],
    }
    assert [(event["role"], event["content"]) for event in events] == [
        ("USER", "What happens in Pb_Ga?"),
        ("ASSISTANT", "Down."),
    ]
    assert (run.model, run.tokens, run.method) == ("mockllm/model", 36, "inspect")


@pytest.mark.soak
@pytest.mark.browser
def test_its_viewer_shows_a_log_made_here(open_tab: OpenTab, logs: Path, tmp_path: Path) -> None:
    with inspect_view(logs, tmp_path) as address:
        page = open_tab()
        page.goto(f"{address}/#/tasks/debate.eval")
        for text in (
            "debate",
            "some/model",
            "Pa_Gb",
            "Does knocking down Pa change the expression of Gb, and up or down?",
        ):
            page.get_by_text(text, exact=True).first.wait_for()
        page.goto(f"{address}/#/logs/debate.eval/samples/sample/Pa_Gb/1/messages")
        page.get_by_text("C) Knockdown of Pa does not affect Gb.").first.wait_for()
        page.get_by_text("UP: brief").first.wait_for()
