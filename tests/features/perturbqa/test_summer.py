"""SUMMER against the scripted server and canned answers on this machine."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from core.base.errors import InputError
from core.base.fields.record import read_options
from core.base.types import Call, Flag, Pair, RowResult
from core.evidence.packs import Packs
from core.features.perturbqa.methods.summer import METHOD
from core.llm.client import Client
from core.llm.endpoint import Endpoint
from core.methods.base import RowFailed
from core.methods.conversation import NoBaseRates
from tests.evidence.world import PACKS, TRAINING, pair
from tests.fakes.scripted import request_counts, serving
from tests.llm.canned import Asked, Canned, completion
from tests.llm.canned import serving as canned
from tests.methods.world import BLIND, context, predict

CHAT = "/v1/chat/completions"
KNOWN = pair(
    "Stat1_Il6", None, "test"
)  # an entry and relations of the one, an entry and no relation of the other


def rows(url: str, *pairs: Pair, packs: Packs = PACKS, **options: object) -> list[RowResult]:
    """What the method predicts for rows that are all in flight at once."""

    async def all_rows() -> list[RowResult]:
        async with Client(Endpoint(url)) as client:
            here = replace(context(METHOD, client, packs=packs, **options), pairs=pairs)
            return list(await asyncio.gather(*(METHOD.predict_row(one, here) for one in pairs)))

    return asyncio.run(all_rows())


def prompt(call: Call) -> str:
    """The user's message of a call."""
    return str(json.loads(call.request)["messages"][1]["content"])


def says(by_seed: Callable[[Any, str], str]) -> Callable[[Asked], Canned]:
    """A server that answers samples by their seed and question, and summarises; it cannot count tokens."""

    def answer(asked: Asked) -> Canned:
        if asked.path != CHAT:
            return Canned({"error": "no"}, 404)
        text = asked.body["messages"][1]["content"]
        if text.startswith("Gene:"):
            return Canned(completion("A summary."))
        return Canned(
            completion(by_seed(asked.body["seed"], "de" if "<answer>yes" in text else "dir"))
        )

    return answer


def test_two_passes_for_each_gene_then_labelled_pairs_then_three_samples_of_each_question() -> None:
    with serving() as url:
        [found] = rows(url, KNOWN)
        asked = request_counts(url)[CHAT]
    assert [(event.stage, event.role, event.kind) for event in found.events] == [
        ("summarise", "PERTURBED GENE", "summary"),
        ("summarise", "PERTURBED GENE", "summary with relations"),
        ("summarise", "MEASURED GENE", "summary"),
        ("retrieve", "LABELLED PAIRS", "for the effect"),
        ("retrieve", "LABELLED PAIRS", "for the direction"),
        *[("de", "MODEL", "answer")] * 3,
        ("de", "MEAN", "verdict"),
        *[("dir", "MODEL", "answer")] * 3,
        ("dir", "MEAN", "verdict"),
    ]
    assert asked == len(found.calls) == 3 + 3 + 3
    assert (
        METHOD.calls(read_options(METHOD.settings, {})) == 10
    )  # at most: of Il6 no relation is known
    means = {event.stage: event.meta["p"] for event in found.events if event.kind == "verdict"}
    prediction = found.prediction
    assert (prediction.p_de, prediction.p_up_given_de, prediction.p_source) == (
        means["de"],
        means["dir"],
        "trace",
    )
    assert prediction.prediction_up == pytest.approx(means["de"] * means["dir"])
    assert prediction.tokens == sum(event.tokens or 0 for event in found.events)
    assert Flag.NO_KNOWLEDGE not in prediction.flags
    bodies = [json.loads(call.request) for call in found.calls]
    assert {
        (body["temperature"], body["top_p"], body["max_completion_tokens"]) for body in bodies
    } == {(0.6, 0.9, 1024)}
    assert [body["seed"] for body in bodies] == [7, 7, 7, 42, 43, 44, 42, 43, 44]


