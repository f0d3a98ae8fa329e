"""The option `structured`: the answer in JSON, by a schema that the request holds."""

from __future__ import annotations

import json

import pytest

from core.base.fields.record import read_options
from core.base.types import RowResult
from core.features.finetune import local_model
from core.llm.answers import letter_schema, percent_schema
from core.llm.errors import Refused
from core.methods import coordinator, debate, prompt_only, react
from core.methods.base import RowFailed, RowMethod
from tests.fakes.scripted import serving
from tests.llm.canned import Canned, completion
from tests.llm.canned import serving as canned
from tests.methods.world import predict

CASES = [
    (prompt_only.METHOD, {}, ["reasoning", "answer"]),
    (prompt_only.METHOD, {"reasoning": "no", "answers": "logprobs"}, ["answer"]),
    (prompt_only.METHOD, {"template": "{pert} and {gene}?", "reasoning": "no"}, ["answer"]),
    (local_model.METHOD, {"samples": 2}, ["answer"]),
    (debate.METHOD, {"rounds": 0}, ["reasoning", "probability"]),
    (debate.METHOD, {"rounds": 1, "judge": "logprob"}, ["answer"]),
    (react.METHOD, {}, ["reasoning", "p_de", "p_up_given_de"]),
    (react.METHOD, {"answers": "letter"}, ["reasoning", "answer"]),
    (coordinator.METHOD, {}, ["reasoning", "p_de", "p_up_given_de"]),
]


def schemas_of(row: RowResult) -> list[list[str]]:
    """The fields of the schema of each request that has one."""
    formats = [json.loads(call.request).get("response_format") for call in row.calls]
    return [[*sent["json_schema"]["schema"]["properties"]] for sent in formats if sent]


@pytest.mark.few(4)
@pytest.mark.parametrize(("method", "options", "fields"), CASES)
def test_the_answer_is_asked_for_by_schema_and_read(
    method: RowMethod, options: dict[str, object], fields: list[str]
) -> None:
    if method in (react.METHOD, coordinator.METHOD):
        pytest.importorskip("dspy", reason="requirements-agents.txt is not installed")
    with serving() as url:
        row = predict(method, url, structured="yes", **options)
        usual = predict(method, url, **options)
    assert not row.prediction.flags
    assert not [event for event in row.events if event.kind == "rejected"]
    asked = schemas_of(row)
    assert asked
    assert all(sent == fields for sent in asked)
    assert schemas_of(usual) == []


def test_the_probability_is_that_of_the_field() -> None:
    verdict = json.dumps({"reasoning": "One side says 90%.\n80%\nHardly.", "probability": 12})
    with canned(lambda _: Canned(completion(verdict))) as (url, _):
        row = predict(debate.METHOD, url, rounds=0, structured="yes")
    assert (row.prediction.p_de, row.prediction.p_up_given_de) == (0.12, 0.12)
    assert all("Hardly." in event.content for event in row.events)  # the reasons stay in the trace


def test_who_answers_otherwise_is_shown_the_form_again() -> None:
    replies = ["It goes down.", json.dumps({"answer": "B"})]

    def answer(asked):
        return Canned(
            completion(replies[len(asked.body["messages"]) > 1]) if asked.body else {"error": "no"}
        )

    with canned(answer) as (url, asked):
        row = predict(prompt_only.METHOD, url, structured="yes", seeds="1", reasoning="no")
    first, second = (sent.body["messages"][-1]["content"] for sent in asked)
    form = letter_schema("ABC").form
    assert first.count(form) == second.count(form) == 1
    assert row.prediction.prediction_down == 1


@pytest.mark.parametrize("status", [400, 422])
@pytest.mark.parametrize("method", [prompt_only.METHOD, debate.METHOD])
def test_a_server_that_takes_no_schema_is_an_error_that_names_the_option(
    method: RowMethod, status: int
) -> None:
    def answer(asked):
        refuses = asked.body and "response_format" in asked.body
        return (
            Canned({"detail": "Extra inputs are not permitted"}, status)
            if refuses
            else Canned(completion("<prob>1</prob>"))
        )

    with canned(answer) as (url, _), pytest.raises(RowFailed) as failed:
        predict(method, url, structured="yes")
    assert isinstance(failed.value.cause, Refused)
    assert "response_format" in str(failed.value.cause)
    assert "option structured" in str(failed.value.cause)


def test_the_prompts_of_a_run_hold_the_form_only_if_it_is_shown() -> None:
    forms = {
        prompt_only.METHOD: letter_schema("ABC", reasoned=True).form,
        debate.METHOD: percent_schema("probability").form,
    }
    for method, form in forms.items():
        usual, chosen = (
            read_options(method.settings, {"structured": value}) for value in ("no", "yes")
        )
        assert "JSON" not in method.prompts(usual)
        assert form in method.prompts(chosen)
        assert method.prompts(
            {name: usual[name] for name in usual if name != "structured"}
        ) == method.prompts(usual)
