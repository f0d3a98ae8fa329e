"""The specification of a blinded paired benchmark: rows, folds, arms that differ in one thing, and what decides.

It is one TOML file; docs/benchmarks.md describes every key, docs/examples holds examples.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from core.errors import InputError
from core.experiments import decision
from core.experiments.decision import DecisionRule, DecisionUnit
from core.experiments.hypothesis_spec import HypothesisSpec, read_hypothesis
from core.texts import check_name
from core.toml_table import TomlTable, parse_toml, read_toml

Metric = Literal["DE", "DIR", "mean"]
Replicate = tuple[int, int]  # the seed of a cut and the seed of the models' calls
METRICS: tuple[Metric, ...] = ("DE", "DIR", "mean")
METRIC_OF_RULE: Mapping[Metric, decision.Metric] = {"DE": "de", "DIR": "dir", "mean": "mean"}
PLACEBOS = ("DE", "DIR", "DE within gene", "DIR within gene", "DE within pert", "DIR within pert")
_TOP = (
    *("name", "question", "dataset", "primary", "smallest_effect", "seeds"),
    *("rows", "folds", "arms", "noise", "plan", "hypothesis"),
)
_ARM = ("name", "against", "placebo", "several")
_METHOD = ("method", "options", "model", "endpoint", "token_budget")
_FUSION = ("base", "with", "knn", "w_de", "w_dir")
_KNN = ("spaces", "power", "de_power", "k", "axis", "centre", "strength")


@dataclass(frozen=True, slots=True)
class RowsSpec:
    """The rows of a benchmark: those of a run, or a sample, stratified by label, of the labelled training rows.

    sample: None takes all. seed: of the sample.
    """

    run: str | None = None
    sample: int | None = None
    seed: int = 0


@dataclass(frozen=True, slots=True)
class FoldsSpec:
    """Perturbations and genes are each cut into k parts, once for each seed in `cuts`."""

    k: int = 5
    cuts: tuple[int, ...] = (0,)


@dataclass(frozen=True, slots=True, kw_only=True)
class Arm:
    """One arm: an existing run (`run`), a method with settings (`method`), or an arm or run fused with something (`base`).

    options, model, endpoint, token_budget: of a method. others: runs that are fused with the base. knn: options of a kNN that
    is made for each cut and fused with it. w_de, w_dir: weights of what is fused with the base. against: the arm that it is
    compared with; "" for the first. placebo: metrics that the change from that arm cannot touch. several: whether it may
    differ from that arm in more than one thing.
    """

    name: str
    run: str | None = None
    method: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    model: str | None = None
    endpoint: str | None = None
    token_budget: int | None = None
    base: str | None = None
    others: tuple[str, ...] = ()
    knn: Mapping[str, Any] | None = None
    w_de: float = 0.5
    w_dir: float = 0.5
    against: str = ""
    placebo: tuple[str, ...] = ()
    several: bool = False


@dataclass(frozen=True, slots=True)
class NoiseSpec:
    """The arm that is repeated with other seeds, which measures what no change at all would show."""

    arm: str
    seeds: tuple[int, ...] = (1,)


@dataclass(frozen=True, slots=True)
class PlanSpec:
    """What a plan takes its variances from while the benchmark's own runs are not done.

    like: two runs that differ like the arms do. correlation: without such runs, of the scores of an arm and its control over
    the rows, perturbations and genes that are drawn; the variance is then the control's.
    """

    like: tuple[str, str] | None = None
    correlation: float | None = None
    power: float = 0.8


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchmarkSpec:
    """A benchmark. primary: the metric that decides, fixed beforehand; smallest_effect: the smallest change of it worth having.

    seeds: of the models' calls; arms that call none are made once. text: the file.
    """

    name: str
    question: str
    dataset: str | None
    primary: Metric
    smallest_effect: float
    seeds: tuple[int, ...]
    rows: RowsSpec
    folds: FoldsSpec
    arms: tuple[Arm, ...]
    noise: NoiseSpec | None
    hypothesis: HypothesisSpec | None
    plan: PlanSpec = field(compare=False)
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
    table = read_toml(path)
    return _read(table, path.read_text("utf-8-sig"))


def parse_benchmark(text: str, file: str = "specification") -> BenchmarkSpec:
    """The same of a text."""
    return _read(parse_toml(text, file), text)


def _read(table: TomlTable, text: str) -> BenchmarkSpec:
    table.refuse_unknown(_TOP)
    arms = [_read_arm(each) for each in table.tables("arms")]
    if len(arms) < 2:
        raise table.error("arms", f"are {len(arms)}, expected two or more tables [[arms]]")
    _check_arms(table, arms)
    noise, about = table.table("noise"), table.table("hypothesis")
    name = table.text("name")
    check_name("benchmark", name)
    return BenchmarkSpec(
        name=name,
        question=table.text("question", ""),
        dataset=table.text("dataset", "") or None,
        primary=_metric(table),
        smallest_effect=table.number("smallest_effect", least=1e-6, most=0.5),
        seeds=table.wholes("seeds", (0,)),
        rows=_read_rows(table.table("rows")),
        folds=_read_folds(table.table("folds")),
        arms=tuple(arms),
        noise=None if noise is None else _read_noise(noise, [arm.name for arm in arms]),
        hypothesis=None if about is None else read_hypothesis(about, [arm.name for arm in arms[1:]]),
        plan=_read_plan(table.table("plan")),
        text=text,
    )


def _metric(table: TomlTable) -> Metric:
    found = table.text("primary", choices=METRICS)
    return next(metric for metric in METRICS if metric == found)


def _read_rows(table: TomlTable | None) -> RowsSpec:
    if table is None:
        return RowsSpec()
    table.refuse_unknown(("run", "sample", "seed"))
    run = table.text("run", "") or None
    if run is not None and "seed" in table.values and "sample" not in table.values:
        raise table.error("seed", "has no effect without a sample; expected sample = N beside it")
    return RowsSpec(run, table.whole("sample", least=2) if "sample" in table.values else None, table.whole("seed", 0))


def _read_folds(table: TomlTable | None) -> FoldsSpec:
    if table is None:
        return FoldsSpec()
    table.refuse_unknown(("k", "cuts"))
    return FoldsSpec(table.whole("k", 5, least=2), table.wholes("cuts", (0,)))


def _read_noise(table: TomlTable, arms: Sequence[str]) -> NoiseSpec:
    table.refuse_unknown(("arm", "seeds"))
    return NoiseSpec(table.text("arm", choices=arms), table.wholes("seeds", (1,)))


def _read_plan(table: TomlTable | None) -> PlanSpec:
    if table is None:
        return PlanSpec()
    table.refuse_unknown(("like", "correlation", "power"))
    like = table.texts("like") if "like" in table.values else ()
    if like and len(set(like)) != 2:
        raise table.error("like", f"names {len(set(like))} runs, expected two that differ like the arms do")
    correlation = table.number("correlation", least=-1.0, most=0.999) if "correlation" in table.values else None
    return PlanSpec((like[0], like[1]) if like else None, correlation, table.number("power", 0.8, 0.05, 0.999))


def _read_arm(table: TomlTable) -> Arm:
    kinds = [key for key in ("run", "method", "base") if key in table.values]
    if len(kinds) != 1:
        raise table.error("name", f"has {' and '.join(kinds) or 'nothing'} to be made from, expected one of run, method, base")
    common: dict[str, Any] = {
        "name": table.text("name"),
        "against": table.text("against", ""),
        "placebo": table.texts("placebo", (), PLACEBOS),
        "several": table.flag("several"),
    }
    [kind] = kinds
    if kind == "run":
        table.refuse_unknown((*_ARM, "run"))
        return Arm(**common, run=table.text("run"))
    return Arm(**common, **(_read_method(table) if kind == "method" else _read_fusion(table)))


def _read_method(table: TomlTable) -> dict[str, Any]:
    table.refuse_unknown((*_ARM, *_METHOD))
    options = table.table("options")
    return {
        "method": table.text("method"),
        "options": {} if options is None else dict(options.values),
        "model": table.text("model", "") or None,
        "endpoint": table.text("endpoint", "") or None,
        "token_budget": table.whole("token_budget", least=1) if "token_budget" in table.values else None,
    }


def _read_fusion(table: TomlTable) -> dict[str, Any]:
    table.refuse_unknown((*_ARM, *_FUSION))
    knn, others = table.table("knn"), table.texts("with", ())
    if (knn is None) == (not others):
        raise table.error("base", 'needs something to be fused with, expected a table [arms.knn] or with = "RUN"')
    if len(others) > 1:
        raise table.error("with", f"names {len(others)} runs, expected one: an arm differs from another in one thing")
    if knn is not None:
        knn.refuse_unknown(_KNN)
        knn.texts("spaces")
    return {
        "base": table.text("base"),
        "others": others,
        "knn": None if knn is None else {**knn.values, "spaces": ",".join(knn.texts("spaces"))},
        "w_de": table.number("w_de"),
        "w_dir": table.number("w_dir"),
    }


def _check_arms(table: TomlTable, arms: Sequence[Arm]) -> None:
    """Raises InputError for two arms of one name, and for an arm that names one that does not stand above it."""
    above: list[str] = []
    for arm, at in zip(arms, table.tables("arms"), strict=True):
        if arm.name in above:
            raise at.error("name", f"is {arm.name!r}, which is an arm already; expected another name")
        for key, named in (("base", arm.base), ("against", arm.against)):
            if named and named not in above:
                raise at.error(key, f"is {named!r}, expected an arm above: {', '.join(above) or 'there is none'}")
        above.append(arm.name)
