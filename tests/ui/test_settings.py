"""Every setting that a request declares: its option, its control on a form, its key in TOML, its JSON, its argument."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field
from typing import Any

import pytest
import typer
from typer.main import get_command
from typer.testing import CliRunner

from core.actions import target_ranking
from core.actions.ask_again import AgainRequest
from core.actions.attribution import AttributionRequest
from core.actions.cell_evaluation import EvaluationOptions
from core.actions.cell_predictions import PredictionOptions
from core.actions.changed_settings import ChangedSettings
from core.actions.contamination import ContaminationRequest
from core.actions.derived_runs import KnnRequest
from core.actions.finetunes import FinetuneRequest
from core.actions.workspace import Workspace
from core.audit.kind_settings import KindsRequest
from core.audit.rubric import Rubric
from core.audit.sample_request import SampleRequest
from core.cells.screen import LabelSettings
from core.cli.base import app
from core.cli.settings import takes
from core.engine.request import RunRequest
from core.experiments.benchmark_spec import Arm, FoldsSpec, HypothesisSpec, NoiseSpec, PlanSpec, RowsSpec
from core.fields.option import Option
from core.fields.record import arguments_of, make, options_of, values_of
from core.fields.toml_table import parse_toml
from core.methods.fusion_settings import FusionSettings
from core.target_ranking.evaluate import EvaluationRequest
from core.target_ranking.request import TrainingRequest
from tests.ui.conftest import Visit
from tests.ui.setting_walk import check_form


@dataclass(frozen=True)
class Asked:
    """A request. words: of its command. form: page, begin of its keys, and what its link says; None where another test of the
    page, or none, has a workspace for it. others: fields that are no settings. odd: values that go together with the rest."""

    record: type
    words: tuple[str, ...]
    form: tuple[str, str, Mapping[str, str]] | None = None
    others: Mapping[str, Any] = field(default_factory=dict)
    odd: Mapping[str, Any] = field(default_factory=dict)


JSON_TEXTS = {"extra_body": '{"top_k": 3}', "extra_headers": '{"X-Title": "screen"}'}
REQUESTS = [
    Asked(RunRequest, ("run",), ("run", "", {"method": "debate", "backend": "ray"}), {"method": "m"}, JSON_TEXTS),
    Asked(ChangedSettings, ("resume",)),
    Asked(ChangedSettings, ("retry",)),
    Asked(FusionSettings, ("fuse",), ("run", "option-fusion-", {"method": "fusion"})),
    Asked(KnnRequest, ("knn",), ("run", "option-knn-", {"method": "knn"})),
    Asked(LabelSettings, ("cells", "labels"), ("data", "cells_", {"tab": "Cells"})),
    Asked(PredictionOptions, ("cells", "predictions"), ("data", "predicted_", {"tab": "Import"})),
    Asked(EvaluationOptions, ("cells", "evaluate")),
    Asked(TrainingRequest, ("targets", "train"), ("targets", "", {"tab": "Training"})),
    Asked(EvaluationRequest, ("targets", "evaluate")),
    Asked(FinetuneRequest, ("finetune",), ("run", "finetune_", {"tab": "Fine-tune"})),
    Asked(AttributionRequest, ("attribute",), others={"run": "r"}, odd=JSON_TEXTS),
    Asked(ContaminationRequest, ("contamination",), others={"run": "r"}, odd=JSON_TEXTS),
    Asked(AgainRequest, ("again",), others={"run": "r", "row": "a"}, odd=JSON_TEXTS),
    Asked(SampleRequest, ("label",), ("arguments", "sample_", {"tab": "Label", "run": "debate"})),
    Asked(KindsRequest, ("clusters",), ("arguments", "", {"tab": "Kinds", "run": "debate"}), odd={"k": None}),
]
FILES = [Rubric, RowsSpec, FoldsSpec, NoiseSpec, PlanSpec, HypothesisSpec, Arm]
name_of = pytest.mark.parametrize("asked", REQUESTS, ids=lambda asked: " ".join(asked.words))


def another(option: Option) -> Any:
    """A value that is not the default."""
    values = {"values": {"k": "v"}, "references": {"a": "b"}, "weights": (0.25,), "wholes": (3, 4)}
    if option.kind in values:
        return values[option.kind]
    if option.kind == "numbers":
        return tuple(reversed(option.default))
    if option.choices:
        other = next(choice for choice in option.choices if choice != option.default)
        return (other,) if option.several else other
    if option.kind in ("int", "float"):
        return type(option.default or 0)(3) if option.most is None or option.most >= 3 else 0.25
    if option.kind == "flag":
        return not option.default
    return ("other", "one more") if option.several else "other"


def chosen(record: type, odd: Mapping[str, Any] | None = None, *, every: bool = True) -> dict[str, Any]:
    """Another value of every setting, or of flags and of what has to be given alone."""
    options = [option for option in options_of(record) if every or option.kind == "flag" or option.is_needed]
    found = {option.name: another(option) for option in options}
    return {**found, **{name: value for name, value in (odd or {}).items() if name in found}}


def make_other(asked: Asked, *, every: bool = True) -> Any:
    values = chosen(asked.record, asked.odd, every=every)
    if asked.record is FusionSettings:
        values["w_de"] = values["w_dir"] = (0.25, 0.5)  # as many as runs
    return make(asked.record, values, **asked.others)


def parameters_of(words: tuple[str, ...]) -> dict[str, Any]:
    command: Any = get_command(app)
    for word in words:
        command = command.import_command(word) if hasattr(command, "import_command") else command.commands[word]
    return {option: parameter for parameter in command.params for option in parameter.opts}


@name_of
def test_each_setting_is_an_option_with_its_default_and_help(asked: Asked) -> None:
    there = parameters_of(asked.words)
    for option in options_of(asked.record):
        assert option.not_on_command or option.option in there, option.name
        if option.not_on_command or option.name == "real":  # which `cells evaluate` needs
            continue
        shown = there[option.option]
        assert shown.help == (option.command_help or option.help)
        assert shown.required == option.is_needed
        if not option.is_needed:
            usual = None if option.is_repeated else ",".join(option.default) if option.several else option.default
            assert shown.default == (False if option.negates else usual)


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


@name_of
@pytest.mark.parametrize("every", [True, False])
def test_arguments_of_a_record_give_it_again(asked: Asked, every: bool) -> None:
    wanted, holder = make_other(asked, every=every), Holder(asked.record)
    done = CliRunner().invoke(holder.app(), arguments_of(wanted))
    assert done.exit_code == 0, done.output
    assert make(asked.record, holder.given[0], **asked.others) == wanted
    assert holder.given[0] == values_of(wanted)


@name_of
def test_json_and_toml_of_a_record_give_it_again(asked: Asked) -> None:
    wanted = make_other(asked)
    assert make(asked.record, json.loads(json.dumps(values_of(wanted), default=str)), **asked.others) == wanted
    assert parse_toml(as_toml(values_of(wanted)), "x").record(asked.record, **asked.others) == wanted


@pytest.mark.parametrize("record", FILES, ids=lambda record: record.__name__)
def test_a_record_that_a_file_holds_is_read_from_it(record: type) -> None:
    values = chosen(record, JSON_TEXTS)
    if record is Rubric:
        values["answers"] = ("yes", "no")  # which a pattern needs
    read = parse_toml(as_toml(values), "x").record(record)
    assert values_of(read) == {**values_of(read), **values}
    for option in options_of(record):
        if option.default is MISSING:
            assert option.is_needed


def as_toml(values: Mapping[str, Any]) -> str:
    """The settings of a record as a person would write them."""
    return "\n".join(f"{name} = {_toml_value(value)}" for name, value in values.items() if value is not None)


def _toml_value(value: Any) -> str:
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{key} = {_toml_value(inner)}' for key, inner in value.items())}}}"
    return json.dumps(value, default=str)


ON_FORMS = [asked for asked in REQUESTS if asked.form is not None]


@pytest.mark.few(5)
@pytest.mark.parametrize("asked", ON_FORMS, ids=lambda asked: " ".join(asked.words))
def test_each_setting_has_a_control_or_a_reason_for_none(asked: Asked, little_copy: Workspace, visit: Visit) -> None:
    assert asked.form is not None
    page, owner, parameters = asked.form
    if asked.record is TrainingRequest:
        target_ranking.create(little_copy, TrainingRequest("small", models={"pca_knn": {}}))
    check_form(asked.record, visit(little_copy, page, **parameters), owner)


def test_a_reason_is_a_sentence_and_nothing_is_left_out_everywhere() -> None:
    for asked in REQUESTS:
        for option in options_of(asked.record):
            reasons = [reason for reason in (option.not_on_form, option.not_on_command) if reason]
            assert len(reasons) < 2, option.name
            assert all(len(reason.split()) > 3 for reason in reasons), option.name
