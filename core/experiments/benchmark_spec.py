"""The specification of a blinded paired benchmark: rows, folds, arms that differ in one thing, and what decides.

It is one TOML file; docs/benchmarks.md describes every key, docs/examples holds examples.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from annotated_types import Ge, Le, MinLen, Predicate
from pydantic import Field

from core.errors import InputError
from core.experiments import decision
from core.experiments.decision import DecisionRule, DecisionUnit
from core.experiments.hypothesis_spec import HypothesisSpec, check_hypothesis
from core.records import Misfit, fit
from core.texts import check_name
from core.toml_table import LISTED, Text, Texts, TomlFile, Wholes, parse_toml, read_toml

Metric = Literal["DE", "DIR", "mean"]
Placebo = Literal["DE", "DIR", "DE within gene", "DIR within gene", "DE within pert", "DIR within pert"]
Share = Annotated[float, Ge(0), Le(1), "a number from 0 to 1"]
Replicate = tuple[int, int]  # the seed of a cut and the seed of the models' calls
TwoRuns = Annotated[tuple[Text, Text], Predicate(lambda each: each[0] != each[1]), "two runs that differ like the arms do"]
METRICS: tuple[Metric, ...] = ("DE", "DIR", "mean")
METRIC_OF_RULE: Mapping[Metric, decision.Metric] = {"DE": "de", "DIR": "dir", "mean": "mean"}
_KEYS: Mapping[str, tuple[str, ...]] = {  # of an arm, by what it is made from
    "run": (),
    "method": ("options", "model", "endpoint", "token_budget"),
    "base": ("with", "knn", "w_de", "w_dir"),
}
_KNN = ("spaces", "power", "de_power", "k", "axis", "centre", "strength")


@dataclass(frozen=True, slots=True)
class RowsSpec:
    """The rows of a benchmark: those of a run, or a sample, stratified by label, of the labelled training rows.

    sample: None takes all. seed: of the sample.
    """

    run: Text | None = None
    sample: Annotated[int, Ge(2), "a whole number of at least 2"] | None = None
    seed: Annotated[int, Ge(0), "a whole number of at least 0"] = 0


@dataclass(frozen=True, slots=True)
class FoldsSpec:
    """Perturbations and genes are each cut into k parts, once for each seed in `cuts`."""

    k: Annotated[int, Ge(2), "a whole number of at least 2"] = 5
    cuts: Wholes = (0,)


@dataclass(frozen=True, slots=True, kw_only=True)
class Arm:
    """One arm: an existing run (`run`), a method with settings (`method`), or an arm or run fused with something (`base`).

    options, model, endpoint, token_budget: of a method. others: runs that are fused with the base. knn: options of a kNN that
    is made for each cut and fused with it. w_de, w_dir: weights of what is fused with the base. against: the arm that it is
    compared with; "" for the first. placebo: metrics that the change from that arm cannot touch. several: whether it may
    differ from that arm in more than one thing.
    """

    name: Text
    run: Text | None = None
    method: Text | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    model: Text | None = None
    endpoint: Text | None = None
    token_budget: Annotated[int, Ge(1), "a whole number of at least 1"] | None = None
    base: Text | None = None
    others: Annotated[Texts, Field(alias="with")] = ()
    knn: Mapping[str, Any] | None = None
    w_de: Share = 0.5
    w_dir: Share = 0.5
    against: Text = ""
    placebo: Annotated[tuple[Placebo, ...], LISTED] = ()
    several: bool = False


@dataclass(frozen=True, slots=True)
class NoiseSpec:
    """The arm that is repeated with other seeds, which measures what no change at all would show."""

    arm: Text
    seeds: Wholes = (1,)


@dataclass(frozen=True, slots=True)
class PlanSpec:
    """What a plan takes its variances from while the benchmark's own runs are not done.

    like: two runs that differ like the arms do. correlation: without such runs, of the scores of an arm and its control over
    the rows, perturbations and genes that are drawn; the variance is then the control's.
    """

    like: TwoRuns | None = None
    correlation: Annotated[float, Ge(-1), Le(0.999), "a number from -1 to 0.999"] | None = None
    power: Annotated[float, Ge(0.05), Le(0.999), "a number from 0.05 to 0.999"] = 0.8


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchmarkSpec:
    """A benchmark. primary: the metric that decides, fixed beforehand; smallest_effect: the smallest change of it worth having.

    seeds: of the models' calls; arms that call none are made once. text: the file.
    """

    name: Text
    question: Text = ""
    dataset: Text | None = None
    primary: Metric
    smallest_effect: Annotated[float, Ge(1e-6), Le(0.5), "a number from 1e-06 to 0.5"]
    seeds: Wholes = (0,)
    rows: RowsSpec = RowsSpec()
    folds: FoldsSpec = FoldsSpec()
    arms: Annotated[tuple[Arm, ...], MinLen(2), "two or more tables [[arms]]"]
    noise: NoiseSpec | None = None
    hypothesis: HypothesisSpec | None = None
    plan: PlanSpec = field(default=PlanSpec(), compare=False)
    text: str = field(repr=False, compare=False)

    def arm(self, name: str) -> Arm:
        """The arm of a name. Raises InputError."""
        found = next((arm for arm in self.arms if arm.name == name), None)
        if found is None:
            raise InputError(f"arm {name!r}: not in this benchmark, which has {', '.join(arm.name for arm in self.arms)}")
        return found

    def control_of(self, arm: Arm) -> Arm:
        """The arm that an arm is compared with."""
        return self.arm(arm.against) if arm.against else self.arms[0]

    @property
    def rule(self) -> DecisionRule:
        """The rule of its hypothesis. Raises InputError if it names none."""
        if self.hypothesis is None:
            raise InputError(f"benchmark {self.name!r}: names no hypothesis, expected a table [hypothesis]")
        return DecisionRule(METRIC_OF_RULE[self.primary], self.hypothesis.level, self.hypothesis.unit, self.smallest_effect)

    def unit_of(self, arm: Arm) -> DecisionUnit:
        """What is resampled for the interval that decides on an arm: what its hypothesis names, else perturbations and genes."""
        about = self.hypothesis
        return about.unit if about is not None and about.arm == arm.name else "two-way"

    @property
    def tested(self) -> tuple[Arm, ...]:
        """The arms that are compared with another: all but the first."""
        return self.arms[1:]


def read_benchmark(path: Path) -> BenchmarkSpec:
    """The benchmark in a TOML file. Raises InputError, with file, line and key, for what it should not hold."""
    return _read(read_toml(path), path.read_text("utf-8-sig"))


def parse_benchmark(text: str, file: str = "specification") -> BenchmarkSpec:
    """The same of a text."""
    return _read(parse_toml(text, file), text)


def _read(file: TomlFile, text: str) -> BenchmarkSpec:
    spec = file.read(BenchmarkSpec, text=text)
    check_name("benchmark", spec.name)
    of_rows = file.values.get("rows", {})
    if "run" in of_rows and "seed" in of_rows and "sample" not in of_rows:
        raise file.error("has no effect without a sample; expected sample = N beside it", "rows", "seed")
    arms = tuple(_check_arm(file, i, arm, spec.arms[:i]) for i, arm in enumerate(spec.arms))
    names = [arm.name for arm in arms]
    if spec.noise is not None and spec.noise.arm not in names:
        raise file.error(f"is {spec.noise.arm!r}, expected {', '.join(names)}", "noise", "arm")
    about = None if spec.hypothesis is None else check_hypothesis(file, spec.hypothesis, names[1:])
    return replace(spec, arms=arms, hypothesis=about)


def _check_arm(file: TomlFile, at: int, arm: Arm, above: Sequence[Arm]) -> Arm:
    """The arm, its kNN with spaces as a run has them. Raises InputError for what is made from nothing or from several things,
    for a key that has no effect, and for the name of an arm that does not stand above it, or does already."""
    given, names = file.values["arms"][at], [each.name for each in above]
    kinds = [kind for kind in _KEYS if kind in given]
    if len(kinds) != 1:
        problem = f"has {' and '.join(kinds) or 'nothing'} to be made from, expected one of {', '.join(_KEYS)}"
        raise file.error(problem, "arms", at, "name")
    known = ("name", "against", "placebo", "several", kinds[0], *_KEYS[kinds[0]])
    unknown = next((key for key in given if key not in known), None)
    if unknown is not None:
        raise file.error(f"is not known, expected {', '.join(known)}", "arms", at, unknown)
    if arm.name in names:
        raise file.error(f"is {arm.name!r}, which is an arm already; expected another name", "arms", at, "name")
    for key, named in (("base", arm.base), ("against", arm.against)):
        if named and named not in names:
            raise file.error(f"is {named!r}, expected an arm above: {', '.join(names) or 'there is none'}", "arms", at, key)
    return arm if arm.base is None else _check_fusion(file, at, arm)


def _check_fusion(file: TomlFile, at: int, arm: Arm) -> Arm:
    for key in ("w_de", "w_dir"):
        if key not in file.values["arms"][at]:
            raise file.error("is missing, expected a number from 0 to 1", "arms", at, key)
    if (arm.knn is None) == (not arm.others):
        raise file.error('needs something to be fused with, expected a table [arms.knn] or with = "RUN"', "arms", at, "base")
    if len(arm.others) > 1:
        raise file.error(
            f"names {len(arm.others)} runs, expected one: an arm differs from another in one thing", "arms", at, "with"
        )
    if arm.knn is None:
        return arm
    unknown = next((key for key in arm.knn if key not in _KNN), None)
    if unknown is not None:
        raise file.error(f"is not known, expected {', '.join(_KNN)}", "arms", at, "knn", unknown)
    try:
        spaces = fit(Texts, arm.knn.get("spaces"))
    except Misfit as error:
        raise file.error(error.problem, "arms", at, "knn", "spaces") from error
    return replace(arm, knn={**arm.knn, "spaces": ",".join(spaces)})
