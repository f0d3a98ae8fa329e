"""A rubric: a question with a fixed set of answers about every brief, every verdict or every row of
a run; the answers of its rule or pattern, and their counts by role."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

from core.base.errors import InputError
from core.base.fields.record import identity_of, part
from core.base.fields.setting import setting
from core.base.hashes import sha256_of
from core.base.texts import check_name
from core.methods.brief_checks import ALL
from core.methods.text_rules.text import YES_NO, RuleText, Unit, rule_named, rules, yes_if

if TYPE_CHECKING:
    import pandas as pd


MOST_ANSWERS = 9  # one key each


@dataclass(frozen=True, slots=True)
class Example:
    """A text and its right answer."""

    text: Annotated[str, setting("A text.")]
    answer: Annotated[str, setting("The right answer for this text.")]


@dataclass(frozen=True, slots=True)
class Rubric:
    """A question about texts of a run.

    answers: the allowed answers; rates count the first ("yes"). unit: the kind of text; roles,
    stages: limit the texts, () for all. dossier: whether a model also sees the row's dossier. rule:
    the name of a rule of `core.methods.text_rules` that answers the question. pattern: a regular
    expression for RE2; the answer is yes if it matches, ignoring case. Without either, people and
    models answer the question.
    """

    name: Annotated[
        str, setting("The name of the rubric.", title="Name", missing="names-a-pathway")
    ]
    question: Annotated[
        str,
        setting(
            "The question about each text.",
            title="Question",
            missing="Does the brief name a pathway?",
        ),
    ]
    answers: Annotated[
        tuple[str, ...],
        setting(
            "The allowed answers; rates count the first.", title="Answers, with commas between"
        ),
    ] = YES_NO
    unit: Annotated[
        Unit,
        setting(
            "The kind of text that the question is about.",
            title="Asked of",
            words={
                "brief": "each brief",
                "speech": "each brief, rebuttal and verdict",
                "verdict": "each verdict",
                "row": "each whole row",
            },
        ),
    ] = "brief"
    roles: Annotated[
        tuple[str, ...],
        setting(
            "The roles whose texts are asked about; all by default.", title="Roles", missing="all"
        ),
    ] = ()
    stages: Annotated[
        tuple[str, ...],
        setting(
            "The stages whose texts are asked about; all by default.", title="Stages", missing="all"
        ),
    ] = ()
    examples: tuple[Example, ...] = part(())
    dossier: Annotated[
        bool,
        setting(
            "Whether a model also sees the row's dossier.",
            title="A model sees the row's dossier too",
        ),
    ] = False
    rule: str = ""
    pattern: Annotated[
        str,
        setting(
            "A regular expression, case ignored: the answer is yes if it matches. Without one,"
            " people and models answer.",
            title="Pattern (optional)",
            missing="pathway|signalling",
        ),
    ] = ""

    def __post_init__(self) -> None:
        check_name("rubric", self.name)
        if not self.question.strip():
            raise InputError(f"rubric {self.name}: has no question, expected a text")
        if not 2 <= len(self.answers) <= MOST_ANSWERS or len(set(self.answers)) < len(self.answers):
            got = ", ".join(self.answers) or "none"
            raise InputError(
                f"rubric {self.name}: answers are {got}; expected 2 to {MOST_ANSWERS} different"
                " ones"
            )
        if self.pattern and self.answers != YES_NO:
            raise InputError(
                f"rubric {self.name}: a pattern answers yes or no, got {', '.join(self.answers)}"
            )
        unknown = next(
            (each.answer for each in self.examples if each.answer not in self.answers), None
        )
        if unknown is not None:
            raise InputError(
                f"rubric {self.name}: an example's answer is {unknown!r}, expected"
                f" {', '.join(self.answers)}"
            )
        if self.pattern:
            search_pattern(self.pattern, [""], f"rubric {self.name}")

    json_properties = ("judge", "built_in")

    @property
    def judge(self) -> Literal["rule", "model"]:
        """What answers the question."""
        return "rule" if self.is_answered_by_rule else "model"

    @property
    def built_in(self) -> bool:
        """Whether the rubric comes with PerturbDesk."""
        return bool(self.rule)

    @property
    def is_answered_by_rule(self) -> bool:
        """Whether a rule or a pattern answers the question."""
        return bool(self.rule or self.pattern)

    def answer_or_first(self, answer: str | None) -> str:
        """Return the answer, by default the first. Raise InputError if it is not one of the
        rubric's."""
        if answer is not None and answer not in self.answers:
            raise InputError(
                f"rubric {self.name}: answer {answer!r}, expected one of {', '.join(self.answers)}"
            )
        return answer or self.answers[0]

    @property
    def sha256(self) -> str:
        """Hash of the content: two rubrics with the same hash ask the same question."""
        return sha256_of(json.dumps(identity_of(self), sort_keys=True))


