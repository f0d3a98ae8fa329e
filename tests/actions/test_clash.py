"""The clash of debates is read in a run: interrupted it goes on, and bad answers fail or flag their row, which retry mends.

soak/test_job_kills.py kills it, soak/test_faulty.py reads 300 debates on servers with every fault.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from core.actions import readings, run_control
from core.actions.clash import clash_of_run
from core.actions.reading_settings import ReadingSettings
from core.actions.workspace import Workspace
from core.audit.clash import SPEECHES
from core.errors import NotFound
from core.store import predictions
from core.types import Flag
from tests.actions.test_readings import copy_of
from tests.fakes.scripted import Script, ScriptedPrompt, request_counts, serving, write_reply

ROWS, DEBATES = 3, 6


def points_of(workspace: Workspace) -> list[dict[str, object]]:
    found = clash_of_run(workspace, "debate")
    return found.points.sort_values(list(found.points), ignore_index=True).to_dict("records")


@pytest.mark.soak
def test_interrupted_it_goes_on_and_asks_nothing_twice(small_workspace: Workspace, tmp_path: Path) -> None:
    whole = copy_of(small_workspace, tmp_path)
    with serving() as url:
        settings = ReadingSettings(concurrency=1, token_budget=1)
        part = readings.start_reading(small_workspace, SPEECHES, "debate", replace(settings, endpoint=url))
        assert (part.status, part.done) == ("budget", 1)
        with pytest.raises(NotFound, match="is budget"):
            clash_of_run(small_workspace, "debate")
        execution = replace(run_control.settings_of(small_workspace, part.id), token_budget=None)
        resumed = run_control.resume(small_workspace, part.id, settings=execution, begin=run_control.work_on)
        assert (resumed.status, resumed.done) == ("done", ROWS)
        assert request_counts(url)["/v1/chat/completions"] == DEBATES + 1  # one of the health check
        undisturbed = readings.start_reading(whole, SPEECHES, "debate", ReadingSettings(endpoint=url))
    assert undisturbed.id == resumed.id
    assert points_of(small_workspace) == points_of(whole)


BAD = {
    "cut off": ('{"points": [{"side": "UP", "point": "' + "word " * 9_000, "Truncated"),  # twice the limit of its tokens
    "wrong JSON": ('{"points": [{"side": "UP", "point": ]}', ""),
    "refusal": ("I cannot help with that.", ""),
    "empty": ("", "Truncated"),
}


@pytest.mark.few(1)
@pytest.mark.parametrize("bad", BAD)
def test_bad_answers_fail_or_flag_their_row_and_retry_mends_what_failed(small_workspace: Workspace, bad: str) -> None:
    said, kind = BAD[bad]
    hears, asked = Counter[str](), "Target gene: Gb"

    def answer(prompt: ScriptedPrompt) -> str:
        if asked not in prompt.text or "Sides:" not in prompt.text:
            return write_reply(prompt)
        hears["bad"] += 1
        return said if mended == [] else write_reply(prompt)

    mended: list[bool] = []
    with serving(Script(answer=answer)) as url:
        run = readings.start_reading(small_workspace, SPEECHES, "debate", ReadingSettings(endpoint=url))
        assert run.status == "done"
        assert hears["bad"] >= 2  # asked again
        with small_workspace.store.read() as db:
            row = predictions.row(db, run.id, "Pa_Gb")
        clash = clash_of_run(small_workspace, "debate")
        assert set(clash.points["pair_id"]) == {"Pa_Ga", "Pb_Ga"}
        if kind == "":
            assert (run.done, run.failed) == (ROWS, 0)
            assert Flag.UNREAD in row["flags"]
            return
        assert (run.done, run.failed) == (ROWS - 1, 1)
        assert row["error"].startswith(kind)
        mended.append(True)
        run = run_control.retry(small_workspace, run.id, begin=run_control.work_on)
    assert (run.done, run.failed) == (ROWS, 0)
    assert set(clash_of_run(small_workspace, "debate").points["pair_id"]) == {"Pa_Ga", "Pa_Gb", "Pb_Ga"}
