"""`rubric run claims`: claims of the small debate as the scripted server reads them, and their labels."""

from __future__ import annotations

import pandas as pd
import pytest

from core.features.arguments import labels, readings
from core.features.arguments.findings import CLAIMS
from core.features.arguments.readings import ReadingSettings
from core.features.arguments.rubric_tables import TextLabel
from core.runs.workspace import Workspace
from tests.commands import core, core_json
from tests.fakes.scripted import Script, serving, write_reply
from tests.ui.conftest import Visit

RUBRIC = CLAIMS.schema.rubric


@pytest.mark.soak
def test_claims_are_counted_by_role_and_chosen(small_workspace: Workspace) -> None:
    """The scripted reader finds "Pa regulates Ga", and in the row of Gb it invents a quotation as well."""
    place = small_workspace.settings.workspace
    invented = (
        '{"subject": "Pa", "relation": "binds", "object": "Ga", "quote": "They bind each other."}'
    )
    script = Script(
        answer=lambda prompt: (
            write_reply(prompt).replace("[{", f"[{invented}, {{")
            if "Target gene: Gb" in prompt.text
            else write_reply(prompt)
        )
    )
    with serving(script) as url:
        core(place, "rubric", "run", "claims", "debate", "--endpoint", url)
    found = core_json(place, "rubric run claims debate")  # the newest reading
    # Each brief says "Pa regulates Ga", which in the row Pa_Ga is the question itself; one says what is no claim.
    counts = found["counts"]
    assert {
        count["role"]: (count["texts"], count["having"], count["answers"]) for count in counts
    } == {
        "EFFECT": (3, 3, 1),
        "NULL": (3, 3, 1),
        "UP": (3, 2, 1),
        "DOWN": (3, 3, 1),
    }
    assert {count["role"]: count["findings"] for count in counts} == {
        "EFFECT": 2,
        "NULL": 2,
        "UP": 1,
        "DOWN": 2,
    }
    assert (found["n_findings"], found["answers"]) == (7, 4)
    assert found["roles"]["all"]["answers"] == {
        "yes": 7,
        "no": 5,
    }  # four briefs only answer the question, one says nothing
    of_up = [each for each in found["findings"] if each["role"] == "UP"]
    assert [
        (each["pair_id"], each["subject"], each["object"], each["is_answer"]) for each in of_up
    ] == [
        ("Pa_Ga", "Pa", "Ga", True),
        ("Pb_Ga", "Pa", "Ga", False),
    ]
    assert (found["unread"], found["quotes"], found["invented"]) == (0, 11, 3)
    assert all("Pa regulates Ga" in each["quote"] for each in found["findings"])
    told = core(place, "rubric", "run", "claims", "debate", "--reading", found["reading"]).out
    assert "3 of 14 quotations are not in the text" in told


def test_without_a_reading_the_command_says_how_to_make_one(small_workspace: Workspace) -> None:
    done = core(small_workspace, "rubric run claims debate")
    assert (done.status, done.out, len(done.err.splitlines())) == (1, "", 1)
    assert "rubric run claims debate --judge model --endpoint URL" in done.err


@pytest.mark.soak
def test_labels_of_people_correct_the_reader(small_workspace: Workspace) -> None:
    """By the labels one brief with a claim lies among those without: of 8 that have one the reader finds 7."""
    place = small_workspace.settings.workspace
    with serving() as url:
        reading = readings.start_reading(
            small_workspace, RUBRIC, "debate", ReadingSettings(endpoint=url)
        )
    answers = readings.answers(small_workspace, RUBRIC, "debate", "model")[0]
    said = {(each.pair_id, each.seq): str(each.answer) for each in answers.itertuples()}
    missed = next(key for key, answer in said.items() if answer == "no")
    sample = labels.draw_sample(small_workspace, RUBRIC, "debate", 12)
    given = [
        TextLabel(
            text.pair_id,
            text.seq,
            text.role,
            "yes" if key == missed else said[key],
            "Ada",
            sample=sample.id,
        )
        for text in sample.texts
        if (key := (text.pair_id, text.seq))
    ]
    labels.give_labels(small_workspace, RUBRIC, "debate", given)
    rates = core_json(place, "rubric", "rate", "claims", "debate", "--reading", reading.id)[
        "roles"
    ]["all"]
    assert (rates["n"], rates["yes"], rates["labels"], rates["missing_labels"]) == (12, 7, 12, 38)
    assert (rates["sensitivity"]["estimate"], rates["specificity"]["estimate"]) == (7 / 8, 1)


@pytest.mark.parametrize(
    ("said", "is_answer"),
    [
        ("PA|activates|Ga", True),
        ("Ga|activates|Pa", False),
        ("Ga|binds|Pa", True),
        ("Pa|acts with|Gb", False),
    ],
)
def test_a_claim_that_the_perturbation_acts_on_the_gene_only_answers_its_row(
    said: str, is_answer: bool
) -> None:
    subject, relation, target = said.split("|")
    claim = {"subject": subject, "relation": relation, "object": target, "pert": "Pa", "gene": "Ga"}
    assert CLAIMS.answers(pd.DataFrame([claim])).tolist() == [is_answer]


SECOND = '{"subject": "Ga", "relation": "binds", "object": "Pa", "quote": "Pa regulates Ga"}'


@pytest.mark.soak
def test_the_page_of_a_row_shows_its_claims(small_workspace: Workspace, visit: Visit) -> None:
    app = visit(small_workspace, "rows", run="debate", row="Pb_Ga")
    assert not any(each.label.startswith("Claims") for each in app.expander)
    script = Script(answer=lambda prompt: write_reply(prompt).replace("[{", f"[{SECOND}, {{"))
    with serving(script) as url:
        readings.start_reading(
            small_workspace, CLAIMS.schema.rubric, "debate", ReadingSettings(endpoint=url)
        )
    app = visit(small_workspace, "rows", run="debate", row="Pb_Ga")
    assert "Claims (8)" in [each.label for each in app.expander]  # two in each of four briefs
    [claims] = [each.value for each in app.dataframe if "relation" in each.value]
    assert set(zip(claims["subject"], claims["relation"], claims["object"], strict=True)) == {
        ("Pa", "regulates", "Ga"),
        ("Ga", "binds", "Pa"),
    }
