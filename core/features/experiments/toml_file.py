"""Read an experiment out of a TOML file: rows, folds, arms that differ in one thing, and what
decides. docs/experiments.md has every key; an error names file, line and key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal

from annotated_types import Ge

from core.base.experiment import Hypothesis
from core.base.fields.record import option_of, options_of, part
from core.base.fields.setting import Share, Whole, setting
from core.base.fields.toml_table import TomlTable, parse_toml
from core.base.texts import check_name
from core.features.experiments.kinds.asking import SmallestEffect
from core.llm.call_settings import CallSettings
from core.methods.fusion_settings import LessInDisagreement
from core.runs.spec import Model, Servers, TokenBudget
from core.transfer.knn_settings import KnnSettings
from core.transfer.protocols import EvaluationProtocol


@dataclass(frozen=True, slots=True)
class FileRows:
    """The rows: the labelled ones of a run, or a sample of the labelled training rows."""

    run: Annotated[
        str | None, setting("The run whose rows count; by default the labelled training rows.")
    ] = None
    sample: Annotated[
        Annotated[int, Ge(2)] | None, setting("Rows to draw, stratified by label; by default all.")
    ] = None
    seed: Annotated[Whole, setting("The seed of the sample.")] = 0


@dataclass(frozen=True, slots=True)
class FileFolds:
    """Perturbations and genes are each cut into k parts, once for each seed in `cuts`."""

    k: Annotated[int, Ge(2), setting("Parts into which perturbations and genes are each cut.")] = 5
    cuts: Annotated[tuple[Whole, ...], setting("The seeds of the cuts.")] = (0,)


@dataclass(frozen=True, slots=True, kw_only=True)
class FileArm:
    """An arm: an existing run (`run`), a method with settings (`method`), or an arm above fused
    with something (`base`)."""

    name: Annotated[str, setting("The arm's name.")]
    note: Annotated[str, setting("A remark that is shown beside its numbers.")] = ""
    against: Annotated[
        str, setting("The arm that it changes one thing of; by default the base.")
    ] = ""
    several: Annotated[bool, setting("Whether it may change more than one thing.")] = False
    run: Annotated[str | None, setting("An existing run as the arm.")] = None
    method: Annotated[str | None, setting("The method that makes the arm's runs.")] = None
    options: Annotated[Mapping[str, Any], setting("Options of the method.")] = field(
        default_factory=dict
    )
    model: Model = None
    endpoint: Servers = None
    token_budget: Annotated[TokenBudget, setting("Token budget of each run of the arm.")] = None
    calls: CallSettings = field(default_factory=CallSettings)
    base: Annotated[str | None, setting("The arm to fuse something with.")] = None
    other: Annotated[str | None, setting("The run to fuse with it.", name="with")] = None
    knn: Annotated[
        Mapping[str, Any] | None, setting("A kNN to compute for each cut and fuse with it.")
    ] = None
    w_de: Annotated[Share | None, setting("The weight of what is fused for DE.")] = None
    w_dir: Annotated[Share | None, setting("The weight of what is fused for DIR.")] = None
    by_agreement: LessInDisagreement = False

    @property
    def weights(self) -> tuple[float, float]:
        """The weights of what is fused, for DE and for DIR. A fused arm has both."""
        return self.w_de or 0.0, self.w_dir or 0.0


_EVERY = ("name", "note", "against", "several")
_FUSED = ("base", "with", "knn", "w_de", "w_dir", "by_agreement")
KEYS: Mapping[str, tuple[str, ...]] = {  # of an arm, by the key that says how it is made
    "run": (*_EVERY, "run"),
    "method": tuple(
        option.name for option in options_of(FileArm) if option.name not in ("run", *_FUSED)
    ),
    "base": (*_EVERY, *_FUSED),
}
_CUT = [option.name for option in options_of(EvaluationProtocol)]  # which the folds say
_KNN = [option.name for option in options_of(KnnSettings) if option.name not in _CUT]


@dataclass(frozen=True, slots=True, kw_only=True)
class FileExperiment:
    """The content of a file. base: by default the first arm. changes: arm → what it changes, None
    if that cannot be checked."""

    name: Annotated[str, setting("The experiment's name.")]
    question: Annotated[str, setting("What is asked.")] = ""
    dataset: Annotated[
        str | None, setting("The dataset; by default the only one except the demo.")
    ] = None
    primary: Annotated[Literal["DE", "DIR", "mean"], setting("The metric that decides.")]
    smallest_effect: SmallestEffect
    base: Annotated[
        str, setting("The arm that the others are compared with; by default the first.")
    ] = ""
    seeds: Annotated[tuple[Whole, ...], setting("The seeds under which models are called.")] = (0,)
    noise_seeds: Annotated[
        tuple[Whole, ...] | None, setting("Further seeds, of the base asked again.")
    ] = None
    rows: FileRows = part(FileRows())
    folds: FileFolds = part(FileFolds())
    arms: tuple[FileArm, ...] = part()
    hypothesis: Hypothesis | None = part(None)
    changes: Mapping[str, str | None] = field(default_factory=dict)

    def arm(self, name: str) -> FileArm:
        """Return the arm of this name."""
        return next(arm for arm in self.arms if arm.name == name)


def parse_experiment(text: str, file: str = "specification") -> FileExperiment:
    """Return the experiment in a TOML text. Raise InputError, with file, line and key, for invalid
    content."""
    table = parse_toml(text.removeprefix("\ufeff"), file)  # a mark that editors write first
    tables = table.tables("arms")
    if len(tables) < 2:
        raise table.error("arms", f"are {len(tables)}, expected two or more tables [[arms]]")
    arms = tuple(map(_read_arm, tables))
    _check_names(tables, arms)
    names = [arm.name for arm in arms]
    spec = table.record(FileExperiment, arms=arms, changes={})
    check_name("experiment", spec.name)
    base = spec.base or names[0]
    _check_choice(table, "base", base, names)
    spec = replace(
        spec,
        base=base,
        hypothesis=_about_one_arm(table, spec, [name for name in names if name != base]),
    )
    rows = table.table("rows")
    if (
        rows is not None
        and spec.rows.run is not None
        and "seed" in rows.values
        and "sample" not in rows.values
    ):
        raise rows.error("seed", "has no effect without a sample; expected sample = N too")
    if set(spec.noise_seeds or ()) & set(spec.seeds):
        raise table.error(
            "noise_seeds", f"is {table.values['noise_seeds']}, expected seeds that are not in seeds"
        )
    tested = [(arm, at) for arm, at in zip(arms, tables, strict=True) if arm.name != base]
    return replace(
        spec,
        changes={arm.name: _change(at, arm, spec.arm(arm.against or base)) for arm, at in tested},
    )


def _read_arm(table: TomlTable) -> FileArm:
    made = [key for key in KEYS if key in table.values]
    if len(made) != 1:
        raise table.error(
            "name", f"has {' and '.join(made) or 'none'}, expected one of run, method, base"
        )
    table.refuse_unknown(KEYS[made[0]])
    arm = table.record(FileArm)
    if arm.base is None:
        return arm
    if (arm.knn is None) == (arm.other is None):
        raise table.error(
            "base", 'has no component to fuse, expected a table [arms.knn] or with = "RUN"'
        )
    for name in ("w_de", "w_dir"):
        if name not in table.values:
            raise table.error(name, f"is missing, expected {option_of(FileArm, name).expected}")
    knn = table.table("knn")
    if knn is None:
        return arm
    knn.refuse_unknown(_KNN)
    settings = knn.record(KnnSettings, protocol=EvaluationProtocol())
    # as it was written
    return replace(arm, knn={**knn.values, "spaces": ",".join(settings.spaces)})


def _check_names(tables: Sequence[TomlTable], arms: Sequence[FileArm]) -> None:
    """Raise InputError for two arms with one name, and for an arm that refers to one that is not
    above it."""
    above: list[str] = []
    for arm, table in zip(arms, tables, strict=True):
        if arm.name in above:
            raise table.error(
                "name", f"is {arm.name!r}, which is already an arm; expected another name"
            )
        for key, named in (("base", arm.base), ("against", arm.against)):
            if named and named not in above:
                raise table.error(
                    key,
                    f"is {named!r}, expected an arm above: {', '.join(above) or 'there is none'}",
                )
        above.append(arm.name)


def _check_choice(table: TomlTable, key: str, name: str, names: Sequence[str]) -> None:
    if name not in names:
        raise table.error(key, f"is {name!r}, expected {', '.join(names)}")


def _about_one_arm(
    table: TomlTable, spec: FileExperiment, tested: Sequence[str]
) -> Hypothesis | None:
    about = table.table("hypothesis")
    if about is None or spec.hypothesis is None:
        return None
    if not spec.hypothesis.arm and len(tested) > 1:
        raise about.error("arm", f"is missing, expected one of {', '.join(tested)}")
    named = replace(spec.hypothesis, arm=spec.hypothesis.arm or tested[0])
    _check_choice(about, "arm", named.arm, tested)
    return named


def _change(table: TomlTable, arm: FileArm, control: FileArm) -> str | None:
    """Return what an arm changes; None if that cannot be checked. Raise InputError if it is
    nothing, or several things."""
    things = _differences(arm, control)
    if things is None:
        return None
    if not things:
        raise table.error(
            "name", f"is {arm.name!r}, which is equal to {control.name!r}; expected one difference"
        )
    if len(things) > 1 and not arm.several:
        raise table.error(
            "name",
            f"is {arm.name!r}, which differs from {control.name!r} in {len(things)} things"
            f" ({'; '.join(things)}), expected one; several = true allows more, which the result"
            " states",
        )
    return "; ".join(things)


def _differences(arm: FileArm, control: FileArm) -> list[str] | None:
    for fused, other, words in ((arm, control, "fused with"), (control, arm, "not fused with")):
        if fused.base == other.name:
            what = (
                f"a kNN over {fused.knn['spaces']}"
                if fused.knn is not None
                else f"run {fused.other}"
            )
            less = ", less where their ranks are far apart" if fused.by_agreement else ""
            return [
                f"{words} {what}, weights {fused.weights[0]:g} (DE) and {fused.weights[1]:g}"
                f" (DIR){less}"
            ]
    if arm.base != control.base or arm.run is not None or control.run is not None:
        return None
    if arm.method != control.method:
        return [f"method: {control.method} → {arm.method}"]
    before, after = _parts(control), _parts(arm)
    changed = [name for name in {**before, **after} if before.get(name) != after.get(name)]
    return [f"{name}: {_text(before.get(name))} → {_text(after.get(name))}" for name in changed]


def _text(value: object) -> str:
    return "default" if value is None else str(value)


def _parts(arm: FileArm) -> dict[str, object]:
    """Return what makes a fused arm, or one of a method, by name."""
    if arm.base is not None:
        return {
            "weights": arm.weights,
            "with": arm.other,
            "by agreement": arm.by_agreement,
            **(arm.knn or {}),
        }
    return {"model": arm.model, **arm.calls.identity, **arm.options}
