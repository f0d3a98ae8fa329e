"""A third schema is one declaration: the command asks, checks the quotations, stores and counts."""

from __future__ import annotations

import json
from collections.abc import Iterator

import numpy as np
import pandas as pd
import pytest

from core.features.arguments import findings
from core.features.arguments.findings import FindingKind
from core.features.arguments.rubric import Rubric
from core.features.arguments.schema import Field, Schema
from core.runs.workspace import Workspace
from tests.commands import core_json
from tests.fakes.scripted import Script, ScriptedPrompt, serving


def _settle(doubts: pd.DataFrame, _knowledge: object) -> pd.DataFrame:
    return doubts.assign(
        status=np.where(doubts["reason"] == "", "bare", "reasoned"), pack="", entry=""
    )


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