def test_who_is_shown_what() -> None:
    with serving() as url:
        [found] = rows(url, KNOWN, context="k562")
    calls = {(call.stage, call.role): prompt(call) for call in found.calls}
    first, second, third = (prompt(call) for call in found.calls[:3])
    assert "Signal transducer. Acts downstream of interferons." in first
    assert "Irf1 995, Jak1 990" in second
    assert "targets, Stat1: activates Cxcl10." in second
    assert "This is a scripted summary of Stat1" in second
    assert "whose expression is measured" in third
    assert "interleukin 6" in third
    de, direction = calls["de", "MODEL"], calls["dir", "MODEL"]
    assert "Perturbed gene: Stat1\nThis is a scripted summary of Stat1" in de
    assert "Measured gene: Il6\nThis is a scripted summary of Il6" in de
    # Irf1 and Jak1 are close to Stat1, nobody to Il6; the row itself is labelled in view.
    assert "Same perturbation, any gene:\n- Stat1 -> Cxcl10: decreased\n" in de
    assert "Same gene, any perturbation:\n- Psmd1 -> Il6: unchanged\n" in de
    assert "Close perturbation, any gene:\n- Irf1 -> Actb: unchanged\n" in de
    assert "Stat1 -> Il6" not in de + direction
    assert "unchanged" not in direction
    assert ("\n5. All in all" in de, "\n6. " in de, "\n7. Take it as given" in direction) == (
        True,
        False,
        True,
    )
    systems = {json.loads(call.request)["messages"][0]["content"] for call in found.calls}
    assert all("K562" in system for system in systems)
    assert len(systems) == 1


@pytest.mark.parametrize("row", TRAINING)
def test_no_row_is_shown_its_own_label(row: Pair) -> None:
    with serving() as url:
        [found] = rows(url, replace(row, label=None))
    asked = "\n".join(map(prompt, found.calls))
    assert f"{row.pert} -> {row.gene}" not in asked
    assert "Measured outcomes" in asked


def test_the_score_is_the_mean_in_which_insufficient_evidence_counts_half() -> None:
    said = {
        "de": {42: "yes", 43: "insufficient evidence", 44: "no"},
        "dir": {42: "increase", 43: "increase", 44: "decrease"},
    }
    with canned(says(lambda seed, stage: f"So:\n<answer>{said[stage][seed]}</answer>")) as (url, _):
        found = predict(METHOD, url)
    assert (found.prediction.p_de, found.prediction.p_up_given_de) == (0.5, pytest.approx(2 / 3))
    assert found.prediction.flags == (Flag.NO_KNOWLEDGE, Flag.INSUFFICIENT)
    [de, direction] = [event for event in found.events if event.kind == "verdict"]
    assert de.meta["answers"] == {"yes": 1, "no": 1, "insufficient evidence": 1}
    assert (direction.meta["answers"]["increase"], direction.meta["fallback"]) == (2, False)
    assert [
        event.meta["score"]
        for event in found.events
        if event.stage == "de" and event.kind == "answer"
    ] == [1.0, 0.5, 0.0]


def test_a_sample_that_cannot_be_read_is_asked_for_once_more_and_then_left_out() -> None:
    with canned(
        says(
            lambda seed, _: (
                "There is no telling." if seed == 43 else "<answer>insufficient</answer>"
            )
        )
    ) as (url, asked):
        found = predict(METHOD, url, task="de")
    assert found.prediction.p_de == 0.5
    assert found.prediction.flags == (
        Flag.NO_KNOWLEDGE,
        Flag.NO_DIR,
        Flag.INSUFFICIENT,
        Flag.FEWER_SEEDS,
    )
    again = [
        one.body["messages"][-1]["content"]
        for one in asked
        if one.path == CHAT and len(one.body["messages"]) == 4
    ]
    assert len(again) == 1
    assert (
        "<answer>yes</answer>\n<answer>no</answer>\n<answer>insufficient evidence</answer>"
        in again[0]
    )
    assert [event.kind for event in found.events if event.stage == "de"] == [
        "answer",
        "rejected",
        "answer",
        "answer",
        "verdict",
    ]
    assert (found.events[-1].meta["read"], found.events[-1].meta["asked"]) == (2, 3)


def test_if_no_sample_can_be_read_the_base_rate_stands_in_and_is_flagged() -> None:
    with canned(says(lambda *_: "<answer>A</answer>")) as (url, _):
        found = predict(METHOD, url)
        with pytest.raises(RowFailed) as failed:
            predict(METHOD, url, view=BLIND)
    # 5 of the 9 rows in view changed, 3 of them up
    assert (found.prediction.p_de, found.prediction.p_up_given_de) == (
        pytest.approx(5 / 9),
        pytest.approx(3 / 5),
    )
    assert found.prediction.flags == (Flag.NO_KNOWLEDGE, Flag.DE_FALLBACK, Flag.DIR_FALLBACK)
    assert [event.meta["fallback"] for event in found.events if event.kind == "verdict"] == [
        True,
        True,
    ]
    assert isinstance(failed.value.cause, NoBaseRates)


