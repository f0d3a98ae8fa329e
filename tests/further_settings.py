"""A plugin of pytest: each record that declares settings has one more, as if a person had appended it to the record's file."""

from __future__ import annotations

import dataclasses
from typing import Annotated, Any

from annotated_types import Ge, Le

NAME = "odd_"  # the beginning of each further setting
# What a run is made of is declared inside these, and forms of runs show that. They add a run's name and what only commands do.
# An entry of the ledger has a column for each setting of its rule. The page Targets chooses a ranking, and asks for nothing else of it.
LEFT_OUT = ("FusionRequest", "KnnRequest", "DecisionRule", "RankingChoice", "RankingTableRequest")
# Options of these are checked by their own tests.
_OTHERS = ("core.methods.", "core.features.finetune.", "core.features.targets.models.")
_REQUESTED = ("FusionSettings", "RecoveredSettings")
_make_dataclass = dataclasses.dataclass


def dataclass(cls: Any = None, /, **about: Any) -> Any:
    """Make a dataclass as the standard library does, with a further setting where there are others."""
    if cls is None:
        return lambda given: dataclass(given, **about)
    declares = any(
        "setting(" in str(each) for each in vars(cls).get("__annotations__", {}).values()
    )
    of_request = cls.__name__ in _REQUESTED or not cls.__module__.startswith(_OTHERS)
    if declares and of_request and cls.__name__ not in LEFT_OUT:
        _append_setting(cls, f"{NAME}{cls.__name__.lower()}")
    return _make_dataclass(cls, **about)


def _append_setting(cls: Any, name: str) -> None:
    from core.base.fields.setting import setting  # which the record's module has imported

    cls.__annotations__[name] = Annotated[
        int, Ge(0), Le(9), setting("Odd.", title="Odd", changes_result=False)
    ]
    setattr(cls, name, dataclasses.field(default=4, kw_only=True))


def pytest_load_initial_conftests() -> None:
    """Make dataclasses so from here on, before the first record is imported."""
    dataclasses.dataclass = dataclass
