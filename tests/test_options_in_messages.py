"""Every message that names an option names one that a command has: the command it names, those that may say it, or any."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from typer.main import get_command

from core.cli.base import app
from tests.commands import every_command, options_of

CORE = Path(__file__).resolve().parent.parent / "core"
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*[a-z]")
NAMED = re.compile(r"(?:perturbdesk |`)(?:perturbdesk )?([a-z-]+(?: [a-z-]+)?)([^`,;]*)")
# Options of other programs: Streamlit, vLLM, a browser, and the scripted server by itself.
OTHER_PROGRAMS = {"ui/start.py", "features/predicting/serve.py", "plots/export.py"}
OTHER_COMMANDS = ("vllm serve", "Options of vLLM", "ray start", "pip install")
CELLS = {"cells describe", "cells labels", "cells predictions", "targets train"}
PREDICTED = {"cells predictions"}
# Modules whose messages several commands may end with; each of these has to have the option.
SAID_BY = {
    "features/cells/columns.py": CELLS,
    "features/cells/conditions.py": CELLS,
    "features/cells/anndata_file.py": CELLS,
    "features/cells/scales.py": PREDICTED,
    "features/cells/predicted_expression.py": PREDICTED,
    "features/cells/predicted_table.py": {"cells predictions"},
    "features/cells/confounders.py": {"cells labels"},
    "features/cells/labels.py": {"cells labels"},
    "features/cells/groups.py": {"cells labels"},
    "features/importing/spaces/tables.py": {"embed load"},
    "features/targets/expression.py": {"targets train"},
}


@cache
def options_of_commands() -> dict[str, set[str]]:
    """Each command's options."""
    found = {"": get_command(app), **every_command()}
    return {name: options_of(command) | {"--help"} for name, command in found.items()}


def texts_of(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield the line and the text of each string that is no docstring, with … for what is filled in."""
    inside = {
        id(part)
        for node in ast.walk(tree)
        if isinstance(node, ast.JoinedStr)
        for part in ast.walk(node)
        if part is not node
    }
    inside |= {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if id(node) in inside:
            continue
        if isinstance(node, ast.JoinedStr):
            yield (
                node.lineno,
                "".join(
                    str(part.value) if isinstance(part, ast.Constant) else "…"
                    for part in node.values
                ),
            )
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value


def options_in(text: str) -> Iterator[tuple[str, str]]:
    """Yield each option that a message names, and the command beside it, "" for none."""
    commands = options_of_commands()
    for option in OPTION.finditer(text):
        before = [
            match for match in NAMED.finditer(text) if match.start() <= option.start() < match.end()
        ]
        words = before[-1][1] if before else ""
        named = next((name for name in (words, words.partition(" ")[0]) if name in commands), "")
        if option[0] != "--no":  # the begin of one
            yield option[0], named


def messages() -> list[tuple[str, int, str]]:
    """Return module, line and text of every message with an option in it."""
    found = []
    for path in sorted(CORE.rglob("*.py")):
        module = path.relative_to(CORE).as_posix()
        if module in OTHER_PROGRAMS:
            continue
        for line, text in texts_of(ast.parse(path.read_text("utf-8"))):
            is_message = (
                " " in text.strip()
                and "var(--" not in text
                and not any(each in text for each in OTHER_COMMANDS)
            )
            if is_message and OPTION.search(text):
                found.append((module, line, text))
    return found


def missing_in(module: str, text: str) -> list[str]:
    """Return the options of a message that a command lacks which should have them."""
    commands = options_of_commands()
    found = []
    for option, named in options_in(text):
        wanted = {named} if named else SAID_BY.get(module, set())
        lacking = sorted(command for command in wanted if option not in commands[command])
        if lacking or not any(option in options for options in commands.values()):
            found.append(f"{option} ({', '.join(lacking) or 'any command'})")
    return found


@pytest.mark.soak
def test_every_option_in_a_message_is_one_of_its_command() -> None:
    found = messages()
    assert len(found) > 60
    assert SAID_BY.keys() <= {path.relative_to(CORE).as_posix() for path in CORE.rglob("*.py")}
    wrong = {
        f"core/{module}:{line}": missing
        for module, line, text in found
        if (missing := missing_in(module, text))
    }
    assert wrong == {}
