"""The arms of an attribution: the original answers, the same questions again, and the same without one tool at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from core.errors import InputError, StateError
from core.fields.option import split_names
from core.hashes import KEY_DIGITS, sha256_of
from core.methods.prompts import SEED_STEP, read_seeds
from core.store.runs import Run

EVERY_TOOL = ""  # marks an arm that leaves nothing out
FIRST = 0  # the repeat under the run's own seeds
MOST_REPEATS = 20


class ArmKey(NamedTuple):
    """One arm under one repeat. tool: the tool that is left out, or EVERY_TOOL. repeat: FIRST, or from 1."""

    tool: str
    repeat: int


@dataclass(frozen=True, slots=True)
class AttributionSpec:
    """The rows of a run to ask again, the number of repeats, and the tools to leave out, one at a time.

    run: an id; name: of the run, for people. rows: pair ids in file order. repeats: number of repeats of every arm.
    """

    run: str
    name: str
    dataset: str
    rows: tuple[str, ...]
    tools: tuple[str, ...]
    repeats: int

    def __post_init__(self) -> None:
        if not 1 <= self.repeats <= MOST_REPEATS:
            raise InputError(f"repeats: got {self.repeats}, expected 1 to {MOST_REPEATS}")
        for what in ("rows", "tools"):
            if not getattr(self, what):
                raise InputError(f"attribution of {self.name}: no {what}, expected at least one")

    @property
    def key(self) -> str:
        """The identity of the attribution, in KEY_DIGITS hexadecimal digits: equal for equal rows, tools and repeats of the
        same run.
        """
        parts = ("\n".join(each) for each in (self.rows, self.tools))
        return sha256_of("\n\n".join((self.run, *parts, str(self.repeats))))[:KEY_DIGITS]

    @property
    def arms(self) -> tuple[ArmKey, ...]:
        """The arms in order: the first answers, asking again, then each tool left out."""
        repeats = range(FIRST + 1, self.repeats + 1)
        left_out = (ArmKey(tool, repeat) for tool in (EVERY_TOOL, *self.tools) for repeat in repeats)
        return (ArmKey(EVERY_TOOL, FIRST), *left_out)

    def name_of(self, arm: ArmKey) -> str:
        """Return the name of an arm's run, which describes the arm."""
        what = f"without {arm.tool}" if arm.tool else "again"
        asked = "as it was" if arm.repeat == FIRST else f"{what}, repeat {arm.repeat}"
        return f"{self.name[:120]}: {asked} ({len(self.rows):,} rows, {self.key})"


def tools_given(run: Run) -> tuple[str, ...]:
    """Return the tools of a run, in its order.

    Raise StateError if they are unknown, or if it had none.
    """
    options = run.spec.get("options")
    if not isinstance(options, Mapping) or "tools" not in options:
        raise StateError(
            f"run {run.name} ({run.method}, {run.origin}): its tools are unknown. Expected a run made here by a method with "
            "the option tools, such as debate"
        )
    return tuple(dict.fromkeys(split_names(options["tools"])))


def choose_tools(run: Run, given: Sequence[str], called: Sequence[str], wanted: Sequence[str]) -> tuple[str, ...]:
    """Return the tools to leave out: the wanted ones, by default all that answered about the rows, in the run's order.

    given: the tools of the run; called: the tools with answers in its rows. Raise InputError for others.
    """
    unknown = [name for name in wanted if name not in given]
    if unknown:
        raise InputError(f"tools: {unknown[0]!r} is not a tool of run {run.name}, expected {', '.join(given) or 'none'}")
    chosen = tuple(name for name in given if name in (wanted or called))
    if not chosen:
        raise InputError(f"run {run.name}: called no tool on these rows, so none can be left out; expected rows with a dossier")
    return chosen


def options_of_arm(run: Run, arm: ArmKey) -> dict[str, Any]:
    """Return the options of an arm: the run's options, without the left-out tool, and with other seeds for a repeat.

    For a run with the option `seeds`, each repeat adds SEED_STEP to them. The run's own seed, which draws examples, stays the
    same, so asking again does not change the prompts.
    """
    options = dict(run.spec["options"])
    if arm.tool:
        options["tools"] = ",".join(name for name in tools_given(run) if name != arm.tool)
    if arm.repeat and "seeds" in options:
        seeds = read_seeds(str(options["seeds"]), seed_of(run))
        options["seeds"] = ",".join(str(seed + SEED_STEP * arm.repeat) for seed in seeds)
    return options


def refuse_meeting_seeds(run: Run, repeats: int) -> None:
    """Raise InputError if two repeats would share a seed: the cache would answer, and asking again would seem to change too
    little.
    """
    seeds = read_seeds(str(run.spec["options"].get("seeds", "")), seed_of(run))
    meeting = [(a, b) for a in seeds for b in seeds if a < b <= a + SEED_STEP * repeats and (b - a) % SEED_STEP == 0]
    if meeting:
        a, b = meeting[0]
        raise InputError(
            f"run {run.name}: its seeds {a} and {b} differ by a multiple of {SEED_STEP:,}, as repeats do, so repeats would "
            "share answers; expected a run under other seeds"
        )


def seed_of_arm(run: Run, arm: ArmKey) -> int:
    """Return the seed of an arm's run: the run's own if the option `seeds` sets the seeds of calls, otherwise one per repeat."""
    return seed_of(run) + (0 if "seeds" in run.spec["options"] else SEED_STEP * arm.repeat)


def seed_of(run: Run) -> int:
    """Return the seed of a run."""
    return int(run.spec.get("seed", 0))
