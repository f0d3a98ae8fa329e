"""Every setting that a request declares: its option, its control on a form, its key in TOML, its JSON, its argument."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from core.base.errors import InputError
from core.base.experiment import Hypothesis
from core.base.fields.record import arguments_of, arguments_of_option, make, options_of, values_of
from core.base.fields.setting import Option, setting
from core.base.fields.toml_table import parse_toml
from core.cli.settings import Taken, option_help, taken_by
from core.features.arguments import readings
from core.features.arguments.readings import ReadingSettings
from core.features.arguments.rubric import Rubric
from core.features.arguments.rubric_tables import SampleRequest
from core.features.asking.askings import AgainRequest
from core.features.asking.question import Question
from core.features.cells.actions import LabelRequest
from core.features.cells.predictions import PredictionOptions
from core.features.cells.screen import LabelSettings
from core.features.experiments.kinds.file import (
    KEYS,
    FileArm,
    FileFolds,
    FileRows,
    parse_experiment,
)
from core.features.experiments.ledger_table import DecisionRule
from core.features.fuse.page import fusion_controls
from core.features.neighbours.space_settings import (
    CoresponseSettings,
    NetworkSettings,
    ResponseSettings,
    TextSettings,
)
from core.features.targets import actions as target_ranking
from core.features.targets.evaluate import (
    EvaluationRequest,
    RankingEvaluationRequest,
    RankingTableRequest,
    TrainingOptions,
    TrainingRequest,
)
from core.runs.component_requests import FusionRequest, KnnRequest
from core.runs.model_servers import ChangedSettings
from core.runs.request import RowSelection, RunRequest
from core.runs.workspace import Workspace
from core.transfer.knn_settings import KnnSettings
from tests import commands
from tests.features.targets import cases
from tests.ui.conftest import Visit
from tests.ui.setting_walk import check_form

COMMANDS = commands.every_command()
TAKEN = {
    name: taken
    for name, command in COMMANDS.items()
    if (taken := taken_by(command.callback)) is not None
}
RECORDS = {taken.record: name for name, taken in reversed(TAKEN.items())}
# Fields of records that are no settings, and values that go together with the rest.
OTHERS = {
    RunRequest: {"method": "m"},
    Question: {"pert": "p", "gene": "g"},
}
JSON_TEXTS = {"extra_body": '{"top_k": 3}', "extra_headers": '{"X-Title": "screen"}'}
ODD = {
    FusionRequest: {"w_de": (0.25, 0.5), "w_dir": (0.25, 0.5)},
    DecisionRule: {"smallest_effect": 0.25},
}


@dataclass(frozen=True)
class Form:
    """A form of a record. view: what its link says. owner: the beginning of its keys. left_out, from_data, by_name, titled: as of
    `check_form`. prepare: makes the workspace ready for it."""

    page: str
    view: Mapping[str, str]
    owner: str = ""
    left_out: Collection[str] = ()
    from_data: Collection[str] = ()
    by_name: bool = False
    titled: Collection[str] = ()
    prepare: Callable[[Workspace], object] = lambda _: None


def train(workspace: Workspace) -> None:
    target_ranking.create(workspace, TrainingRequest("small", models={"pca_knn": {}}))


def train_at_once(workspace: Workspace) -> None:
    with cases.registered():
        target_ranking.train(workspace, cases.request(), lambda _line: None)


def ask_people(workspace: Workspace) -> None:
    readings.add_rubric(workspace, Rubric("names-a-program", "Does the text name a program?"))


FORMS = {
    RunRequest: [
        Form(
            "run",
            {"method": "debate", "backend": "ray"},
            "",
            ("rows",),
            ("endpoint", "backend", "model"),
        )
    ],
    RowSelection: [
        Form("run", {"method": "debate", "launch_sample": "2"}, "launch_", (), ("split", "sample"))
    ],
    FusionRequest: [
        Form("run", {"method": "fusion"}, "option-fusion-", ("name",), by_name=True),
        Form(
            "fuse",
            {"run": "debate", "mix_name": ""},  # which opens the popover that asks for it
            "",
            fusion_controls.NOT_HERE,
            ("with",),
            titled=("with",),
        ),
    ],
    KnnRequest: [Form("run", {"method": "knn"}, "option-knn-", by_name=True)],
    KnnSettings: [
        Form("neighbours", {}, "", from_data=("spaces", "axis", "protocol")),
        Form("fuse", {"run": "debate"}, "", from_data=("spaces", "axis", "protocol")),
    ],
    LabelRequest: [
        Form("data", {"tab": "Import", "cells_backend": "ray"}, "cells_", from_data=("backend",))
    ],
    LabelSettings: [Form("data", {"tab": "Import"}, "cells_")],
    PredictionOptions: [Form("data", {"tab": "Import"}, "predicted_", from_data=("dataset",))],
    TrainingOptions: [Form("targets", {"tab": "Training"}, "", (), ("models",), prepare=train)],
    RankingEvaluationRequest: [Form("targets", {}, from_data=("ranking",), prepare=train_at_once)],
    RankingTableRequest: [Form("targets", {}, from_data=("ranking",), prepare=train_at_once)],
    Rubric: [Form("arguments", {"run": "debate"}, "note-rubric-", from_data=("roles", "stages"))],
    SampleRequest: [
        Form(
            "arguments",
            {"tab": "Label", "run": "debate"},
            "sample_",
            from_data=("sample",),
            prepare=ask_people,
        )
    ],
    DecisionRule: [],  # the command's alone
    Question: [Form("ask", {"answered_by": "server"}, "ask_", (), ("endpoint", "model"))],
    TextSettings: [Form("data", {"tab": "Spaces and leaks"}, "build_")],
    NetworkSettings: [
        Form(
            "data",
            {"tab": "Spaces and leaks", "build_kind": "neighbourhoods in a network"},
            "build_",
        )
    ],
    ResponseSettings: [
        Form(
            "data", {"tab": "Spaces and leaks", "build_kind": "a published LPS response"}, "build_"
        )
    ],
    CoresponseSettings: [
        Form(
            "data",
            {
                "tab": "Spaces and leaks",
                "build_kind": "genes with similar responses in this dataset",
            },
            "build_",
        )
    ],
}
# Whose pages another test opens, with the workspace that they need, and calls `check_form` there.
ELSEWHERE = {
    AgainRequest: "../features/asking/test_panel.py",
    EvaluationRequest: "../features/targets/test_targets.py",
    ChangedSettings: "../features/predicting/test_run_list.py",
    ReadingSettings: "../features/arguments/test_tabs.py",
}
# Records that only a file holds: tables of an experiment, each with values that go together with the rest.
TABLES = {
    "rows": (FileRows, {}),
    "folds": (FileFolds, {}),
    "hypothesis": (Hypothesis, {"arm": "tested"}),
}
FUSED = {"base": "control", "w_de": 0.25}
ARMS = [  # each kind of arm, with such values; None leaves one out
    ("run", {}),
    ("method", {}),
    ("base", {**FUSED, "with": "another run", "knn": None}),
    ("base", {**FUSED, "with": None, "knn": {"spaces": "near", "k": 3}}),
]
of_each_command = pytest.mark.parametrize("name", sorted(TAKEN))
of_each_record = pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.__name__)


def another(option: Option) -> Any:
    """A value that is not the default."""
    value = _another(option)
    assert value != option.default, option.name
    return value


def _another(option: Option) -> Any:
    if option.kind is Mapping:
        return {"a": "b"}
    if option.length:
        return tuple(reversed(option.default))
    if option.several and option.kind in (int, float):
        return (3, 4) if option.kind is int else (0.25,)
    if option.choices:
        other = next(choice for choice in option.choices if choice != option.default)
        return (other,) if option.several else other
    if option.kind in (int, float):
        low, high = option.lowest, option.highest
        numbers = [
            each
            for each in (3, 4, 0.25, low, high)
            if each is not None and _is_between(each, low, high)
        ]
        return next(
            option.kind(each)
            for each in numbers
            if each not in (option.default, option.kind is int and 0.25)
        )
    if option.kind is bool:
        return not option.default
    return ("other", "one more") if option.several else "other"


def _is_between(number: float, low: float | None, high: float | None) -> bool:
    return (low is None or low <= number) and (high is None or number <= high)


def beyond_range(option: Option) -> list[float]:
    """Numbers that a setting may not have."""
    if option.several or option.kind not in (int, float):
        return []
    if option.kind is int:
        return [
            end + step
            for end, step in ((option.lowest, -1), (option.highest, 1))
            if end is not None
        ]
    ends = ((option.lowest, -math.inf), (option.highest, math.inf))
    return [
        *(math.nextafter(end, far) for end, far in ends if end is not None),
        math.inf,
        -math.inf,
        math.nan,
    ]


def chosen(record: type, *, every: bool = True) -> dict[str, Any]:
    """Another value of every setting, or of flags, runs that have weights, and what has to be given alone."""
    options = [
        option
        for option in options_of(record)
        if every or option.kind is bool or option.about.names == "runs" or is_needed(record, option)
    ]
    odd = {**JSON_TEXTS, **ODD.get(record, {})}
    return {option.name: odd.get(option.name, another(option)) for option in options}


def is_needed(record: type, option: Option) -> bool:
    return any(taken.is_needed(option) for taken in TAKEN.values() if taken.record is record)


def make_other(record: type, *, every: bool = True) -> Any:
    return make(record, chosen(record, every=every), **OTHERS.get(record, {}))


def parameters_of(name: str) -> dict[str, Any]:
    return {option: parameter for parameter in COMMANDS[name].params for option in parameter.opts}


@of_each_command
def test_each_setting_is_an_option_with_its_default_range_and_help(name: str) -> None:
    there, taken = parameters_of(name), TAKEN[name]
    for option in taken.options:
        shown = there[option.option]
        assert shown.help == option_help(option)
        assert shown.required == taken.is_needed(option)
        if not option.about.metavar and not option.several and (option.range or option.choices):
            assert (option.range or "|".join(option.named_choices)) in shown.metavar
        if not taken.is_needed(option):
            usual = (
                None
                if option.is_repeated
                else ",".join(map(str, option.default))
                if option.several and not option.length
                else option.default
            )
            assert shown.default == (False if option.negates else usual)


@pytest.mark.parametrize("record", ELSEWHERE, ids=lambda record: record.__name__)
def test_a_form_of_another_test_is_checked_there(record: type) -> None:
    assert f"check_form({record.__name__}, " in (
        Path(__file__).parent / ELSEWHERE[record]
    ).read_text("utf-8")


@of_each_command
def test_an_option_that_says_no_begins_so(name: str) -> None:
    for option in TAKEN[name].options:
        assert option.option.startswith("--no-") == option.negates


def test_a_flag_that_is_true_by_default_has_an_option_that_says_no() -> None:
    option = Option("quiet", setting("Whether it is quiet."), bool, bool, True)
    assert option.option == "--no-quiet"
    assert option_help(option) == "Say no to what is so by default: whether it is quiet."
    assert replace(option, default=False).option == "--quiet"


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.__name__)
def test_a_range_holds_for_the_command_and_for_files(record: type) -> None:
    """What is beyond it, an excluded bound, and what is no finite number are refused wherever they come from."""
    for option in options_of(record):
        for beyond in beyond_range(option):
            with pytest.raises(
                InputError, match=f"{option.name}: got {re.escape(repr(beyond))}, expected "
            ) as refused:
                make(record, {**chosen(record), option.name: beyond}, **OTHERS.get(record, {}))
            assert str(refused.value).endswith(option.range)


@of_each_command
def test_what_is_beyond_a_range_is_said_of_the_option(name: str) -> None:
    for option in TAKEN[name].options:
        for beyond in beyond_range(option):
            values = {parameter.name: parameter.default for parameter in COMMANDS[name].params}
            values |= {f"{option.name}{'_' * (option.name not in values)}": str(beyond)}
            taken = Taken(TAKEN[name].record, (option,))
            with (
                pytest.raises(InputError, match=f"{option.option}: got .*, expected "),
                taken.name_options(),
            ):
                taken.pop(values)


@of_each_command
@pytest.mark.parametrize("every", [True, False])
def test_a_command_reads_the_arguments_of_a_record(name: str, every: bool) -> None:
    taken, command = TAKEN[name], COMMANDS[name]
    names = {option.name for option in taken.options}
    wanted = make_other(taken.record, every=every)
    others = [
        each
        for each in command.params
        if each.required and each.opts[0] not in {option.option for option in taken.options}
    ]
    words = ["x" if each.param_type_name == "argument" else f"{each.opts[0]}=x" for each in others]
    given = [
        word
        for option in taken.options
        for word in arguments_of_option(option, values_of(wanted)[option.name])
    ]
    read = taken.pop(command.make_context(name, [*words, *given]).params)
    assert read == {key: value for key, value in values_of(wanted).items() if key in names}
    if names == {
        option.name for option in options_of(taken.record) if option.about.where != "elsewhere"
    }:
        assert make(taken.record, read, **OTHERS.get(taken.record, {})) == wanted
        assert given == arguments_of(wanted)


@of_each_record
def test_json_and_toml_of_a_record_give_it_again(record: type) -> None:
    wanted, others = make_other(record), OTHERS.get(record, {})
    assert make(record, json.loads(json.dumps(values_of(wanted), default=str)), **others) == wanted
    assert parse_toml(as_toml(values_of(wanted)), "x").record(record, **others) == wanted


def test_a_rubric_is_read_from_its_file() -> None:
    values = {**chosen(Rubric), "answers": ("yes", "no")}  # which a pattern needs
    read = parse_toml(as_toml(values), "x").record(Rubric)
    assert values_of(read) == {**values_of(read), **values}


@pytest.mark.parametrize("table", TABLES)
def test_a_table_of_an_experiment_is_read_from_its_file(table: str) -> None:
    record, given = TABLES[table]
    values = {**chosen(record), **given}
    spec = parse_experiment(as_experiment({"run": "another run"}, f"[{table}]\n{as_toml(values)}"))
    assert values_of(getattr(spec, table)) == values


@pytest.mark.parametrize(("kind", "given"), ARMS)
def test_an_arm_of_an_experiment_is_read_from_its_file(kind: str, given: Mapping[str, Any]) -> None:
    every = {
        **chosen(FileArm),
        **JSON_TEXTS,
        "name": "tested",
        "against": "control",
        "several": True,
        **given,
    }
    values = {name: every[name] for name in KEYS[kind] if every[name] is not None}
    read = values_of(parse_experiment(as_experiment(values)).arm("tested"))
    assert read == {**read, **values}


def test_every_setting_of_an_arm_is_of_a_kind_of_arm() -> None:
    assert {name for names in KEYS.values() for name in names} == {
        option.name for option in options_of(FileArm)
    }


def as_experiment(arm: Mapping[str, Any], tables: str = "") -> str:
    """An experiment of two arms, of which one has these values, with further tables."""
    control, tested = (
        as_toml({"name": "control", "run": "a run"}),
        as_toml({"name": "tested", **arm}),
    )
    return f'name = "b"\nprimary = "DE"\nsmallest_effect = 0.02\n[[arms]]\n{control}\n[[arms]]\n{tested}\n{tables}'


def as_toml(values: Mapping[str, Any]) -> str:
    """The settings of a record as a person would write them."""
    return "\n".join(
        f"{name} = {_toml_value(value)}" for name, value in values.items() if value is not None
    )


def _toml_value(value: Any) -> str:
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{key} = {_toml_value(inner)}' for key, inner in value.items())}}}"
    return json.dumps(value, default=str)


@pytest.mark.few(4)
@pytest.mark.parametrize(
    ("record", "form"),
    [(record, form) for record, forms in FORMS.items() for form in forms],
    ids=lambda each: getattr(each, "__name__", getattr(each, "page", "")),
)
def test_each_setting_has_a_control_that_says_what_it_declares(
    record: type, form: Form, little_copy: Workspace, visit: Visit
) -> None:
    form.prepare(little_copy)
    shown, how = (
        visit(little_copy, form.page, **form.view),
        {"by_name": form.by_name, "titled": form.titled},
    )
    check_form(record, shown, form.owner, form.left_out, form.from_data, **how)  # type: ignore[arg-type]


def _numbers() -> None:
    import streamlit as st

    import core.ui.option_controls  # noqa: F401  # a page that shows settings imports it

    st.write(st.number_input("Seed", 0, value=3), st.number_input("Share", 0.0, value=0.5))


@pytest.mark.parametrize(
    ("sent", "taken"), [(7, "7 7.0"), (math.nan, "3 0.5"), (math.inf, "3 0.5"), (-1, "3 0.5")]
)
def test_what_is_no_number_is_the_default(sent: float, taken: str) -> None:
    app = AppTest.from_function(_numbers).run()
    for number in app.number_input:
        number.set_value(sent)
    app.run()
    assert "".join(each.value for each in app.markdown).replace("`", "") == taken
