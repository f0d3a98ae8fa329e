"""Every command, option and argument that people may have in their scripts is still there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from core.cli.base import app

# Each command of 24 November 2026 with its options and arguments.
EARLIER: dict[str, str] = json.loads((Path(__file__).parent / "options.json").read_text("utf-8"))


def command_of(words: list[str]) -> Any:
    """Return a command as the command line finds it."""
    command: Any = get_command(app)
    context = command.context_class(command, info_name="perturbdesk")
    for word in words:
        _, command, _ = command.resolve_command(context, [word])
        context = command.context_class(command, info_name=word, parent=context)
    return command


@pytest.mark.parametrize("name", sorted(EARLIER))
def test_a_command_has_the_options_that_it_had(name: str) -> None:
    there = {text for each in command_of(name.split()).params for text in (*each.opts, *each.secondary_opts)}
    assert set(EARLIER[name].split()) - there == set()
