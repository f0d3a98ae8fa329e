"""The experiment that a TOML file describes: labelled rows, folds, and arms that are runs, methods
or fusions and differ in one thing. docs/experiments.md has every key; an error names file, line and
key."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal

import numpy as np
from annotated_types import Ge

from core.base.errors import InputError
from core.base.experiment import Arm, Experiment, Fused, Hypothesis, Kind, Metric
from core.base.fields.record import option_of, options_of, part
from core.base.fields.setting import Share, Whole, setting
from core.base.fields.toml_table import TomlTable, parse_toml
from core.base.texts import check_name
from core.base.types import TRAIN, Label, Pair
from core.features.experiments.compare import calls_model
from core.features.experiments.kinds.asking import SmallestEffect
from core.llm.call_settings import CallSettings
from core.llm.endpoint import CONCURRENCY
from core.methods.fusion_settings import LessInDisagreement
from core.runs.component_loader import default_dataset
from core.runs.dependencies import load_pairs
from core.runs.request import RunRequest, choose_rows
from core.runs.spec import CallsAtOnce, Model, Servers, TokenBudget
from core.runs.workspace import Workspace
from core.store import predictions, runs
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

    @property
    def fused_text(self) -> str:
        """What is fused, and its weights."""
        what = f"run {self.other}" if self.knn is None else f"a kNN over {self.knn['spaces']}"
        less = ", less where their ranks are far apart" if self.by_agreement else ""
        return f"{what}, weights {self.weights[0]:g} (DE) and {self.weights[1]:g} (DIR){less}"

    @property
    def parts(self) -> dict[str, object]:
        """What makes a fused arm, or one of a method, by name."""
        if self.base is None:
            named = {"method": self.method, "model": self.model}
            return {**named, **self.calls.identity, **self.options}
        knn, agreement = self.knn or {}, self.by_agreement
        return {"weights": self.weights, "with": self.other, "by agreement": agreement, **knn}


_EVERY = ("name", "note", "against", "several")
_FUSED = ("base", "with", "knn", "w_de", "w_dir", "by_agreement")
_OTHERS = {option.name for option in options_of(FileArm)}.difference(_EVERY, _FUSED, ["run"])
KEYS: Mapping[str, tuple[str, ...]] = {  # of an arm, by the key that says how it is made
    "run": (*_EVERY, "run"),
    "method": (*_EVERY, *sorted(_OTHERS)),
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
    arms: dict[str, FileArm] = {}
    for at in tables:
        arm = _read_arm(at)
        if arm.name in arms:
            raise at.error("name", f"is {arm.name!r}, which is already an arm; expected another")
        for key, named in (("base", arm.base), ("against", arm.against)):
            if named and named not in arms:
                expected = f"an arm above: {', '.join(arms) or 'there is none'}"
                raise at.error(key, f"is {named!r}, expected {expected}")
        arms[arm.name] = arm
    spec = table.record(FileExperiment, arms=tuple(arms.values()), changes={})
    check_name("experiment", spec.name)
    base = spec.base or next(iter(arms))
    if base not in arms:
        raise table.error("base", f"is {base!r}, expected {', '.join(arms)}")
    about = table.table("hypothesis")
    if set(spec.noise_seeds or ()) & set(spec.seeds):
        seeds = table.values["noise_seeds"]
        raise table.error("noise_seeds", f"is {seeds}, expected seeds that are not in seeds")
    hypothesis, tested = spec.hypothesis, [name for name in arms if name != base]
    if about is not None and hypothesis is not None:
        if not hypothesis.arm and len(tested) == 1:
            hypothesis = replace(hypothesis, arm=tested[0])
        if hypothesis.arm not in tested:
            got = f"is {hypothesis.arm!r}" if hypothesis.arm else "is missing"
            raise about.error("arm", f"{got}, expected {', '.join(tested)}")
    changes = {
        arm.name: _change(at, arm, arms[arm.against or base])
        for arm, at in zip(arms.values(), tables, strict=True)
        if arm.name != base
    }
    return replace(spec, base=base, hypothesis=hypothesis, changes=changes)


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


def _change(table: TomlTable, arm: FileArm, control: FileArm) -> str | None:
    """Return what an arm changes; None if that cannot be checked. Raise InputError if it is
    nothing, or several things."""
    if arm.base == control.name:
        return f"fused with {arm.fused_text}"
    if control.base == arm.name:
        return f"not fused with {control.fused_text}"
    if arm.base != control.base or arm.run is not None or control.run is not None:
        return None
    before, after = control.parts, arm.parts
    names = [name for name in {**before, **after} if before.get(name) != after.get(name)]
    if "method" in names:  # other methods have other options
        names = ["method"]
    if not names or (len(names) > 1 and not arm.several):
        what = f"differs from {control.name!r} in {len(names)} things ({', '.join(names)})"
        raise table.error(
            "name", f"is {arm.name!r}, which {what}, expected one; several = true allows more"
        )
    return "; ".join(f"{name}: {_text(before, name)} → {_text(after, name)}" for name in names)


def _text(parts: Mapping[str, object], name: str) -> str:
    return "default" if parts.get(name) is None else str(parts[name])


METRIC_OF: dict[str, Metric] = {"DE": "de", "DIR": "dir", "mean": "mean"}
FILE_QUESTION = "What does one change of an arm do to the scores, on rows whose labels no arm saw?"


@dataclass(frozen=True, slots=True)
class FileSettings:
    """The content of a file, and what errors call it. endpoint, concurrency: how all of its arms
    are asked."""

    text: Annotated[
        str,
        setting("The content of a TOML file: rows, folds, arms, and what decides.", title="File"),
    ]
    file: Annotated[
        str, setting("The file's name, for errors.", where="command", changes_result=False)
    ] = "specification"
    rows: Annotated[str | tuple[str, ...], setting("Which of the file's rows; by default all.")] = (
        ""
    )
    endpoint: Annotated[
        Servers, setting("A model server's address ending in /v1; by default as each arm says.")
    ] = None
    concurrency: CallsAtOnce = CONCURRENCY


def build_file(workspace: Workspace, settings: FileSettings) -> Experiment:
    """Return the experiment of a file. Raise InputError for invalid content, and for rows without a
    label."""
    spec = parse_experiment(settings.text, settings.file)
    dataset = default_dataset(workspace, spec.dataset).id
    pairs = [*load_pairs(workspace.store, dataset).values()]
    of_run = None
    if spec.rows.run is not None:
        with workspace.store.read() as db:
            of_run = predictions.frame(db, runs.find_predicting(db, spec.rows.run).id)[
                "pair_id"
            ].tolist()
    wanted = set(choose_labelled_rows(pairs, spec.rows, of_run))
    rows = choose_rows([pair for pair in pairs if pair.pair_id in wanted], settings.rows)
    arms = [_arm(spec, arm, settings, dataset, rows) for arm in spec.arms]
    base = next(arm for arm in arms if arm.name == spec.base)
    calls = calls_model(base, arms)
    again = (max(spec.seeds) + 1,) if spec.noise_seeds is None else spec.noise_seeds
    return Experiment(
        spec.name,
        spec.question or FILE_QUESTION,
        dataset,
        base,
        tuple(arm for arm in arms if arm is not base),
        rows,
        spec.folds.k,
        spec.folds.cuts,
        spec.seeds,
        again if calls else (),
        metric=METRIC_OF[spec.primary],
        smallest_effect=spec.smallest_effect,
        contrasts=tuple(
            (arm.name, arm.against) for arm in spec.arms if arm.against not in ("", spec.base)
        ),
        hypothesis=spec.hypothesis,
        remarks=tuple(_remarks(spec, calls)),
    )


def _arm(
    spec: FileExperiment, arm: FileArm, settings: FileSettings, dataset: str, rows: tuple[str, ...]
) -> Arm:
    change = "" if arm.name == spec.base else spec.changes[arm.name] or "another run"
    if arm.run is not None:
        return Arm(arm.name, change, run=arm.run, note=arm.note)
    if arm.base is not None:
        fused = Fused(
            arm.base,
            arm.knn if arm.knn is not None else str(arm.other),
            arm.weights,
            arm.by_agreement,
        )
        return Arm(arm.name, change, fused=fused, note=arm.note)
    request = RunRequest(
        str(arm.method),
        dataset,
        arm.options,
        rows,
        model=arm.model,
        calls=arm.calls,
        endpoint=settings.endpoint or arm.endpoint,
        concurrency=settings.concurrency,
        token_budget=arm.token_budget,
    )
    return Arm(arm.name, change, request, note=arm.note)


def _remarks(spec: FileExperiment, calls: bool) -> Iterable[str]:
    if not calls and spec.arm(spec.base).run is None:
        yield f"{spec.base} calls no model: asked again, it would answer the same."
    for name, change in spec.changes.items():
        if change is None:
            yield (
                f"Whether {name} changes one thing only cannot be checked: it is compared with"
                " another run."
            )


def choose_labelled_rows(
    pairs: Sequence[Pair], spec: FileRows, of_run: Iterable[str] | None
) -> tuple[str, ...]:
    """Return the ids of the rows that a file says, in the dataset's order.

    of_run: the ids of the run that it names. Without a run: the labelled training rows, or all
    labelled rows of a dataset that has no training rows. Raise InputError without a labelled row,
    and for a sample that is larger than the rows there are.
    """
    labelled = [pair for pair in pairs if pair.label is not None]
    if of_run is not None:
        wanted = set(of_run)
        rows = [pair for pair in labelled if pair.pair_id in wanted]
    else:
        rows = [pair for pair in labelled if pair.split == TRAIN] or labelled
    if not rows:
        where = f"none of run {spec.run}" if spec.run else "no row of the dataset"
        raise InputError(f"rows: {where} has a label, expected some")
    if spec.sample is None:
        return tuple(pair.pair_id for pair in rows)
    if spec.sample > len(rows):
        raise InputError(
            f"rows: a sample of {spec.sample:,}, expected at most the number of labelled rows,"
            f" {len(rows):,}"
        )
    return tuple(
        rows[i].pair_id
        for i in draw_stratified([str(pair.label) for pair in rows], spec.sample, spec.seed)
    )


def draw_stratified(labels: Sequence[str], n: int, seed: int) -> list[int]:
    """Return the sorted positions of n rows, drawn without replacement, so that each label keeps
    its share to within one row.

    Places left by rounding down go to the labels with the largest remainders; ties follow the order
    of `Label`.
    """
    rng, every = np.random.default_rng(seed), np.array(labels, dtype=str)
    strata = [rows for label in Label if len(rows := np.flatnonzero(every == str(label)))]
    exact = n * np.array([len(rows) for rows in strata]) / len(labels)
    sizes = exact.astype(np.intp)
    sizes[np.argsort(sizes - exact, kind="stable")[: n - sizes.sum()]] += 1
    drawn = [
        rng.choice(rows, size, replace=False) for rows, size in zip(strata, sizes, strict=True)
    ]
    return sorted(np.concatenate(drawn).tolist())


FILE = Kind("file", "What a file says", FILE_QUESTION, FileSettings, build_file)
