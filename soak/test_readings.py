"""7,252 briefs read by a model whose worker is killed twice, beside a reading that is left alone; tests/actions/test_readings.py
has a small one that is interrupted.

The briefs are those of the published debate where it is present, else generated ones.
"""

from __future__ import annotations

import json
import shutil
import zlib
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from core.actions import readings, run_control
from core.actions.imports import import_paths, import_upload
from core.actions.readings import ReadingEstimate, ReadingSettings
from core.actions.workspace import Workspace, open_workspace
from core.audit.rubric import Example, Rubric
from core.config import Settings
from core.engine.journal import Spending, read_progress, read_spending
from core.llm.reply_cache import ReplyCache
from core.store import rubrics, runs
from core.store.runs import Run
from soak.conftest import Record
from tests.cases import as_csv, debate_trace, submission
from tests.conftest import SHARED_DATA
from tests.engine.cases import end_worker, status, until
from tests.engine.test_killed import journalled, stored
from tests.fakes.scripted import Script, ScriptedPrompt, read_prompt, request_counts, serving, write_reply

ROWS, BRIEFS = 1_813, 7_252
AT_ONCE = 16
LONGEST_S = 3_600.0
RUBRIC = Rubric(
    "names-a-mechanism",
    "Does the brief name a mechanism that leads from the perturbed gene to the target gene?",
    examples=(Example("A activates B, which binds the promoter of C.", "yes"), Example("Both are expressed here.", "no")),
)


class Asked:
    """The scripted server's record: how often each prompt arrived."""

    def __init__(self) -> None:
        self.prompts: Counter[str] = Counter()

    def answer(self, prompt: ScriptedPrompt) -> str:
        self.prompts[prompt.identity] += 1
        return write_reply(prompt)

    def of_readings(self) -> Counter[str]:
        """The same without the tiny completion of the health check."""
        return Counter({prompt: n for prompt, n in self.prompts.items() if "</text-" in prompt})


def fill(workspace: Workspace) -> None:
    """The published debate and its rows, or as many generated ones."""
    published = SHARED_DATA / "perturbagent" / "track_b_sharp.zip"
    if published.is_file():
        import_paths(workspace, [SHARED_DATA / "challenge", published])
        return
    ids = [(f"Qb{i % 61}_Hb{i}", f"Qb{i % 61}", f"Hb{i}") for i in range(ROWS)]
    said = "{} regulates {} through program {}. It is expressed here. So its knockdown changes what is made of it, as {} says."
    briefs = [
        {role: said.format(pert, gene, n, role) for role in ("EFFECT", "NULL", "UP", "DOWN")}
        for n, (_, pert, gene) in enumerate(ids)
    ]
    rows = [(key, 0.3, 0.1, debate_trace(**of_row)) for (key, _, _), of_row in zip(ids, briefs, strict=True)]
    import_upload(workspace, as_csv(["id", "pert", "gene"], ids), "test.csv")
    import_upload(workspace, submission(rows), "debate.csv")


def answered(workspace: Workspace) -> set[str]:
    """The prompts whose answers the workspace has."""
    cache = ReplyCache(workspace.settings.cache / run_control.CACHE)
    found = cache.run(lambda db: db.execute("SELECT request FROM reply").fetchall()) or []
    return {read_prompt(json.loads(zlib.decompress(request)), 0).identity for (request,) in found}


def start(workspace: Workspace, debate: str, url: str) -> tuple[Run, ReadingEstimate]:
    """A reading in a worker of its own, and what it was expected to take before."""
    plan = readings.plan_reading(workspace, RUBRIC, debate, ReadingSettings(concurrency=AT_ONCE, endpoint=url))
    expected = readings.estimate(workspace, plan)
    return readings.start_reading(workspace, RUBRIC, debate, plan=plan, detach=True), expected


def wait_for_rows(workspace: Workspace, run: Run, rows: int) -> None:
    def reached() -> bool:
        return len(read_progress(workspace.run_folder(run.id).rows).finished) >= rows

    until(reached, f"row {rows}")


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.engine.cases.WAIT_S", LONGEST_S)


def test_a_reading_that_was_killed_twice_is_the_reading_that_was_not(tmp_path: Path, record: Record, patient: None) -> None:  # noqa: ARG001
    workspace = open_workspace(Settings(workspace=tmp_path / "killed", author="tester"))
    fill(workspace)
    with workspace.store.read() as db:
        [debate] = runs.list_all(db)
        assert len(rubrics.texts(db, debate.id, RUBRIC)) == BRIEFS
    shutil.copytree(workspace.settings.workspace, tmp_path / "whole")
    whole = open_workspace(replace(workspace.settings, workspace=tmp_path / "whole"))

    left_alone = Asked()
    with serving(Script(answer=left_alone.answer)) as url:
        expected, estimate = start(whole, debate.id, url)
        until(lambda: status(whole, expected).state == "done", "the end")
        counted = request_counts(url)
    expected = run_control.settle(whole, expected.id)

    asked, again = Asked(), 0
    with serving(Script(answer=asked.answer)) as url:
        run, _ = start(workspace, debate.id, url)
        for least in (ROWS // 3, 2 * ROWS // 3):
            wait_for_rows(workspace, run, least)
            end_worker(workspace, run)
            until(lambda: status(workspace, run).state == "crashed", "the crash to be seen")
            known, before = answered(workspace), asked.of_readings()
            assert len(known) >= 4 * least - AT_ONCE
            run_control.resume(workspace, run.id)
            wait_for_rows(workspace, run, least + AT_ONCE)
            repeated = {prompt for prompt, n in asked.of_readings().items() if n > before[prompt] > 0}
            assert not repeated & known  # what was answered is not asked again
            again += len(repeated)
        until(lambda: status(workspace, run).state == "done", "the end")
    run = run_control.settle(workspace, run.id)

    told = read_spending(workspace.run_folder(run.id).spending) or Spending()
    every = asked.of_readings()
    tokens = (estimate.expected.prompt_tokens or 0) + (estimate.expected.completion_tokens or 0)
    record(
        rows=run.done,
        readings=BRIEFS,
        distinct_prompts=len(every),
        asked=every.total(),
        asked_again_as_a_kill_cut_their_answers=every.total() - len(every),
        unanswered_as_the_run_counts=told.unanswered,
        tokens=expected.tokens,
        expected_tokens=f"{tokens:.0f}",
        expected_of_counted=f"{tokens / counted['tokens']:.4f}",
        expected_calls=estimate.expected.calls,
    )
    assert (run.status, run.done, run.failed, run.tokens) == ("done", ROWS, 0, expected.tokens)
    assert set(left_alone.of_readings().values()) == {1}
    assert set(every) == set(left_alone.of_readings())
    assert len(every) == estimate.expected.calls
    assert every.total() - len(every) == again <= told.unanswered <= 2 * AT_ONCE
    assert 0.9 < tokens / counted["tokens"] < 1.1
    assert sorted(journalled(workspace, run)) == sorted(set(journalled(workspace, run)))
    ours, theirs = stored(workspace), stored(whole)
    assert list(ours) == list(theirs)
    for name, table in theirs.items():
        pd.testing.assert_frame_equal(ours[name], table, obj=name)
    found, who = readings.answers(workspace, RUBRIC, debate.id)
    assert (len(found), who) == (BRIEFS, run.id)
    assert set(found["answer"]) == {"yes", "no"}
    assert found["p"].between(0, 1).all()
