"""The result of asking a model for the name of a screen, in words and as JSON."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

from core.experiments.screen_names import SPELLED, NamedField, NamedScreen
from core.methods.screen_question import FIELDS
from core.texts import number_text, printable, shorten

_MOST_SHOWN, _LONGEST_SHOWN = 3, 400  # number of replies, and characters of each
NOT_ASKED = "The model was not asked to name the screen yet; repeat the command or use the form."


def questions_sentence(questions: int) -> str:
    """Return a sentence on the number of extra calls that ask for the name of the screen; "" for none."""
    return f" {questions} more calls ask which screen the rows are from." if questions else ""


def screen_verdict(found: NamedScreen) -> str:
    """Return a sentence on whether the model can name the screen, judged by its answers."""
    remembered = [each.name for each in found.fields if each.is_remembered]
    if remembered:
        return f"The model names the screen by its genes: {', '.join(remembered)}."
    asked = [each for each in found.fields if each.n and each.name != SPELLED]
    if not asked:
        return "Whether the model can name the screen is unknown: its prompts contain all recorded facts about the data set."
    if any(each.named for each in asked):
        return "The model names facts about the screen, but perhaps not by its genes: codes instead of genes may work as well."
    return "The model does not name the screen. It may know it nevertheless."


def screen_lines(found: NamedScreen) -> list[str]:
    """Return the answers as lines: the verdict, each field, and the literal replies."""
    if not found.saved.answers:
        return [NOT_ASKED]
    by_name = {each.name: each for each in found.fields}
    lines = [screen_verdict(found)]
    lines += [_field_sentence(by_name[name]) for name in FIELDS if name in by_name]
    unknown = [name for name in FIELDS if name not in by_name]
    if unknown:
        given = f"add known facts with (--screen {unknown[0]}=…)"
        lines.append(f"{', '.join(unknown)}: unknown, because the data set does not record it; {given}.")
    lines += [f"With {what}: {text}" for coded, what in ((False, "names"), (True, "codes")) for text in _replies(found, coded)]
    failed = [answer for answer in found.saved.answers if answer.error]
    if failed:
        lines.append(
            f"{len(failed)} of {len(found.saved.answers)} questions got no answer ({failed[0].error}); repeat the command to "
            "ask them."
        )
    return lines


def _field_sentence(each: NamedField) -> str:
    title = f"{each.name} ({' or '.join(each.known)})"
    if not each.n:
        return f"{title}: not judged, because the rows' texts reveal it."
    counts = f"named in {each.named} of {each.n} questions with names, in {each.coded} with codes"
    if each.name == SPELLED:
        return f"{title}: {counts}; not judged, because the spelling of symbols reveals it."
    return f"{title}: {counts}, p after Holm {number_text(each.p_holm, '.4f')}."


def _replies(found: NamedScreen, coded: bool) -> list[str]:
    said = list(found.count_replies(coded=coded).items())
    shown = [f"“{shorten(printable(text), _LONGEST_SHOWN)}” ({n} time{'s' * (n != 1)})" for text, n in said[:_MOST_SHOWN]]
    return [*shown, f"and {len(said) - _MOST_SHOWN} other answers"] if len(said) > _MOST_SHOWN else shown


def screen_json(found: NamedScreen) -> dict[str, Any] | None:
    """Return the answers as plain data; None before the model was asked."""
    if not found.saved.answers:
        return None
    shown = {each.name: _field(each) for each in found.fields}
    return {
        "verdict": screen_verdict(found),
        "fields": shown,
        "cannot_be_known": [name for name in FIELDS if name not in shown or not shown[name]["n"]],
        "answers": [asdict(answer) for answer in found.saved.answers],
    }


def _field(each: NamedField) -> dict[str, Any]:
    numbers = {name: value for name, value in asdict(each).items() if name != "name"}
    return {name: None if isinstance(value, float) and math.isnan(value) else value for name, value in numbers.items()} | {
        "remembered": each.is_remembered
    }
