"""What is declared of a kind of finding: its schema, and what becomes of its findings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

from core.base.feature import resolve
from core.features.arguments.rubric import Rubric
from core.features.arguments.schema import Schema

if TYPE_CHECKING:
    import pandas as pd

    from core.runs.workspace import Workspace

Which = Callable[["pd.DataFrame"], "pd.Series[bool]"]
DECLARED = ("core.features.arguments.claims:CLAIMS", "core.features.arguments.clash:CLASH")


@dataclass(frozen=True, slots=True)
class FindingKind:
    """A kind of finding. texts: what is read, in the plural.

    statuses: what can become of a finding; settle: gives a table of findings the columns status,
    pack and entry. counted: further ones that are counted, by what their columns say. worth: those
    for which rows are compared. load_knowledge: of a dataset, what `settle` checks findings by.
    """

    schema: Schema
    texts: str
    statuses: tuple[str, ...]
    settle: Callable[[pd.DataFrame, Any], pd.DataFrame]
    worth: tuple[str, ...]
    counted: Mapping[str, Which] = field(default_factory=dict)
    load_knowledge: Callable[[Workspace, str], Any] | None = None

    @property
    def checks(self) -> bool:
        """Whether findings are checked by knowledge packs."""
        return self.load_knowledge is not None

    def knowledge_of(self, workspace: Workspace, dataset: str) -> Any:
        """Return what checks the findings of a dataset; None where nothing does."""
        return self.load_knowledge and self.load_knowledge(workspace, dataset)

    @property
    def name(self) -> str:
        """The name of its rubric."""
        return self.schema.rubric.name

    @property
    def which(self) -> Mapping[str, Which]:
        """All that is counted: name → whether a finding is one."""
        return {**{status: _has(status) for status in self.statuses}, **self.counted}

    def row(self, finding: Mapping[Any, Any]) -> dict[str, Any]:
        """Return a finding as a row of a table."""
        fields = {
            name.replace("_", " "): finding[name] or None
            for name in self.schema.columns
            if name != "invented"
        }
        entry = f"{finding['pack']}: {finding['entry']}" if finding["pack"] else None
        return {
            "row": finding["pair_id"],
            "role": finding["role"],
            **fields,
            "status": finding["status"],
            "pack entry": entry,
        }


def _has(status: str) -> Which:
    return lambda findings: findings["status"] == status


@cache
def kinds() -> Mapping[str, FindingKind]:
    """Return the kinds of findings by the name of their rubric. A new one is a file, named in
    DECLARED."""
    return {kind.name: kind for kind in map(resolve, DECLARED)}


def kind_of(rubric: Rubric) -> FindingKind | None:
    """Return the kind of finding that a rubric's answer lists; None for a rubric with fixed
    answers."""
    kind = kinds().get(rubric.name)
    return kind if kind is not None and kind.schema.rubric == rubric else None
