"""The options of commands that ask a model to read texts, where a command asks none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import typer

from core.actions.reading_settings import ReadingSettings
from core.fields.record import options_of


def refuse_model_options(chosen: Mapping[str, Any], why: str, *, detach: bool) -> None:
    """Raise BadParameter for the first option for asking a model that is not at its default, since it would have no effect.

    chosen: the command's settings by name. why: no model is asked, and what to do instead. detach: whether --detach was given.
    """
    for option in [*model_options(chosen), *(["--detach"] if detach else [])]:
        raise typer.BadParameter(why, param_hint=option)


def model_options(chosen: Mapping[str, Any]) -> list[str]:
    """Return the options for asking a model that are not at their defaults. chosen: the command's settings by name."""
    return [option.option for option in options_of(ReadingSettings) if chosen[option.name] != option.default]
