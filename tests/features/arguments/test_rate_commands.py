"""The commands `rubric rate` and `rubric worth`."""

from __future__ import annotations

import pytest

from core.features.arguments import readings
from core.features.arguments.rubric import Rubric
from core.runs.workspace import Workspace
from tests.commands import core, core_json

MEASURES = {"hit_rate", "de", "dir"}


@pytest.fixture
def asked(small_workspace: Workspace) -> Workspace:
    """The small debate, and a rubric that a pattern answers."""
    readings.add_rubric(
        small_workspace, Rubric("program", "Does it name a program?", pattern="shared program")
    )
    return small_workspace


@pytest.mark.soak
def test_rates_and_worth_of_a_pattern(asked: Workspace) -> None:
    place = asked.settings.workspace
    rates = core_json(place, "rubric", "rate", "program", "debate")
    assert rates["judge"] == "rule"
    whole = rates["roles"]["all"]
    assert {"n", "yes", "rate", "corrected", "labels"} <= set(whole)
    assert (
        whole["n"],
        whole["yes"],
        whole["labels"],
        whole["corrected"],
        whole["missing_labels"],
    ) == (12, 11, 0, None, 0)
    assert rates["roles"]["UP"]["rate"]["estimate"] == pytest.approx(2 / 3)
    other = core_json(place, "rubric", "rate", "program", "debate", "--answer", "no")
    assert other["roles"]["all"]["yes"] == 1
    worth = core_json(place, "rubric", "worth", "program", "debate")
    assert (worth["yes"]["n"], worth["no"]["n"], worth["rubrics"][0]["unread"]) == (3, 0, 1)
    assert set(worth["delta"]) == set(worth["p_holm"]) == MEASURES
    assert len(core_json(place, "rubric", "worth", "program,genes", "debate")["rubrics"]) == 2
    text = core(place, "rubric", "rate", "program", "debate").out
    assert ["all", "12", "12", "11", "0.917"] in [line.split()[:5] for line in text.splitlines()]
    assert "labels missing" not in text  # a pattern has no error rate
