"""A run asked again by another method or model, or with other options, each of them changed
alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any

from core.base.errors import InputError
from core.base.experiment import Arm, Experiment, Kind
from core.base.fields.record import read_options
from core.base.fields.setting import setting
from core.features.experiments.kinds.asking import (
    Asking,
    ChangedSettings,
    ask_again,
    compare_changed,
    missing_run,
)
from core.methods.base import DerivedMethod, method_named
from core.runs.workspace import Workspace

METHOD_QUESTION = "What does another method, model, prompt or option do to the predictions?"


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodSettings(ChangedSettings):
    """A run, and what is changed of how it is asked."""

    method: Annotated[str, setting("Another method.", title="Method", missing="the run's")] = ""
    model: Annotated[str | None, setting("Another model.", title="Model", missing="the run's")] = (
        None
    )
    options: Annotated[
        Mapping[str, Any],
        setting(
            "Options of the method, each changed alone; those of another method count together.",
            title="Options",
            metavar="NAME=VALUE",
        ),
    ] = field(default_factory=dict)


def build_method(workspace: Workspace, settings: MethodSettings) -> Experiment:
    """Return the experiment. Raise NotFound for an unknown method, InputError for impossible
    options, or if nothing changes."""
    asking = ask_again(workspace, settings)
    return compare_changed(asking, settings, METHOD_QUESTION, _method_arms(asking, settings))


def _method_arms(asking: Asking, settings: MethodSettings) -> Iterator[Arm]:
    base = asking.request
    own = method_named(base.method)
    if settings.method not in ("", own.name):
        other = method_named(settings.method)
        if isinstance(other, DerivedMethod):
            why = "asks no rows, expected another; `experiment plan component` fuses with a kNN"
            raise InputError(f"method {other.name}: {why}")
        options = read_options(other.settings, settings.options)
        model = base.model if own.needs_model else settings.model
        request = replace(
            base, method=other.name, options=options, model=model if other.needs_model else None
        )
        yield Arm(other.name, f"method: {base.method} → {other.name}", request)
    else:
        before = read_options(own.settings, base.options)
        after = read_options(own.settings, {**base.options, **settings.options})
        for name in settings.options:
            if after[name] != before[name]:
                change = f"{name}: {before[name]} → {after[name]}"
                yield Arm(f"{name} {after[name]}", change, asking.changed(**{name: after[name]}))
    if own.needs_model and settings.model not in (None, base.model):
        yield Arm(
            str(settings.model),
            f"model: {base.model} → {settings.model}",
            replace(base, model=settings.model),
        )


METHOD = Kind(
    "method",
    "Another method, model or option",
    METHOD_QUESTION,
    MethodSettings,
    build_method,
    missing=missing_run,
)
