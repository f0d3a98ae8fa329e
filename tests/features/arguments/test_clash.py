"""`rubric run clash`: the small debate, read by the scripted server, and by one that invents."""

from __future__ import annotations

import pytest

from core.runs.workspace import Workspace
from tests.commands import core, core_json
from tests.fakes.scripted import Script, serving, write_reply


@pytest.mark.soak
def test_points_are_counted_by_side_and_outcome_and_chosen(small_workspace: Workspace) -> None:
    place = small_workspace.settings.workspace
    assert (
        "neither rule nor pattern"
        in core(place, "rubric", "run", "clash", "debate", "--judge", "rule").err
    )
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
