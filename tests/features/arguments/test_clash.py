"""`rubric run clash`: the small debate, read by the scripted server, and by one that invents."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator

import pandas as pd
import pytest

from core.base.types import Flag
from core.features.arguments import findings, readings
from core.features.arguments.findings import CLASH, FindingKind
from core.features.arguments.readings import ReadingSettings
from core.features.arguments.rubric import Rubric
from core.features.arguments.schema import Field, Schema
from core.features.arguments.schema_reading import reading_of_run
from core.runs import run_control
from core.runs.workspace import Workspace
from core.store import predictions
from tests.commands import core, core_json
from tests.fakes.scripted import Script, ScriptedPrompt, serving, write_reply


@pytest.mark.soak
def test_points_are_counted_by_side_and_outcome_and_chosen(small_workspace: Workspace) -> None:
    place = small_workspace.settings.workspace
    assert "neither rule nor pattern" in core(place, "rubric run clash debate --judge rule").err
    with serving() as url:
        found = core_json(place, "rubric", "run", "clash", "debate", "--endpoint", url)
        assert (
            core_json(place, "rubric", "run", "clash", "debate", "--endpoint", url)["reading"]
            == found["reading"]
        )  # the same is not asked twice
    # Three rows, each with two debates; the scripted reader has the second side answer the first.
    assert (found["n"], found["judged"], found["invented"], found["replies"]) == (6, 0, 0, False)
    of_all = found["counts"]
    assert {
        each["role"]: (each["findings"], each["answered"], each["ignored"]) for each in of_all
    } == {
        "EFFECT": (3, 3, 0),
        "NULL": (3, 0, 3),
        "UP": (3, 3, 0),
        "DOWN": (3, 0, 3),
    }
    assert found["worth"] is None  # every row has an ignored point, and none one that decides
    assert any("judge gives no reason" in caveat for caveat in found["caveats"])
    again = core_json(place, "rubric", "run", "clash", "debate", "--reading", found["reading"])
    ignored = [
        each for each in again["findings"] if each["side"] == "DOWN" and each["status"] == "ignored"
    ]
    assert [(each["pair_id"], each["stage"]) for each in ignored] == [
        (row, "dir") for row in ("Pa_Ga", "Pa_Gb", "Pb_Ga")
    ]


@pytest.mark.soak
def test_invented_quotations_are_counted_and_none_is_shown(small_workspace: Workspace) -> None:
    """The reader quotes rightly in the row of Gb alone: six quotations there, one invented in each of the other four debates."""
    place = small_workspace.settings.workspace
    invented = '{"points": [{"side": "UP", "point": "It was shown in 2019.", "answer": "", "verdict": ""}]}'
    script = Script(
        answer=lambda prompt: write_reply(prompt) if "Target gene: Gb" in prompt.text else invented
    )
    with serving(script) as url:
        found = core_json(place, "rubric", "run", "clash", "debate", "--endpoint", url)
    assert (
        {each["pair_id"] for each in found["findings"]},
        found["quotes"],
        found["invented"],
    ) == ({"Pa_Gb"}, 6, 4)
    [worth] = found["worth"]["rubrics"]
    assert (worth["rubric"], worth["yes"]["n"], worth["no"]["n"]) == ("point that is ignored", 1, 2)
    shown = core(place, "rubric", "run", "clash", "debate", "--reading", found["reading"]).out
    assert "4 of 10 quotations are not in the text" in shown


def _settle(doubts: pd.DataFrame) -> list[str]:
    return ["bare" if reason == "" else "reasoned" for reason in doubts["reason"]]


DOUBTS = FindingKind(
    Schema(
        Rubric("doubts", "What does the brief doubt?"),
        listed="doubts",
        of="text",
        role="You read a text and list what it doubts.",
        request="List every doubt.",
        fields=(
            Field("about", "what it is about.", "choice", ("direction", "effect")),
            Field("doubt", "the sentence that doubts, copied word for word."),
            Field("reason", 'the sentence that says why; "" if none does.', optional=True),
        ),
        key=("about", "doubt"),
    ),
    texts="briefs",
    statuses=("reasoned", "bare"),
    settle=_settle,
    worth=("bare",),
)


@pytest.fixture(autouse=True)
def declared(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The third schema is declared beside the others."""
    monkeypatch.setattr(findings, "DECLARED", (*findings.DECLARED, f"{__name__}:DOUBTS"))
    findings.kinds.cache_clear()
    yield
    findings.kinds.cache_clear()


def doubt(prompt: ScriptedPrompt) -> str:
    """Doubts the last sentence, for a reason that stands nowhere."""
    doubts = [
        {"about": "effect", "doubt": each, "reason": "It was seen in 2019."}
        for each in prompt.sentences[-1:]
    ]
    return json.dumps({"doubts": doubts})


@pytest.mark.soak
def test_a_new_schema_is_read_and_counted(small_workspace: Workspace) -> None:
    place = small_workspace.settings.workspace
    with serving(Script(answer=doubt)) as url:
        found = core_json(place, "rubric", "run", "doubts", "debate", "--endpoint", url)
        again = core_json(place, "rubric", "run", "doubts", "debate", "--endpoint", url)
    assert again == found
    assert (found["n"], found["unread"]) == (12, 0)
    assert (
        found["n_findings"] == found["quotes"] == found["invented"] > 6
    )  # a doubt of a brief, and its invented reason
    assert found["statuses"] == {"reasoned": 0, "bare": found["n_findings"]}


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

    def answer(prompt):
        if asked not in prompt.text or "Sides:" not in prompt.text:
            return write_reply(prompt)
        hears["bad"] += 1
        return said if mended == [] else write_reply(prompt)

    mended = []
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