@pytest.mark.parametrize(
    ("task", "p_de", "p_up", "up", "flag"),
    [("de", 1.0, None, 0.5, Flag.NO_DIR), ("dir", 0.5, 1.0, 0.5, Flag.NO_DE)],
)
def test_one_question_alone(
    task: str, p_de: float, p_up: float | None, up: float, flag: Flag
) -> None:
    answers = {"de": "yes", "dir": "increase"}
    with canned(says(lambda _, stage: f"<answer>{answers[stage]}</answer>")) as (url, _):
        [found] = rows(url, KNOWN, task=task)
    prediction = found.prediction
    assert (prediction.p_de, prediction.p_up_given_de, prediction.prediction_up) == (p_de, p_up, up)
    assert prediction.prediction_up + prediction.prediction_down == p_de
    assert prediction.flags == (flag,)
    assert {event.stage for event in found.events} == {"summarise", "retrieve", task}


def test_without_retrieval_nobody_sees_a_label_and_without_a_chain_of_thought_there_is_one_question() -> (
    None
):
    with serving() as url:
        [neither] = rows(url, KNOWN, retrieval="no", chain_of_thought="no")
        [alone] = rows(url, KNOWN, retrieval="no")
    assert {event.stage for event in neither.events} == {"summarise", "de", "dir"}
    asked = [prompt(call) for call in neither.calls if call.stage == "de"]
    assert all(
        "Measured outcomes" not in text
        and "\n1. " not in text
        and "Reply with one of these" in text
        for text in asked
    )
    assert all("\n1. " in prompt(call) for call in alone.calls if call.stage == "de")


@pytest.mark.soak
def test_a_gene_is_summarised_once_however_many_rows_are_in_flight() -> None:
    pairs = [
        pair(f"{pert}_{gene}", None, "test")
        for pert in ("Stat1", "Irf1")
        for gene in ("Il6", "Cxcl10", "Cdkn1a")
    ]
    with serving() as url:
        found = rows(url, *pairs)
        asked = request_counts(url)[CHAT]
    calls = [call for row in found for call in row.calls if call.stage == "summarise"]
    # Stat1: 2; Irf1: 1, it has no entry; Il6: 1; Cxcl10: 2; of Cdkn1a nothing is known.
    assert len({call.key for call in calls}) == 2 + 1 + 1 + 2
    assert sum(not call.cached for call in calls) == 6
    assert asked == 6 + 6 * len(pairs)
    assert [Flag.NO_KNOWLEDGE in row.prediction.flags for row in found] == [False, False, True] * 2
    by_key = Counter((call.key, call.prompt_tokens, call.reply) for call in calls)
    assert len(by_key) == 6  # every row has the same exchange, whoever made it


def test_packs_of_another_organism_know_a_gene_by_its_ortholog() -> None:
    packs = replace(
        PACKS,
        orthologs={"Ifi209": "IFI16", "Stat1": "STAT1"},
        descriptions={"Ifi209": "Senses DNA.", "Stat1": "Signal transducer."},
        edges=[("Ifi209", "Stat1", 950)],
    )
    with serving() as url:
        [found] = rows(url, pair("IFI16_STAT1", None, "test"), packs=packs)
    assert Flag.NO_KNOWLEDGE not in found.prediction.flags
    assert "Gene: IFI16" in prompt(found.calls[0])
    assert "Senses DNA." in prompt(found.calls[0])
    [shown] = [event for event in found.events if event.kind == "for the effect"]
    # Its ortholog's neighbour Stat1 was perturbed in two labelled rows.
    assert shown.meta["pairs"] == {"close perturbation, any gene": 2}


def test_without_packs_every_row_says_that_nothing_is_known() -> None:
    with serving() as url:
        [found] = rows(url, KNOWN, packs=Packs())
    assert found.prediction.flags[0] == Flag.NO_KNOWLEDGE
    assert [event.kind for event in found.events if event.stage == "summarise"] == [
        "nothing known"
    ] * 2
    assert "Nothing is known of it beyond its name." in prompt(found.calls[0])


def test_the_texts_of_prompts_belong_to_a_runs_identity() -> None:
    variants = (
        {},
        {"context": "rpe1"},
        {"retrieval": "no"},
        {"chain_of_thought": "no"},
        {"task": "de"},
    )
    assert (
        len({METHOD.prompts(read_options(METHOD.settings, options)) for options in variants}) == 5
    )
    with pytest.raises(InputError, match="seeds: got 'x'"):
        METHOD.prompts(read_options(METHOD.settings, {"seeds": "x"}))
    assert METHOD.calls(read_options(METHOD.settings, {"task": "dir", "seeds": "1"})) == 5
