"""The interface of an ablation, and the list of the ablations in this package. A new one is a file with an `Ablation`."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from types import MappingProxyType
from typing import Any

import pandas as pd

import core.experiments.ablations as room
from core.errors import NotFound
from core.experiments.ablations.material import Material, MissingInput, find_missing
from core.methods.base import Option, read_options
from core.texts import list_choices


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """The result of an ablation.

    table: one row for each arm and metric, with the columns of `arms.COLUMNS`. sentence: the result in plain words. remarks:
    sentences to read before trusting it. details: a further table; the remarks explain its columns.
    """

    table: pd.DataFrame
    sentence: str
    remarks: tuple[str, ...] = ()
    details: pd.DataFrame = field(default_factory=pd.DataFrame)


@dataclass(frozen=True, slots=True)
class Ablation:
    """One ablation.

    title, question: for people. needs: keys of `material.NEEDS`. options: like a method's; make: computes the outcome from the
    material and every option's value. find_lacking: returns further missing inputs of its default settings.
    """

    name: str
    title: str
    question: str
    needs: tuple[str, ...]
    options: tuple[Option, ...]
    make: Callable[[Material, Mapping[str, Any]], Outcome]
    find_lacking: Callable[[Material], list[str]] = lambda _: []

    def missing(self, material: Material) -> list[str]:
        """Return the missing inputs of an ablation with its default settings, and how to get them."""
        return [*find_missing(self.needs, material), *self.find_lacking(material)]


def run(ablation: Ablation, material: Material, settings: Mapping[str, object]) -> Outcome:
    """Compute an ablation. Raise InputError for impossible settings, and MissingInput for inputs missing from the workspace."""
    values = read_options(ablation.options, settings)
    missing = find_missing(ablation.needs, material)
    if missing:
        raise MissingInput(f"ablation {ablation.name}: needs {'; and '.join(missing)}")
    try:
        outcome = ablation.make(material, values)
    except MissingInput as error:
        raise MissingInput(f"ablation {ablation.name}: {error}") from error
    if values.get("spaces") == "":
        outcome = replace(outcome, remarks=(*outcome.remarks, f"No gene space was named: {', '.join(material.space_names)}."))
    return outcome


@cache
def ablations() -> Mapping[str, Ablation]:
    """Return the ablations by name, sorted."""
    modules = (importlib.import_module(f"{room.__name__}.{found.name}") for found in pkgutil.iter_modules(room.__path__))
    found = {each.name: each for module in modules for each in vars(module).values() if isinstance(each, Ablation)}
    return MappingProxyType(dict(sorted(found.items())))


def ablation_named(name: str) -> Ablation:
    """Return the ablation with this name. Raise NotFound with the known names."""
    known = ablations()
    if name not in known:
        raise NotFound(f"ablation {name!r}: not known, {list_choices(name, [*known])}")
    return known[name]
