from __future__ import annotations

import math
import re

import pytest

from core.llm.logprobs import LetterProbabilities, letter_probabilities
from core.llm.messages import TokenLogprob
from core.llm.parsing import Unparsed, label, probability
from core.llm.scripted_text import (
    ScriptedPrompt,
    answer_letters,
    find_genes,
    read_prompt,
    scripted_probabilities,
    tokenize,
    tokenize_answer,
    write_answer,
    write_brief,
    write_logprobs,
    write_wrong_format,
)
from core.types import Label

LETTER = "A) up\nB) down\nC) none\nReply with <answer>letter</answer>."


def prompts(text: str, n: int = 200) -> list[ScriptedPrompt]:
    return [read_prompt({"messages": [{"role": "user", "content": text}], "seed": seed}, 0) for seed in range(n)]


def test_what_a_rubric_is_about_is_no_format() -> None:
    """The text that is read may hold options and formats of any kind; what is asked stands behind it."""
    read = "C) none\n<prob>NN</prob>\n<answer>yes</answer> <answer>perhaps</answer>"
    asked = f"<text-0123abcd>\n{read}\n</text-0123abcd>\nIs it?\nA) yes\nB) no\nReply with <answer>X</answer>"
    assert answer_letters(asked) == ("A", "B")
    for prompt in prompts(asked, 20):
        assert re.fullmatch("<answer>[AB]</answer>", write_answer(prompt))


def test_the_format_is_the_prompt_s() -> None:
    for prompt in prompts(LETTER):
        assert re.fullmatch("<answer>[ABC]</answer>", write_answer(prompt))
    for prompt in prompts("How likely? Reply with <prob>NN</prob>."):
        assert isinstance(probability(write_answer(prompt)), float)
    for prompt in prompts("End with a line such as Answer: A"):
        assert label(write_answer(prompt)) in Label
    for prompt in prompts("Reply with <answer>X</answer>. No, rather with <prob>NN</prob>.", 5):
        assert isinstance(probability(write_answer(prompt)), float)
    words = "1. Who?\n2. Why?\n<answer>yes</answer>\n<answer>no</answer>\n<answer>insufficient evidence</answer>"
    found = [write_answer(prompt).splitlines() for prompt in prompts(words)]
    assert {lines[-1] for lines in found} == set(words.splitlines()[2:])
    assert {(len(lines), lines[0][:2], lines[1][:2]) for lines in found} == {(3, "1.", "2.")}
    assert "summary of Cbfb; no model wrote it" in write_answer(prompts("Gene: Cbfb\n\nSummarise Cbfb as a gene.")[0])
    said = write_answer(prompts("Argue that knockdown of Cbfb changes the expression of Mmp14.")[0])
    assert said.count(". ") + said.endswith(".") >= 3
    assert said.count("Cbfb") >= 2
    assert said.count("Mmp14") >= 2
    assert "no model wrote it" in said


def test_what_an_answer_depends_on() -> None:
    def draw(seed: int, own: int, role: str = "user", text: str = "x", **more: object) -> float:
        return read_prompt({"messages": [{"role": role, "content": text}], "seed": own, **more}, seed).draw("d")

    first = draw(0, 1)
    assert first == draw(0, 1, max_completion_tokens=7, logprobs=True)  # not on these
    assert len({first, draw(1, 1), draw(0, 2), draw(0, 1, "system"), draw(0, 1, text="y")}) == 5
    assert 0 <= first < 1


def test_turns_of_the_model_set_no_format() -> None:
    messages = [{"role": "user", "content": "Argue for Cbfb on Mmp14."}, {"role": "assistant", "content": "<prob>3</prob>"}]
    assert write_answer(read_prompt({"messages": messages}, 0)).startswith("This is a scripted brief")


@pytest.mark.parametrize(
    ("prompt", "offered"),
    [
        (LETTER, ("A", "B", "C")),
        ("A) change\nB) none", ("A", "B")),
        ("<answer>A</answer> or <answer>B</answer>", ("A", "B")),
        ("Which?", ("A", "B", "C")),
        ("A) only one", ("A", "B", "C")),
    ],
)
def test_letters_on_offer(prompt: str, offered: tuple[str, ...]) -> None:
    assert answer_letters(prompt) == offered


@pytest.mark.soak
def test_answers_follow_their_odds() -> None:
    found = prompts(LETTER, 3000)
    expected = sum(scripted_probabilities(prompt)["A"] for prompt in found)
    answered = sum(write_answer(prompt) == "<answer>A</answer>" for prompt in found)
    assert all(math.isclose(sum(scripted_probabilities(prompt).values()), 1) for prompt in found[:10])
    # Independent draws with probabilities p have variance Σ p (1 − p) ≤ n / 4, so five standard errors are 137.
    assert abs(answered - expected) < 5 * math.sqrt(3000 / 4)


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        ("Perturbation: Cbfb\nTarget gene: Mmp14", ("Cbfb", "Mmp14")),
        ("Does knocking down Cbfb change the expression of Mmp14?", ("Cbfb", "Mmp14")),
        ("You argue that knockdown of `Rprd2` has an effect on `9930111J21Rik2`.", ("Rprd2", "9930111J21Rik2")),
        ("Stat1 and Gbp2", ("Stat1", "Gbp2")),
        ("Tell me a story.", ("the perturbed gene", "the measured gene")),
    ],
)
def test_genes_in_a_prompt(prompt: str, expected: tuple[str, str]) -> None:
    assert find_genes(prompt) == expected
    assert all(name in write_brief(*expected) for name in expected)


@pytest.mark.parametrize("text", ["<answer>A</answer>", "Well, <prob>45</prob>.\n", "Ünïcode – 1.5 → 2", ""])
def test_no_cut_loses_a_character(text: str) -> None:
    assert "".join(tokenize(text)) == text
    assert all("".join(tokenize_answer(text, prompt)) == text for prompt in prompts("x", 20))


def test_wrong_formats_hold_no_answer() -> None:
    said = {write_wrong_format(prompt) for prompt in prompts("x")}
    assert len(said) == 4
    for text in said:
        assert isinstance(label(text), Unparsed)
        assert isinstance(probability(text), Unparsed)


def test_logprobs_say_the_odds_however_the_text_is_cut() -> None:
    cuts = set()
    for prompt in prompts(LETTER, 60):
        said = tokenize_answer(write_answer(prompt), prompt)
        cuts.add(tuple(re.sub("[ABC]", "A", piece) for piece in said))
        given = write_logprobs(said, prompt, 20)
        plain = [
            TokenLogprob(one["token"], one["logprob"], tuple((o["token"], o["logprob"]) for o in one["top_logprobs"]))
            for one in given
        ]
        found = letter_probabilities(plain)
        assert isinstance(found, LetterProbabilities)
        assert found.probabilities == pytest.approx(scripted_probabilities(prompt))
        assert all(len(one["top_logprobs"]) <= 20 and one["logprob"] < 0 for one in given)
    assert len(cuts) == 3
