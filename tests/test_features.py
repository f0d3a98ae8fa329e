"""What features bring: each string names something, of the form that its hook is called with."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path

import pytest
import typer

from core.base.feature import CALLED, IN_RECORDS, OBJECTS, Feature, Page, resolve
from core.features import NAMES, features
from tests.test_imports import FILES, parsed

SHOWN = {"pages": "ShowPage", "tabs": "ShowTab"}
FOLDER = Path(__file__).parent.parent / "core" / "features"


def misfits(feature: Feature) -> list[str]:
    """What is wrong with the strings of a feature, a line each."""
    wrong = []
    for hook, reference in feature.references():
        try:
            named = resolve(reference)
        except (ImportError, AttributeError, ValueError) as error:
            wrong.append(f"{hook} {reference}: {error}")
            continue
        if hook == "commands":
            fits = isinstance(named, typer.Typer)
        elif hook in OBJECTS:
            kind = resolve(OBJECTS[hook])
            members = {*getattr(kind, "__annotations__", {}), *vars(kind)} - {
                "__doc__",
                "__module__",
            }
            fits = all(hasattr(named, name) for name in members if not name.startswith("_"))
        else:
            wanted = inspect.signature((CALLED | IN_RECORDS)[hook].__call__)
            fits = (
                callable(named)
                and [*inspect.signature(named).parameters] == [*wanted.parameters][1:]
            )
        if not fits:
            wrong.append(f"{hook} {reference}: is not called as the hook is")
    return wrong


@pytest.mark.parametrize("name", NAMES)
def test_every_string_names_what_its_hook_calls(name: str) -> None:
    assert misfits(features()[name]) == []


def show_nothing(context: object) -> None:
    """A tab."""


def test_a_string_that_names_nothing_or_something_else_is_found() -> None:
    here = "tests.test_features"
    bad = Feature(
        "bad",
        "",
        concerns=(f"{here}:show_nothing",),
        keepers=(f"{here}:no_such",),
        jobs=(f"{here}:show_nothing",),
    )
    assert {line.partition(" ")[0] for line in misfits(bad)} == {"jobs", "keepers", "concerns"}


def test_every_folder_is_a_feature_and_is_listed() -> None:
    assert {path.parent.name for path in FOLDER.glob("*/feature.py")} == set(NAMES)
    assert [features()[name].name for name in NAMES] == list(NAMES)


def test_every_page_has_a_file() -> None:
    pages = [page for feature in features().values() for page in feature.pages]
    assert all(
        isinstance(page, Page) and (FOLDER.parent.parent / "pages" / f"{page.name}.py").exists()
        for page in pages
    )


def test_every_hook_is_asked_for() -> None:
    """What a feature brings under one that nobody asks for would be ignored without a word."""
    asked = {
        ast.literal_eval(node.args[0])
        for file in FILES
        for node in ast.walk(parsed(file))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in ("hooks", "references")
        and isinstance(node.args[0], ast.Constant)
    }
    by_name = {"upload_tasks"}  # looked up as `feature.upload_tasks`
    assert asked == {*CALLED, *OBJECTS} - by_name
