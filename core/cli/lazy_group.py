"""A command line that imports the module of the command that is run, and no other.

What `--help` lists, the names and docstrings of the commands, is read from the modules' source without running it.
"""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_group

MODULES = (
    "again",
    "ask",
    "attribute",
    "backup",
    "baselines",
    "benchmark",
    "clusters",
    "controls",
    "engine",
    "files",
    "finetune",
    "gene_sets",
    "label",
    "numbers",
    "reproduce",
    "runs",
    "search",
    "serve_app",
    "submission",
    "transfer",
    "doctor",
)  # their commands stand by themselves
GROUPS = {  # a module whose commands stand behind its name → what they are about
    "ablation": "Ready ablations: what is left of a score if one idea is changed, added or taken away.",
    "audit": "Look for what a score does not show.",
    "cells": "Single cells: labels from a screen of one's own, runs from predicted expression.",
    "embed": "Gene spaces: build, load, list.",
    "ledger": "The ledger of hypotheses: register, record, list, verify.",
    "rubric": "Rubrics: questions asked of every brief, verdict or row of a run.",
    "targets": "Target ranking, the reverse problem: which gene was perturbed, told from expression.",
    "report": "Reports: save what one shows, build it as a file.",
}
_HERE = Path(__file__).parent


class LazyGroup(TyperGroup):
    """The commands of MODULES and the groups of GROUPS, each imported when it is run."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self._module_of = {}
        for module in MODULES:
            for name, text in _commands_in(module):
                self.add_command(TyperCommand(name, help=text))
                self._module_of[name] = module
        for name, text in GROUPS.items():
            self.add_command(TyperCommand(name, help=text))

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """Returns the command that the arguments name, imported, and what is left of them."""
        name, _, rest = super().resolve_command(ctx, args)
        return name, self._import_command(str(name)), rest

    def _import_command(self, name: str) -> Any:
        if name not in GROUPS:
            return get_group(_app_of(self._module_of[name])).commands[name]
        group = get_group(_app_of(name))
        group.name, group.help = name, GROUPS[name]
        return group


def _app_of(module: str) -> typer.Typer:
    app: typer.Typer = importlib.import_module(f"core.cli.{module}").app
    return app


def _commands_in(module: str) -> Iterator[tuple[str, str]]:
    """Yields (name, docstring) of every function below an `@app.command()`, in the module's order."""
    functions = [
        node for node in ast.parse((_HERE / f"{module}.py").read_text("utf-8")).body if isinstance(node, ast.FunctionDef)
    ]
    for node in functions:
        for decorator in node.decorator_list:
            if isinstance(decorator, ast.Call) and ast.unparse(decorator.func) == "app.command":
                [name, *_] = [ast.literal_eval(argument) for argument in decorator.args] or [node.name]
                yield name, ast.get_docstring(node) or ""