_ROLES = ("EFFECT", "NULL", "UP", "DOWN", "JUDGE")


def roles_in_order(roles: Iterable[str]) -> list[str]:
    """Return the different roles in the order of a debate, others after them by name; without "",
    that of a whole row."""
    return sorted(
        set(roles) - {""},
        key=lambda role: (_ROLES.index(role) if role in _ROLES else len(_ROLES), role),
    )


def count_answers(rubric: Rubric, readings: pd.DataFrame) -> dict[str, dict[str, Any]]:
    """Return role → n, yes, rate, answers, unanswered; the roles in the order of a debate, then all
    of them as ALL.

    readings: role and answer, one row per text; the role of a whole row is "", which is not listed.
    n: number of answered texts. yes: number of texts with the rubric's first answer; rate: their
    share (NaN without texts). answers: answer → number of texts. unanswered: number of texts with
    an unreadable answer or without an answer from the rule.
    """
    by_role = {
        role: readings.loc[readings["role"] == role, "answer"]
        for role in roles_in_order(readings["role"])
    }
    return {
        role: _count(rubric, answers)
        for role, answers in {**by_role, ALL: readings["answer"]}.items()
    }


def _count(rubric: Rubric, answers: pd.Series[str]) -> dict[str, Any]:
    counts = {answer: int((answers == answer).sum()) for answer in rubric.answers}
    n, yes = sum(counts.values()), counts[rubric.answers[0]]
    return {
        "n": n,
        "yes": yes,
        "rate": yes / n if n else float("nan"),
        "answers": counts,
        "unanswered": len(answers) - n,
    }


# Regular expressions from users are searched with RE2 (from pyarrow), which never takes exponential
# time. It supports neither back-references nor look-ahead and look-behind:
# https://github.com/google/re2/wiki/Syntax.
def search_pattern(pattern: str, texts: Sequence[str], where: str) -> list[bool]:
    """Return whether each text matches a pattern, ignoring case. Raise InputError, starting with
    `where`, for a pattern that RE2 cannot search."""
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        return list(
            pc.match_substring_regex(
                pa.array(texts, pa.string()), pattern, ignore_case=True
            ).to_pylist()
        )
    except (pa.ArrowInvalid, UnicodeEncodeError) as error:
        why = str(error).removeprefix("Invalid regular expression: ")
        raise InputError(
            f"{where}: pattern {pattern!r}: {why}; expected a regular expression for RE2, without"
            " look-ahead, look-behind and back-references"
        ) from error


# columns of texts, as rules read them
_PLAIN = ("content", "role", "stage", "pair_id", "pert", "gene", "has_dossier")


def rubrics_of_rules() -> list[Rubric]:
    """Return the rubrics of all rules, by name."""
    return [
        Rubric(rule.name, rule.question, rule.answers, unit=rule.unit, rule=rule.name)
        for rule in rules().values()
    ]


def answer_by_rule(rubric: Rubric, texts: pd.DataFrame) -> pd.DataFrame:
    """Answer a rubric by its rule or pattern: pair_id, seq, role, stage, answer, p, one row per
    text, in order.

    texts: from `core.features.arguments.rubric_tables.texts`. answer is "" if the rule has none; p
    is NaN. Raise InputError for a rubric without a rule and without a pattern, and for an answer
    that the rubric does not list.
    """
    if not rubric.is_answered_by_rule:
        raise InputError(
            f"rubric {rubric.name}: has neither rule nor pattern, expected one; a model can"
            " answer it"
        )
    if rubric.rule:
        answer = rule_named(rubric.rule).answer
        answers = [answer(text) for text in _rule_texts(texts)]
    else:
        found = search_pattern(rubric.pattern, texts["content"].tolist(), f"rubric {rubric.name}")
        answers = [yes_if(each) for each in found]
    unknown = set(answers) - {*rubric.answers, ""}
    if unknown:
        raise InputError(
            f"rubric {rubric.name}: its rule answers {min(unknown)!r}, expected"
            f" {', '.join(rubric.answers)}"
        )
    asked = texts[["pair_id", "seq", "role", "stage"]].reset_index(drop=True)
    return asked.assign(answer=answers, p=float("nan"))


def _rule_texts(texts: pd.DataFrame) -> Iterator[RuleText]:
    """Yield the rows of `core.features.arguments.rubric_tables.texts`."""
    for row in texts.to_dict("records"):
        briefs = tuple((each["role"], tuple(each["findings"])) for each in row["briefs"])
        plain: dict[str, Any] = {name: row[name] for name in _PLAIN}
        yield RuleText(
            **plain, findings=tuple(row["findings"]), flags=tuple(row["flags"]), briefs=briefs
        )
