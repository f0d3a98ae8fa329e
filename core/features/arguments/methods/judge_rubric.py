"""Answers a rubric about the texts of another run: one question for each text, which a model
answers by a letter.

It predicts nothing. Each text has one event of kind "reading", with the stage and role of the text;
its meta holds `of_seq` (which text), `answer`, and `p`, the probability of the rubric's first
answer, where the server gives log-probabilities; and, if it was asked for and stands in the text,
the `passage` that decided the answer.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from string import ascii_uppercase
from typing import Annotated, Any, Literal, NamedTuple

from core.base.fields.record import identity_of
from core.base.fields.setting import setting
from core.base.records import parse
from core.base.types import Pair
from core.evidence.render import dossier
from core.features.arguments.rubric import Rubric
from core.features.arguments.schema import find_passage, take_passage
from core.features.arguments.text_reading import TextReading, mark
from core.llm.answers import Unread, read_option
from core.llm.logprobs import letter_probabilities
from core.llm.messages import Message, Reply
from core.methods.base import RowMethod, RowText, TextsOfRun
from core.methods.conversation import Messages, ask_letter_again
from core.methods.prompts import Effort, MaxTokens, fill, prompt_text

_PROMPTS = ("rubric", "rubric_task", "rubric_dossier", "rubric_example", "reask_letter")
_PASSAGE = "rubric_passage"


class RubricAnswer(NamedTuple):
    """What a model answers about a text.

    p: the probability of the rubric's first answer; None without log-probabilities. passage: what
    decided it, as it stands in the text; "" if none was asked for, or if it does not stand there.
    """

    answer: str
    p: float | None
    passage: str = ""


@dataclass(frozen=True)
class RubricSettings:
    """The options of a reading by a rubric."""

    rubric: Annotated[
        str,
        setting("The rubric as JSON, as the command `rubric run` and the page Arguments write it."),
    ] = ""
    run: Annotated[str, setting("The run whose texts are read.", names="run")] = ""
    answers: Annotated[
        Literal["logprobs", "letters"], setting("Whether log-probabilities are asked for.")
    ] = "logprobs"
    passage: Annotated[
        bool, setting("Whether the model also copies the sentence that decides its answer.")
    ] = False
    effort: Effort = ""
    max_tokens: MaxTokens = 2_000


class JudgeRubric(TextReading[RowText, RubricAnswer]):
    """One question about each text of a row, all asked concurrently; texts that make the same
    prompt are asked about once."""

    name = "judge_rubric"
    version = 2
    about = (
        "A model answers a rubric's question about each text of another run; it reads, and predicts"
        " nothing."
    )
    settings = RubricSettings

    def calls(self, options: Mapping[str, Any]) -> float:
        """Return the calls for a row with one text of each role that the rubric names; the run
        decides how many it has."""
        return max(len(self.rubric(options).roles), 1) if options["rubric"] else 1

    def prompts(self, options: Mapping[str, Any]) -> str:
        """Return every text of a prompt, apart from the pair, the rubric and the text that is
        read."""
        return "\n\n".join(
            map(prompt_text, (*_PROMPTS, _PASSAGE) if asks_for_passage(options) else _PROMPTS)
        )

    def rubric(self, options: Mapping[str, Any]) -> Rubric:
        """Return the rubric that is answered. Raise InputError if the options hold none."""
        return parse(Rubric, str(options["rubric"]), "rubric")

    def items(self, texts: Sequence[RowText], _options: Mapping[str, Any]) -> Sequence[RowText]:
        """Return the texts of a row."""
        return texts

    def question(
        self, texts: TextsOfRun, pair: Pair, item: RowText, options: Mapping[str, Any]
    ) -> Messages:
        """Return the question about a text."""
        return messages_of(
            self.rubric(options),
            pair,
            item,
            dossier_of(texts, pair),
            passage=asks_for_passage(options),
        )

    def read_reply(
        self, reply: Reply, item: RowText, options: Mapping[str, Any]
    ) -> RubricAnswer | Unread:
        """Return the answer of a reply."""
        return read_answer(
            self.rubric(options), reply, item.content if asks_for_passage(options) else None
        )

    def ask_again(self, problem: Unread, options: Mapping[str, Any]) -> str:
        """Return the second request for a letter."""
        return ask_letter_again(problem, list(letters_of(self.rubric(options))))

    def meta(self, _item: RowText, value: RubricAnswer) -> Mapping[str, object]:
        """Return the fields of an answer, but for those without a value."""
        return {name: field for name, field in value._asdict().items() if field not in (None, "")}


METHOD: RowMethod = JudgeRubric()


def reading_options(rubric: Rubric, run: str, **others: object) -> dict[str, object]:
    """Return the options of a reading of a run; the same rubric is always the same text."""
    return {"rubric": json.dumps(identity_of(rubric), sort_keys=True), "run": run, **others}


def asks_for_passage(options: Mapping[str, Any]) -> bool:
    """Return whether a reading's options ask for the sentence that decides; those of earlier
    readings do not know it."""
    return bool(options.get("passage"))


def letters_of(rubric: Rubric) -> Mapping[str, str]:
    """Return letter → answer, in the order of the rubric."""
    return dict(zip(ascii_uppercase, rubric.answers, strict=False))


def dossier_of(texts: TextsOfRun, pair: Pair) -> str:
    """Return the dossier that the writer of a row's texts saw, "" if the rubric does not ask for it
    or none is kept."""
    return dossier(texts.evidence.get(pair.pair_id, ()), pair).text


def messages_of(
    rubric: Rubric, pair: Pair, text: RowText, evidence: str, *, passage: bool = False
) -> Messages:
    """Return the question about a text; evidence: the dossier, "" for none; passage: whether the
    deciding sentence is asked for.

    What others wrote stands between marks.
    """
    letters = {answer: letter for letter, answer in letters_of(rubric).items()}
    shown = [
        fill(
            prompt_text("rubric_example"),
            mark=mark(example.text),
            content=example.text,
            answer=f"{letters[example.answer]}) {example.answer}",
        )
        for example in rubric.examples
    ]
    task = fill(
        prompt_text("rubric_task"),
        question=rubric.question.strip(),
        examples="\n\n".join(shown),
        pert=pair.pert,
        gene=pair.gene,
        source=_describe_source(rubric, text),
        dossier=(
            fill(prompt_text("rubric_dossier"), mark=mark(evidence), dossier=evidence)
            if evidence
            else ""
        ),
        mark=mark(text.content),
        content=text.content,
        answers="\n".join(f"{letter}) {answer}" for letter, answer in letters_of(rubric).items()),
    )
    asked = f"{task}\n\n{prompt_text(_PASSAGE)}" if passage else task
    return Message("system", prompt_text("rubric")), Message("user", asked)


def _describe_source(rubric: Rubric, text: RowText) -> str:
    if rubric.unit == "row":
        return "everything that was written about this pair"
    return (
        f"a {rubric.unit} of {text.role}, in the part {text.stage!r}"
        if text.stage
        else f"a {rubric.unit} of {text.role}"
    )


def read_answer(rubric: Rubric, reply: Reply, text: str | None = None) -> RubricAnswer | Unread:
    """Return the answer where it is marked as the answer, by its letter or in its own words.

    text: in which the passage has to stand that the reply copies; None if none was asked for.
    """
    letters = letters_of(rubric)
    # one letter may be another answer's
    in_words = {answer: answer for answer in rubric.answers if len(answer) > 1}
    reply, copied = (reply, "") if text is None else take_passage(reply)
    answer = read_option(reply.content, {**letters, **in_words})
    if isinstance(answer, Unread):
        return answer
    # Log-probabilities that belong to another letter than the answer give no probability.
    found = letter_probabilities(reply.logprobs or (), tuple(letters), reply.content)
    return RubricAnswer(
        answer,
        (
            None
            if isinstance(found, Unread) or letters[found.answered] != answer
            else found.probabilities[next(iter(letters))]
        ),
        find_passage(text or "", copied),
    )
