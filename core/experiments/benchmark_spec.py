"""The specification of a blinded paired benchmark: rows, folds, arms that differ in one thing, and the deciding metric.

It is one TOML file; docs/benchmarks.md describes every key, docs/examples has examples. A hypothesis in the file is entered in
the ledger before the first arm is made.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from core.engine.shared_settings import most_tokens, one_model, several_servers
from core.errors import InputError
from core.experiments import decision
from core.experiments.decision import DecisionRule, DecisionUnit, Level, deciding_level, resampled_unit, smallest_difference
from core.fields.record import option_of, options_of, part, setting
from core.fields.toml_table import TomlTable, parse_toml, read_toml
from core.llm.call_settings import CallSettings
from core.methods.fusion_settings import ONE_WEIGHT, less_in_disagreement
from core.texts import check_name
from core.transfer.knn_settings import KnnSettings
from core.transfer.protocols import EvaluationProtocol


@dataclass(frozen=True, slots=True)
class HypothesisSpec:
    """The claim about an arm; the deciding metric and the smallest effect are the benchmark's.

    name: in the ledger, None for the benchmark's name. arm: the arm tested against its control. level, unit: as in
    `DecisionRule`.
    """

    claim: str = setting(MISSING, "What is claimed.")
    prediction: str = setting(MISSING, "The prediction if it is true.")
    arm: str = setting(MISSING, "The arm that is tested.")
    level: Level = deciding_level()
    unit: DecisionUnit = resampled_unit()
    name: str | None = setting(None, "Its name in the ledger; by default the benchmark's name.")


Metric = Literal["DE", "DIR", "mean"]
Replicate = tuple[int, int]  # the seed of a cut and the seed of the models' calls
METRICS: tuple[Metric, ...] = ("DE", "DIR", "mean")
METRIC_OF_RULE: Mapping[Metric, decision.Metric] = {"DE": "de", "DIR": "dir", "mean": "mean"}
PLACEBOS = ("DE", "DIR", "DE within gene", "DIR within gene", "DE within pert", "DIR within pert")
_CUT = [option.name for option in options_of(EvaluationProtocol)]  # which the benchmark's folds say
_KNN = [option.name for option in options_of(KnnSettings) if option.name not in _CUT]


@dataclass(frozen=True, slots=True)
class RowsSpec:
    """The rows of a benchmark: those of a run, or a sample, stratified by label, of the labelled training rows.

    sample: number of rows, None for all. seed: of the sample.
    """

    run: str | None = setting(None, "The run whose rows are compared; by default, labelled training rows are used.")
    sample: int | None = setting(None, "Number of rows to draw, stratified by label; by default all.", least=2)
    seed: int = setting(0, "The seed of the sample.", least=0)


@dataclass(frozen=True, slots=True)
class FoldsSpec:
    """Perturbations and genes are each cut into k parts, once for each seed in `cuts`."""

    k: int = setting(5, "Number of parts into which perturbations and genes are each cut.", least=2)
    cuts: tuple[int, ...] = setting((0,), "The seeds of the cuts.", least=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Arm:
    """One arm: an existing run (`run`), a method with settings (`method`), or an arm or run fused with something (`base`).

    options, model, endpoint, token_budget, calls: of a method. others: runs to fuse with the base. knn: options of a kNN that
    is made for each cut and fused with the base. w_de, w_dir: weights of the fused component, which has both; by_agreement: as
    in `FusionSettings`. against: the control arm; "" for the first. placebo: metrics that the change from the control cannot
    affect. several: whether it may differ from the control in more than one thing.
    """

    name: str = setting(MISSING, "The arm's name.")
    run: str | None = setting(None, "An existing run as the arm.")
    method: str | None = setting(None, "The method that makes the arm's runs.")
    options: Mapping[str, Any] = setting({}, "Options of the method.")
    model: str | None = one_model()
    endpoint: str | None = several_servers()
    token_budget: int | None = most_tokens("Token budget of each run of the arm.")
    calls: CallSettings = field(default_factory=CallSettings)
    base: str | None = setting(None, "The arm or run that is the base of a fusion.")
    others: tuple[str, ...] = setting((), "The run to fuse with the base.", name="with")
    knn: Mapping[str, Any] | None = setting(None, "Settings of a kNN to compute for each cut and fuse with the base.")
    w_de: float | None = setting(None, "The weight of the fused component for DE.", **ONE_WEIGHT)
    w_dir: float | None = setting(None, "The weight of the fused component for DIR.", **ONE_WEIGHT)
    by_agreement: bool = less_in_disagreement()
    against: str = setting("", "The control arm; by default the first.")
    placebo: tuple[str, ...] = setting((), "Metrics that the change cannot affect.", choices=PLACEBOS)
    several: bool = setting(False, "Whether the arms may differ in more than one thing.")

    @property
    def weights(self) -> tuple[float, float]:
        """The weights of the fused component, for DE and for DIR. Raise InputError for an arm that fuses nothing."""
        if self.w_de is None or self.w_dir is None:
            raise InputError(f"arm {self.name!r}: has no weights, expected w_de and w_dir")
        return self.w_de, self.w_dir


_OF_EVERY_ARM = ("name", "against", "placebo", "several")
_OF_RUN, _OF_FUSION = ("run",), ("base", "with", "knn", "w_de", "w_dir", "by_agreement")
KEYS: Mapping[str, tuple[str, ...]] = {  # keys of an arm by its kind: what no other kind names is of a method
    "run": (*_OF_EVERY_ARM, *_OF_RUN),
    "method": tuple(option.name for option in options_of(Arm) if option.name not in (*_OF_RUN, *_OF_FUSION)),
    "base": (*_OF_EVERY_ARM, *_OF_FUSION),
}


@dataclass(frozen=True, slots=True)
class NoiseSpec:
    """The arm to repeat with other seeds. It measures the difference without any change."""

    arm: str = setting(MISSING, "The arm to repeat.")
    seeds: tuple[int, ...] = setting((1,), "The seeds of its further runs.", least=0)


@dataclass(frozen=True, slots=True)
class PlanSpec:
    """The sources of a plan's variances before the benchmark's own runs are done.

    like: two runs that differ like the arms. correlation: without such runs, the correlation of the scores of an arm and its
    control over drawn rows, perturbations and genes; the variance is then the control's.
    """

    like: tuple[str, str] | None = setting(None, "Two runs that differ like the arms.")
    correlation: float | None = setting(None, "Correlation of the scores of an arm and its control.", least=-1, most=0.999)
    power: float = setting(0.8, "Power: the probability of detecting the smallest effect.", least=0.05, most=0.999)


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchmarkSpec:
    """A benchmark.

    primary: the deciding metric, fixed beforehand; smallest_effect: its smallest relevant change. seeds: of the models' calls;
    arms without calls are made once. text: the content of the file.
    """

    name: str = setting(MISSING, "The benchmark's name.")
    question: str = setting("", "What is asked.")
    dataset: str | None = setting(None, "The dataset; by default the only one except the demo.")
    primary: Metric = setting(MISSING, "The deciding metric.")
    smallest_effect: float = smallest_difference(MISSING)
    seeds: tuple[int, ...] = setting((0,), "The seeds of the models' calls.", least=0)
    rows: RowsSpec = part(RowsSpec())
    folds: FoldsSpec = part(FoldsSpec())
    arms: tuple[Arm, ...] = part()
    noise: NoiseSpec | None = part(None)
    hypothesis: HypothesisSpec | None = part(None)
    plan: PlanSpec = part(PlanSpec(), compare=False)
    text: str = field(repr=False, compare=False)

    def arm(self, name: str) -> Arm:
        """Return the arm with this name. Raise InputError."""
        found = next((arm for arm in self.arms if arm.name == name), None)
        if found is None:
            raise InputError(f"arm {name!r}: not in this benchmark, which has {', '.join(arm.name for arm in self.arms)}")
        return found

    def control_of(self, arm: Arm) -> Arm:
        """Return the control of an arm."""
        return self.arm(arm.against) if arm.against else self.arms[0]

    @property
    def rule(self) -> DecisionRule:
        """The rule of its hypothesis. Raise InputError if it names none."""
        if self.hypothesis is None:
            raise InputError(f"benchmark {self.name!r}: names no hypothesis, expected a table [hypothesis]")
        return DecisionRule(METRIC_OF_RULE[self.primary], self.hypothesis.level, self.hypothesis.unit, self.smallest_effect)

    def unit_of(self, arm: Arm) -> DecisionUnit:
        """Return the units resampled for an arm's deciding interval: those of its hypothesis, by default perturbations and
        genes.
        """
        about = self.hypothesis
        return about.unit if about is not None and about.arm == arm.name else "two-way"

    @property
    def tested(self) -> tuple[Arm, ...]:
        """The arms with a control: all except the first."""
        return self.arms[1:]


def read_benchmark(path: Path) -> BenchmarkSpec:
    """Return the benchmark in a TOML file. Raise InputError, with file, line and key, for invalid content."""
    table = read_toml(path)
    return _read(table, path.read_text("utf-8-sig"))


def parse_benchmark(text: str, file: str = "specification") -> BenchmarkSpec:
    """Return the benchmark in a text; see `read_benchmark`."""
    return _read(parse_toml(text, file), text)


def _read(table: TomlTable, text: str) -> BenchmarkSpec:
    arms = tuple(map(_read_arm, table.tables("arms")))
    if len(arms) < 2:
        raise table.error("arms", f"are {len(arms)}, expected two or more tables [[arms]]")
    _check_arms(table, arms)
    about = table.table("hypothesis")
    hypothesis = None if about is None else read_hypothesis(about, [arm.name for arm in arms[1:]])
    spec = table.record(BenchmarkSpec, arms=arms, hypothesis=hypothesis, text=text)
    check_name("benchmark", spec.name)
    _check_parts(table, spec)
    return spec


def _check_parts(table: TomlTable, spec: BenchmarkSpec) -> None:
    """Raise InputError for a seed without a sample, a noise floor without a known arm, and a plan with a single run."""
    rows, noise, plan = (table.table(name) for name in ("rows", "noise", "plan"))
    if rows is not None and spec.rows.run is not None and "seed" in rows.values and "sample" not in rows.values:
        raise rows.error("seed", "has no effect without a sample; expected sample = N too")
    names = [arm.name for arm in spec.arms]
    if noise is not None and spec.noise is not None and spec.noise.arm not in names:
        raise noise.error("arm", f"is {spec.noise.arm!r}, expected {', '.join(names)}")
    if plan is not None and spec.plan.like is not None and len(set(spec.plan.like)) != 2:
        raise plan.error("like", f"is {plan.values['like']!r}, expected two runs that differ like the arms")


def _read_arm(table: TomlTable) -> Arm:
    kinds = [key for key in KEYS if key in table.values]
    if len(kinds) != 1:
        raise table.error("name", f"has {' and '.join(kinds) or 'none'}, expected one of run, method, base")
    table.refuse_unknown(KEYS[kinds[0]])
    arm = table.record(Arm)
    return arm if arm.base is None else replace(arm, knn=_read_fused(table, arm))


def _read_fused(table: TomlTable, arm: Arm) -> dict[str, Any] | None:
    """Return the kNN to fuse with a base, with its spaces separated by commas; None for a run."""
    if (arm.knn is None) == (not arm.others):
        raise table.error("base", 'has no component to fuse, expected a table [arms.knn] or with = "RUN"')
    if len(arm.others) > 1:
        raise table.error("with", f"names {len(arm.others)} runs, expected one: an arm differs from another in one thing")
    for name in ("w_de", "w_dir"):
        if name not in table.values:
            raise table.error(name, f"is missing, expected {option_of(Arm, name).expected}")
    if (knn := table.table("knn")) is None:
        return None
    knn.refuse_unknown(_KNN)
    settings = knn.record(KnnSettings, protocol=EvaluationProtocol())
    return {**knn.values, "spaces": ",".join(settings.spaces)}


def _check_arms(table: TomlTable, arms: Sequence[Arm]) -> None:
    """Raise InputError for two arms with one name, and for an arm that refers to an arm not listed above it."""
    above: list[str] = []
    for arm, at in zip(arms, table.tables("arms"), strict=True):
        if arm.name in above:
            raise at.error("name", f"is {arm.name!r}, which is already an arm; expected another name")
        for key, named in (("base", arm.base), ("against", arm.against)):
            if named and named not in above:
                raise at.error(key, f"is {named!r}, expected an arm above: {', '.join(above) or 'there is none'}")
        above.append(arm.name)


def read_hypothesis(table: TomlTable, tested: Sequence[str]) -> HypothesisSpec:
    """Return the hypothesis of a table [hypothesis].

    tested: names of the arms with a control. Raise InputError, with file, line and key, for invalid content, and without an arm
    if several are tested.
    """
    given = {} if "arm" in table.values or len(tested) != 1 else {"arm": tested[0]}
    if "arm" not in table.values and not given:
        raise table.error("arm", f"is missing, expected one of {', '.join(tested)}")
    found = table.record(HypothesisSpec, **given)
    if found.arm not in tested:
        raise table.error("arm", f"is {found.arm!r}, expected {', '.join(tested)}")
    if found.name is not None:
        check_name("hypothesis", found.name)
    return found
