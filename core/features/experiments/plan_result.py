"""The plan of an experiment as a result: its arms, the calls, tokens and cost of what is left, and what its rows can show."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from core.actions.workspace import Workspace
from core.base.result import Figure, Table
from core.engine.request import money_text
from core.features.experiments.engine import ExperimentPlan
from core.features.experiments.power import PowerOfRows, power_of_rows
from core.store import datasets


@dataclass(frozen=True, slots=True)
class PlannedArm:
    """One arm: what it changes of the base, how many runs it has, and how many of them are done."""

    name: str
    change: str
    runs: int
    done: int


@dataclass(frozen=True, slots=True)
class PlanResult:
    """What an experiment will make. rows: how many. runs, left: how many, and how many are not done. calls to money: of those
    that are left; None if unknown. power: what the rows can show, None where answers are compared."""

    kind: str
    name: str
    question: str
    dataset: str
    rows: int
    arms: tuple[PlannedArm, ...]
    runs: int
    left: int
    calls: int
    prompt_tokens: float | None
    completion_tokens: float | None
    seconds: float | None
    money: float | None
    power: PowerOfRows | None

    @property
    def title(self) -> str:
        """The question, as a plan."""
        return f"Plan: {self.question}"

    @property
    def scope(self) -> str:
        """Which rows are asked."""
        return f"{self.rows:,} rows of {self.dataset}"

    @property
    def sentence(self) -> str:
        """What is left to make and its cost, then what the rows can show."""
        return " ".join(filter(None, (self._cost(), self.power.sentence if self.power else "")))

    @property
    def caveats(self) -> tuple[str, ...]:
        """What is unknown beforehand."""
        unknown = "Tokens are unknown before this method's first call with this model."
        return ((unknown,) if self.calls and self.prompt_tokens is None else ()) + (self.power.caveats if self.power else ())

    def tables(self) -> tuple[Table, ...]:
        """Return the arms, and what the rows can show of each."""
        rows = [{"arm": arm.name, "change": arm.change or None, "runs": arm.runs, "done": arm.done} for arm in self.arms]
        tables = [Table("Arms of the plan", tuple(rows))]
        if self.calls:
            tables.append(Table("Cost of what is left", (self._cost_row(),)))
        return (*tables, *(self.power.tables() if self.power else ()))

    def figure(self) -> Figure | None:
        """Return None: a plan is a table."""
        return None

    def _cost_row(self) -> dict[str, Any]:
        row: dict[str, Any] = {"runs": self.runs, "left": self.left, "calls": self.calls}
        for name in ("prompt_tokens", "completion_tokens", "seconds"):
            value = getattr(self, name)
            row[name.replace("_", " ")] = None if value is None else round(value)
        return {**row, "money": self.money}

    def _cost(self) -> str:
        if not self.left:
            return f"All {self.runs} runs are done."
        made = f"{self.left} of {self.runs} runs are left"
        if not self.calls:
            return f"{made}; they call no model."
        tokens = ""
        if self.prompt_tokens is not None and self.completion_tokens is not None:
            tokens = f", about {self.prompt_tokens:,.0f} + {self.completion_tokens:,.0f} tokens"
        money = "" if self.money is None else f", {money_text(self.money)}"
        return f"{made}: {self.calls:,} calls{tokens}{money}. Cached answers cost nothing."


def describe_plan(workspace: Workspace, planned: ExperimentPlan) -> PlanResult:
    """Return a plan as a result. Starts nothing, and contacts no server."""
    experiment, saved, cost = planned.experiment, planned.saved, planned.cost
    done = {arm: {(run.cut, run.seed): run.run for run in planned.runs if run.arm == arm and run.is_done} for arm in saved.runs}
    arms = (experiment.base, *experiment.arms)
    with workspace.store.read() as db:
        power = power_of_rows(db, experiment, done)
        dataset = datasets.find(db, experiment.dataset).name
    return PlanResult(
        saved.kind,
        saved.name,
        experiment.question,
        dataset,
        len(experiment.rows),
        tuple(PlannedArm(arm.name, arm.change, len(saved.runs[arm.name]), len(done[arm.name])) for arm in arms),
        len(planned.runs),
        planned.left,
        cost.calls,
        cost.prompt_tokens,
        cost.completion_tokens,
        cost.seconds,
        cost.money,
        power,
    )
