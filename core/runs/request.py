"""A request for a run, the same record from pages and commands, and its expected cost."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np

from core.base.errors import InputError, NotFound
from core.base.fields.record import options_of, read_options
from core.base.fields.setting import Count, Whole, setting
from core.base.file_io import read_file
from core.base.types import ASKED, Options, Pair
from core.llm.call_settings import CallSettings
from core.llm.endpoint import CONCURRENCY, MAX_ANSWER_MB, TIMEOUT_S
from core.methods.base import Method
from core.runs.spec import (
    Backend,
    Cached,
    CallsAtOnce,
    ClusterAddress,
    DatasetName,
    LabelViewSpec,
    LongestAnswer,
    Model,
    Seed,
    Server,
    Servers,
    Timeout,
    TokenBudget,
)

MAX_IDS_BYTES = 1 << 28
_MINUTE_S = 60.0
_SYNTAX = "split=NAME; sample=N,seed=S; ids=FILE"


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """Which model is asked, and how. endpoint: by default that of the settings."""

    endpoint: Server = None
    model: Model = None
    seed: Seed = 0
    calls: CallSettings = field(default_factory=CallSettings)


@dataclass(frozen=True, slots=True)
class RunRequest:
    """A request for a run; None and "" mean the default. `resolve` turns it into the run's
    specification.

    options: name → value, as text or as it is. rows: as in `parse_row_selection`, or ids; by
    default the method's own choice for a derived method, else the test split if there is one. name:
    by default made from method and rows. labels: all, blinded, folds, or auto, which means folds if
    a chosen row has a label, so that no row sees its own, else all; or a label view. calls: call
    options of the model's server. seed and repeat: of the calls of a model; repeat distinguishes
    runs that are otherwise the same. endpoint to ray_address: how the run is carried out, which is
    not a part of its specification.
    """

    method: str
    dataset: DatasetName = None
    options: Mapping[str, object] = field(default_factory=dict)
    rows: Annotated[
        str | tuple[str, ...],
        setting('Such as "split=test", "sample=500,seed=0", "ids=FILE", joined by ";".'),
    ] = ""
    name: Annotated[
        str | None,
        setting(
            "The run's name; by default made from the method and the rows.",
            title="Name of the run",
            key="run_name",
            changes_result=False,
        ),
    ] = None
    model: Model = None
    labels: Annotated[
        Literal["auto", "all", "blinded", "folds"] | LabelViewSpec,
        setting(
            "Evidence from labelled rows, examples and base rates use only these labels.",
            title="Labels that the run may use",
            words={
                "auto": (
                    "auto: labels of other folds for labelled rows, all training labels for the"
                    " others"
                ),
                "all": "all: all training labels",
                "blinded": "blinded: no label of any chosen row's perturbation or gene",
                "folds": "folds: labels of other folds",
            },
        ),
    ] = "auto"
    seed: Annotated[
        Seed,
        setting("The run's random seed: of the calls, and of examples in prompts.", key="run_seed"),
    ] = 0
    repeat: Annotated[
        Whole, setting("Tells apart runs that are the same in everything else.", title="Repeat")
    ] = 0
    calls: CallSettings = field(default_factory=CallSettings)
    endpoint: Servers = None
    concurrency: CallsAtOnce = CONCURRENCY
    timeout_s: Timeout = TIMEOUT_S
    max_answer_mb: LongestAnswer = MAX_ANSWER_MB
    token_budget: TokenBudget = None
    cached: Cached = True
    backend: Backend = "local"
    ray_address: ClusterAddress = ""


@dataclass(frozen=True, slots=True)
class RowSelection:
    """A choice of rows: of one split, with an id in a file, and of the rows left a sample. None
    does not restrict."""

    split: Annotated[str | None, setting("Only rows of this split.", title="Rows of split")] = None
    sample: Annotated[
        Count | None,
        setting(
            "Draw so many of the rows without replacement.",
            title="Only a sample of",
            missing="all of them",
        ),
    ] = None
    seed: Annotated[Whole, setting("The random seed of the sample.", title="Sample seed")] = 0
    ids: Annotated[
        Path | None, setting("Only rows whose ids are in this file, one a line.", where="command")
    ] = None


def parse_row_selection(text: str) -> RowSelection:
    """Return the choice that "split=test; sample=500,seed=0; ids=FILE" describes; every part may be
    left out.

    Raise InputError for an unknown or repeated part, and for a value out of range.
    """
    known, found = {option.name for option in options_of(RowSelection)}, dict[str, Any]()
    for part in filter(None, (part.strip() for part in text.split(";"))):
        # A file's name may hold commas.
        pieces = [part] if part.startswith("ids=") else part.split(",")
        for piece in pieces:
            name, equals, value = (x.strip() for x in piece.partition("="))
            if not equals or not value or name not in known:
                raise InputError(f"rows: got {piece.strip()!r} in {text!r}, expected {_SYNTAX}")
            if name in found:
                raise InputError(f"rows: {name} comes twice in {text!r}, expected it once")
            found[name] = value
    if "seed" in found and "sample" not in found:
        raise InputError(f"rows: a seed without a sample in {text!r}, expected sample=N,seed=S")
    return RowSelection(**read_options(RowSelection, found))


def read_ids(file: Path) -> tuple[str, ...]:
    """Return the ids in a text file, one per line; skips empty lines, a line "id", and what follows
    a comma.

    Raise InputError if the file cannot be read or holds no id.
    """
    try:
        lines = read_file(file, MAX_IDS_BYTES).decode("utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise InputError(
            f"{file}: cannot be read ({error}), expected a text file of one id per line"
        ) from error
    ids = tuple(
        dict.fromkeys(
            key
            for line in lines
            if (key := line.partition(",")[0].strip().strip('"')) and key != "id"
        )
    )
    if not ids:
        raise InputError(f"{file}: holds no id, expected one per line")
    return ids


def choose_rows(pairs: Sequence[Pair], rows: str | tuple[str, ...]) -> tuple[str, ...]:
    """Return the ids of the rows of a request, in the dataset's order. Raise NotFound for an
    unknown id."""
    if isinstance(rows, str):
        return select_rows(pairs, parse_row_selection(rows))
    wanted = set(rows)
    found = tuple(pair.pair_id for pair in pairs if pair.pair_id in wanted)
    if len(found) < len(wanted):
        unknown = sorted(wanted.difference(found))
        raise NotFound(
            f"rows: {len(unknown):,} of {len(wanted):,} ids are not in the dataset, such as"
            f" {unknown[0]!r}"
        )
    return found


def select_rows(pairs: Sequence[Pair], rows: RowSelection) -> tuple[str, ...]:
    """Return the ids of the chosen rows, in the dataset's order. Reads the file of `rows.ids`.

    A sample is drawn without replacement from the rows that the other parts leave, and depends on
    their order and the seed. Raise InputError if no row is left or a sample is larger than the rows
    left, NotFound for an id that no row has.
    """
    left = [
        pair.pair_id for pair in pairs if rows.split in (None, pair.split) and pair.split != ASKED
    ]
    if not left:
        splits = ", ".join(sorted({pair.split for pair in pairs} - {ASKED})) or "no rows"
        raise InputError(f"rows: none of split {rows.split!r}, this dataset has {splits}")
    if rows.ids is not None:
        wanted = set(read_ids(rows.ids))
        unknown = sorted(wanted - set(left))
        if unknown:
            raise NotFound(
                f"{rows.ids}: {len(unknown):,} of {len(wanted):,} ids are not among the rows, such"
                f" as {unknown[0]!r}"
            )
        left = [key for key in left if key in wanted]
    if rows.sample is not None:
        if rows.sample > len(left):
            raise InputError(
                f"rows: a sample of {rows.sample:,}, expected at most the {len(left):,} rows"
                " there are"
            )
        drawn = np.random.default_rng(rows.seed).choice(len(left), rows.sample, replace=False)
        left = [left[i] for i in sorted(drawn)]
    return tuple(left)


def expected_calls(method: Method, options: Options, rows: int) -> int:
    """Return how many calls of a model a run takes, retries left out."""
    return math.ceil(method.calls(options) * rows) if method.needs_model else 0


@dataclass(frozen=True, slots=True)
class Rate:
    """Tokens and seconds of one call on average, measured on earlier runs."""

    prompt_tokens: float
    completion_tokens: float
    seconds: float | None


@dataclass(frozen=True, slots=True)
class Price:
    """The price of a million tokens, in any currency."""

    prompt: float
    completion: float

    def of(self, prompt_tokens: float, completion_tokens: float) -> float:
        """Return the price of these tokens."""
        return (prompt_tokens * self.prompt + completion_tokens * self.completion) / 1e6


@dataclass(frozen=True, slots=True)
class Expectation:
    """What a run is expected to take; tokens and seconds are None without a rate, money without a
    rate or a price."""

    calls: int
    prompt_tokens: float | None = None
    completion_tokens: float | None = None
    seconds: float | None = None
    money: float | None = None


def money_text(money: float) -> str:
    """Return expected money in words."""
    return f"about {money:,.2f} at the price of the model server"


def cost_sentence(cost: Expectation, runs: int, rows: int) -> str:
    """Return a sentence on what runs of some rows are expected to take."""
    if not runs:
        return "Every run is done: no new calls are needed."
    parts = [
        f"{runs:,} run{'s' * (runs != 1)} of {rows:,} row{'s' * (rows != 1)}: about {cost.calls:,}"
        " calls"
    ]
    if cost.prompt_tokens is None or cost.completion_tokens is None or cost.seconds is None:
        parts.append("tokens and time are unknown before this method's first run with this model")
    else:
        parts.append(f"about {cost.prompt_tokens:,.0f} + {cost.completion_tokens:,.0f} tokens")
        minutes = math.ceil(cost.seconds / _MINUTE_S)
        parts.append(f"about {minutes:,} minute{'s' * (minutes != 1)}")
    if cost.money is not None:
        parts.append(money_text(cost.money))
    return f"{', '.join(parts)}. Cached answers cost nothing."


def expect(
    calls: int, concurrency: int, rate: Rate | None = None, price: Price | None = None
) -> Expectation:
    """Return the cost of these calls if `concurrency` of them run at a time and each takes as long
    as in `rate`."""
    if rate is None:
        return Expectation(calls)
    prompt, completion = calls * rate.prompt_tokens, calls * rate.completion_tokens
    money = None if price is None else price.of(prompt, completion)
    seconds = None if rate.seconds is None else math.ceil(calls / concurrency) * rate.seconds
    return Expectation(calls, prompt, completion, seconds, money)
