"""Every setting that a request declares: its option, its control on a form, its argument."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest
import typer
from streamlit.testing.v1 import AppTest
from typer.main import get_command
from typer.testing import CliRunner

from core.actions.workspace import Workspace
from core.cells.screen import LabelSettings
from core.cli.base import app
from core.cli.settings import takes
from core.engine.request import RunRequest
from core.fields.option import Option
from core.fields.record import arguments_of, make, options_of, values_of
from tests.ui.conftest import Visit

COMMANDS = {RunRequest: ("run",), LabelSettings: ("cells", "labels")}
FORMS = {  # page, the begin of its keys, and what its link says
    RunRequest: ("launch", "", {"method": "debate", "backend": "ray"}),
    LabelSettings: ("data", "cells_", {"tab": "Cells"}),
}


def another(option: Option) -> Any:
    """A value that is not the default."""
    if option.kind == "choice":
        return next(choice for choice in option.choices if choice != option.default)
    if option.kind == "numbers":
        return tuple(reversed(option.default))
    if option.kind in ("int", "float"):
        return type(option.default or 0)(3) if option.most is None or option.most >= 3 else 0.25
    return not option.default if option.kind == "flag" else "other"


def parameters_of(words: tuple[str, ...]) -> dict[str, Any]:
    command: Any = get_command(app)
    for word in words:
        command = command.import_command(word) if hasattr(command, "import_command") else command.commands[word]
    return {option: parameter for parameter in command.params for option in parameter.opts}


@pytest.mark.parametrize("record", COMMANDS, ids=lambda record: record.__name__)
def test_each_setting_is_an_option_with_its_default_and_help(record: type) -> None:
    there = parameters_of(COMMANDS[record])
    for option in options_of(record):
        assert option.not_on_command or option.option in there, option.name
        if not option.not_on_command:
            assert there[option.option].help == option.help
            assert there[option.option].default == (False if option.negates else option.default)


@dataclass(frozen=True)
class Holder:
    """A command that keeps what it was given."""

    record: type
    given: list[dict[str, Any]] = field(default_factory=list)

    def app(self) -> typer.Typer:
        made = typer.Typer()

        @made.command()
        @takes(self.record)
        def command(chosen: dict[str, Any]) -> None:
            self.given.append(chosen)

        return made


@pytest.mark.parametrize("record", COMMANDS, ids=lambda record: record.__name__)
@pytest.mark.parametrize("name", [None, "all"])
def test_arguments_of_a_record_give_it_again(record: type, name: str | None) -> None:
    others: dict[str, Any] = {"method": "m"} if record is RunRequest else {}
    chosen = {option.name: another(option) for option in options_of(record) if name or option.kind == "flag"}
    wanted = make(record, chosen, **others)
    holder = Holder(record)
    done = CliRunner().invoke(holder.app(), arguments_of(wanted))
    assert done.exit_code == 0, done.output
    assert make(record, holder.given[0], **others) == wanted
    assert holder.given[0] == values_of(wanted)


def keys_of(shown: AppTest) -> set[str]:
    kinds = ("text_input", "number_input", "selectbox", "toggle", "text_area", "multiselect")
    return {str(widget.key).removeprefix("id-") for kind in kinds for widget in shown.get(kind)}


@pytest.mark.parametrize("record", COMMANDS, ids=lambda record: record.__name__)
def test_each_setting_has_a_control_or_a_reason_for_none(record: type, demo_copy: Workspace, visit: Visit) -> None:
    page, owner, parameters = FORMS[record]
    there = keys_of(visit(demo_copy, page, **parameters))
    missing = {option.name for option in options_of(record) if f"{owner}{option.key or option.name}" not in there}
    assert missing == {option.name for option in options_of(record) if option.not_on_form}
