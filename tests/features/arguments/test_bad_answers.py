"""The clash of debates is read in a run: interrupted it goes on, and bad answers fail or flag their row, which retry mends.

soak/test_job_kills.py kills it, soak/test_faulty.py reads 300 debates on servers with every fault.
"""

from __future__ import annotations

from collections import Counter

import pytest

from core.base.types import Flag
from core.features.arguments import readings
from core.features.arguments.findings import CLASH
from core.features.arguments.readings import ReadingSettings
from core.features.arguments.schema_reading import reading_of_run
from core.runs import run_control
from core.runs.workspace import Workspace
from core.store import predictions
from tests.fakes.scripted import Script, ScriptedPrompt, serving, write_reply

ROWS, DEBATES = 3, 6


BAD = {
    "cut off": (
        '{"points": [{"side": "UP", "point": "' + "word " * 9_000,
        "Truncated",
    ),  # twice the limit of its tokens
    "wrong JSON": ('{"points": [{"side": "UP", "point": ]}', ""),
    "refusal": ("I cannot help with that.", ""),
    "empty": ("", "Truncated"),
}


@pytest.mark.few(1)
@pytest.mark.parametrize("bad", BAD)
def test_bad_answers_fail_or_flag_their_row_and_retry_mends_what_failed(
    small_workspace: Workspace, bad: str
) -> None:
    said, kind = BAD[bad]
    hears, asked = Counter[str](), "Target gene: Gb"

    def answer(prompt: ScriptedPrompt) -> str:
        if asked not in prompt.text or "Sides:" not in prompt.text:
            return write_reply(prompt)
        hears["bad"] += 1
        return said if mended == [] else write_reply(prompt)

    mended: list[bool] = []
    with serving(Script(answer=answer)) as url:
        run = readings.start_reading(
            small_workspace, CLASH.schema.rubric, "debate", ReadingSettings(endpoint=url)
        )
        assert run.status == "done"
        assert hears["bad"] >= 2  # asked again
        with small_workspace.store.read() as db:
            row = predictions.row(db, run.id, "Pa_Gb")
        assert rows_of(small_workspace, run.id) == {"Pa_Ga", "Pb_Ga"}
        if kind == "":
            assert (run.done, run.failed) == (ROWS, 0)
            assert Flag.UNREAD in row["flags"]
            return
        assert (run.done, run.failed) == (ROWS - 1, 1)
        assert row["error"].startswith(kind)
        mended.append(True)
        run = run_control.retry(small_workspace, run.id, begin=run_control.work_on)
    assert (run.done, run.failed) == (ROWS, 0)
    assert rows_of(small_workspace, run.id) == {"Pa_Ga", "Pa_Gb", "Pb_Ga"}


def rows_of(workspace: Workspace, reading: str) -> set[str]:
    """The rows with a point."""
    return {
        point["pair_id"] for point in reading_of_run(workspace, CLASH, "debate", reading).findings
    }
