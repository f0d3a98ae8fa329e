"""A plugin of pytest: each record that declares settings has one more, as if a person had appended it to the record's file."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

NAME = "odd_"  # the beginning of each further setting
# What a run is made of is declared inside these, and forms of runs show that. They add a run's name and what only commands do.
# An entry of the ledger has a column for each setting of its rule.
LEFT_OUT = ("FusionRequest", "KnnRequest", "DecisionRule")
_DECLARED = {"help": "Odd.", "default": 4, "title": "Odd", "least": 0, "most": 9, "changes_result": False}
_make_dataclass = dataclasses.dataclass


def dataclass(cls: Any = None, /, **about: Any) -> Any:
    """Make a dataclass as the standard library does, with a further setting where there are others."""
    if cls is None:
        return lambda given: dataclass(given, **about)
    declares = any(isinstance(each, dataclasses.Field) and "setting" in each.metadata for each in vars(cls).values())
    if declares and cls.__name__ not in LEFT_OUT:
        _append_setting(cls, f"{NAME}{cls.__name__.lower()}", _DECLARED)
    return _make_dataclass(cls, **about)


def _append_setting(cls: Any, name: str, declared: Mapping[str, Any]) -> None:
    cls.__annotations__[name] = "int"
    setattr(cls, name, dataclasses.field(default=4, kw_only=True, metadata={"setting": declared}))


def pytest_load_initial_conftests() -> None:
    """Make dataclasses so from here on, before the first record is imported."""
    dataclasses.dataclass = dataclass
