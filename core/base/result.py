"""The form of a result: a number that somebody asked for, with its scope and its caveats, wherever
it is shown.

A result is a frozen dataclass. Its fields are the keys of `--json`; `to_json` is the only place
where JSON comes from. The command prints it (core/cli/base.py), the page shows it
(core/ui/results.py) and the report takes the same object (core/plots/printed.py): each shows
sentence, caveats and tables, and the page and the report the figure, too.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from datetime import date
from enum import Enum
from typing import Any, Final, Protocol, runtime_checkable

from core.base.texts import cell_text, count_text, estimate_text
from core.base.types import JsonObject

# metadata of a field that only tables and figures need, such as an array
HIDDEN: Mapping[str, bool] = {"hidden": True}
# metadata of a record whose keys stand among those of the result
INLINE: Mapping[str, bool] = {"inline": True}


def hidden(**options: Any) -> Any:
    """Return a field of a result that is no key of its JSON. options: as of `dataclasses.field`."""
    return field(metadata=HIDDEN, **options)


def inline(**options: Any) -> Any:
    """Return a field of a result that is a record: in JSON its keys take the place of the field.
    options: as of `hidden`."""
    return field(metadata=INLINE, **options)


@dataclass(frozen=True, slots=True)
class Table:
    """A table of a result. rows: column → value, all with the same columns. A value is a text, a
    number, None for what is unknown, or an interval (`core.stats.intervals.Interval`). changes:
    columns of differences, whose numbers have a sign."""

    title: str
    rows: tuple[Mapping[str, Any], ...]
    changes: tuple[str, ...] = ()

    def texts(self) -> list[dict[str, str]]:
        """Return the rows as every place writes them: an interval as "0.621 [0.604, 0.638]", an en
        dash for what is unknown.

        A column of which nothing is known is left out.
        """
        known = {name for row in self.rows for name, value in row.items() if value is not None}
        return [
            {
                name: _text(value, name in self.changes)
                for name, value in row.items()
                if name in known
            }
            for row in self.rows
        ]


def _text(value: Any, is_change: bool) -> str:
    if hasattr(value, "ends"):
        estimate, low, high = value.ends
        return estimate_text(estimate, low, high, "+.3f" if is_change else ".3f")
    return "–" if value is None else cell_text(value, signed=is_change)


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure of a result. draw: "core.plots.MODULE:FUNCTION", called with the values by name.
    alt: what it shows, in words.

    Nothing here imports plotly: the page and the report resolve it.
    """

    draw: str
    values: Mapping[str, Any]
    alt: str


@runtime_checkable
class Result(Protocol):
    """A number that somebody asked for. title: of the page's and the report's part. scope: which
    rows and folds, and n.

    sentence: the result in plain words. caveats: what to know before trusting it; they travel with
    it.
    """

    @property
    def title(self) -> str: ...
    @property
    def scope(self) -> str: ...
    @property
    def sentence(self) -> str: ...
    @property
    def caveats(self) -> tuple[str, ...]: ...

    def tables(self) -> tuple[Table, ...]: ...
    def figure(self) -> Figure | None: ...


@dataclass(frozen=True, slots=True, eq=False)
class Summary:
    """A result of facts without a rule of their own, such as what a file holds. facts: its keys.
    lines: the facts in words."""

    title: str = field(metadata=HIDDEN)
    sentence: str = field(metadata=HIDDEN)
    facts: Mapping[str, Any] = field(metadata=INLINE)
    lines: tuple[str, ...] = hidden(default=())
    caveats: tuple[str, ...] = hidden(default=())
    scope: str = hidden(default="")

    def tables(self) -> tuple[Table, ...]:
        """Return the lines."""
        return (
            (Table(self.title, tuple({"fact": line} for line in self.lines)),) if self.lines else ()
        )

    def figure(self) -> Figure | None:
        """Return None."""
        return None


def to_json(result: Result) -> JsonObject:
    """Return the JSON of a result: its fields in their order, then its sentence, scope and caveats.
    NaN is null."""
    return {
        **fields_of(result),
        "sentence": result.sentence,
        "scope": result.scope,
        "caveats": list(result.caveats),
    }


def fields_of(record: Any) -> JsonObject:
    """Return the fields of a dataclass as plain data, without the hidden ones, then its
    `json_properties`, if it names some."""
    values: JsonObject = {}
    for each in fields(record):
        value = None if each.metadata.get("hidden") else plain(getattr(record, each.name))
        if each.metadata.get("inline"):
            values |= value or {}
        elif not each.metadata.get("hidden"):
            values[each.name] = value
    return values | {
        name: plain(getattr(record, name)) for name in getattr(record, "json_properties", ())
    }


def plain(value: Any) -> Any:
    """Return a value as JSON holds it: an interval as its `json_value`, a dataclass by its fields,
    NaN and infinity as null."""
    if hasattr(value, "json_value"):
        return plain(value.json_value)
    if is_dataclass(value) and not isinstance(value, type):
        return fields_of(value)
    if isinstance(value, Mapping):
        return {str(plain(key)): plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(inner) for inner in value]
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, date):
        return value.isoformat()
    if hasattr(value, "tolist"):  # an array or a number of NumPy
        return plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


TOLERATED: Final = 2.0  # times the nominal rate of false effects


@dataclass(frozen=True, slots=True)
class LabelMarks:
    """What mock perturbations and batches say of labels.

    false_share: the expected share of effects that are false; nominal: what the thresholds allow.
    None where nothing is known: too few controls, labels that were made elsewhere. confounded:
    perturbations without labels, since they share too few cells of their batches with controls.
    """

    false_share: float | None = None
    nominal: float | None = None
    confounded: int = 0

    @property
    def marked(self) -> bool:
        """Whether more effects are expected to be false than twice the nominal rate."""
        return (
            self.false_share is not None
            and self.nominal is not None
            and self.false_share > TOLERATED * self.nominal
        )

    @property
    def sentence(self) -> str:
        """What has to be known of the labels beside a score, "" for nothing."""
        said = []
        if self.marked:
            said.append(
                f"These labels are marked: {self.false_share:.0%} of the effects are expected to be"
                " false, by mock perturbations of controls, more than twice the nominal"
                f" {self.nominal:.0%}; do not trust scores on them."
            )
        if self.confounded:
            said.append(
                "Without labels, since they are confounded with their batch:"
                f" {count_text(self.confounded, 'perturbation')}."
            )
        return " ".join(said)

    @property
    def json_value(self) -> JsonObject:
        """Return it as plain data, for `--json`."""
        known = {
            "false_share": self.false_share,
            "nominal": self.nominal,
            "confounded": self.confounded,
        }
        return {"marked": self.marked, **known, "sentence": self.sentence}


UNMARKED: Final = LabelMarks()
