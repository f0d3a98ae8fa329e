"""No advocate is ever shown a question to choose from."""

from __future__ import annotations

import itertools
import re
from typing import get_args

import pytest

from core.base.fields.record import read_options
from core.base.types import Pair
from core.evidence.render import dossier
from core.methods import debate as texts
from core.methods import prompts
from core.methods.debate import METHOD
from core.methods.prompts import examples
from tests.evidence.world import PACKS, TEST, TRAINING, gathered
from tests.methods.world import ARGUED, VIEW

NAMES = [tool.name for tool in prompts.tools_of(prompts.PACK_TOOLS)]

# An option's letter with a bracket, dot or colon at the start of a line, a bracketed letter anywhere, or an answer's tag.
CHOICE = re.compile(
    r"^\W*[A-E][).:]|\b[A-E]\)|<answer>|<prob>|\banswer\b|\b[ABC], [ABC]\b|\b[ABC] or [ABC]\b|\?$",
    re.MULTILINE,
)


def case(pair: Pair, **options: object) -> texts.DebateCase:
    found = dossier(gathered(pair, PACKS, VIEW, NAMES), pair).text
    return texts.DebateCase(
        pair.pert,
        pair.gene,
        found,
        examples(pair, VIEW, 4, 0),
        read_options(METHOD.settings, options),
    )


def advocate_prompts(pair: Pair, context: str, judge: str) -> list[str]:
    """Every message that an advocate can be sent by us, whatever the options."""
    shown = case(pair, context=context, judge=judge, rounds=2)
    sent = []
    for side in texts.OPPONENT:
        messages = (
            *texts.brief_messages(side, shown),
            *texts.rebuttal_messages(side, shown, ARGUED, ARGUED),
        )
        sent += [message.content for message in messages if message.role != "assistant"]
        sent.append(texts.ask_brief_again(side, shown, "it has fewer than 3 sentences"))
    return sent


@pytest.mark.parametrize(
    ("context", "judge"),
    list(itertools.product(("kit", "site", "Own cells."), get_args(texts.Judge))),
)
def test_no_advocate_prompt_holds_an_option(context: str, judge: str) -> None:
    for pair in (TEST, *TRAINING):
        for prompt in advocate_prompts(pair, context, judge):
            assert not CHOICE.search(prompt), prompt


def test_what_that_test_looks_for_is_found_where_it_is() -> None:
    judged = "".join(
        message.content for message in texts.verdict_messages("de", case(TEST, judge="logprob"), ())
    )
    assert CHOICE.search(judged)
    for question in (
        "A) up",
        "(B) down",
        "C. none",
        "Reply with A, B or C.",
        "Give your answer.",
        "Does it change?",
    ):
        assert CHOICE.search(question)


@pytest.mark.parametrize("side", texts.OPPONENT)
def test_an_advocate_is_told_the_pair_its_side_and_the_dossier(side: str) -> None:
    shown = case(TEST)
    system, task = texts.brief_messages(side, shown)
    assert system.role == "system"
    assert f"Your side: {side}\n" in task.content
    assert task.content.startswith("Perturbed gene: Jak1\nTarget gene: Gm12345\n")
    assert shown.dossier in task.content


def test_every_judge_is_told_how_to_answer() -> None:
    for judge, stage in itertools.product(get_args(texts.Judge), texts.SIDES):
        task = texts.verdict_messages(stage, case(TEST, judge=judge), (("UP", "Said."),))[1].content
        assert ("<answer>" in task, "<prob>" in task) == (judge == "logprob", judge != "logprob")
        assert "UP:\nSaid." in task
        assert not set("{}") & set(task)
    sharp = {
        stage: texts.verdict_messages(stage, case(TEST, judge="sharp"), ())[1].content
        for stage in texts.SIDES
    }
    assert "Start from 45" in sharp["de"]
    assert "Start from 65" in sharp["dir"]


def test_a_row_that_no_tool_knows_says_so() -> None:
    bare = texts.DebateCase("Jak1", "Il6", "", "", read_options(METHOD.settings, {}))
    assert "No tool gave any evidence." in texts.brief_messages("UP", bare)[1].content
