"""Run a benchmark: every arm is a run, so that it has traces, a journal and can be resumed; finished runs are not repeated."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from core.actions import benchmark_ledger, launch
from core.actions.component_loader import WorkspaceComponents, default_dataset
from core.actions.launch import FindMethod
from core.actions.studies import Progress, Study, StudyJob, find_done, run_to_end
from core.actions.workspace import Workspace
from core.engine.dependencies import load_pairs
from core.engine.request import RunRequest
from core.engine.spec import LabelViewSpec
from core.errors import InputError, NotFound, StateError, Unreachable
from core.experiments.arm_differences import check_arms
from core.experiments.benchmark_rows import choose_benchmark_rows
from core.experiments.benchmark_spec import Arm, BenchmarkSpec, PlanSpec, Replicate, parse_benchmark
from core.fields.record import identity_of
from core.hashes import KEY_DIGITS, sha256_of
from core.log import LOGGER
from core.methods.base import DerivedMethod, Method, method_named
from core.methods.fusion_settings import FusionSettings, fusion_options
from core.methods.prompts import read_seeds
from core.store import predictions, runs
from core.store.datasets import Dataset
from core.store.hypotheses import Entry
from core.store.runs import Run

SEED_STEP = 1000
PAGE = "benchmark"  # of the presets that benchmarks are saved as


@dataclass(frozen=True, slots=True)
class SavedBenchmark:
    """A benchmark that was started here. rows: ids; runs: arm → replicate → run id, of the runs that are done."""

    spec: BenchmarkSpec
    dataset: str
    rows: tuple[str, ...]
    runs: Mapping[str, Mapping[Replicate, str]]

    def as_json(self) -> dict[str, Any]:
        """Return plain data from which `read_saved` makes an equal record."""
        made = {arm: [[*replicate, run] for replicate, run in of_arm.items()] for arm, of_arm in self.runs.items()}
        return {"name": self.spec.name, "spec": self.spec.text, "dataset": self.dataset, "rows": list(self.rows), "runs": made}

    @property
    def is_done(self) -> bool:
        """Whether every run of every arm is done."""
        return all(set(self.runs.get(arm.name, {})) >= set(replicates_of(self.spec, arm)) for arm in self.spec.arms)


def read_saved(values: Mapping[str, Any]) -> SavedBenchmark:
    """Return the record that `SavedBenchmark.as_json` was made from."""
    spec = replace(parse_benchmark(values["spec"], values["name"]), name=values["name"])
    made = {arm: {(cut, seed): run for cut, seed, run in of_arm} for arm, of_arm in values["runs"].items()}
    return SavedBenchmark(spec, values["dataset"], tuple(values["rows"]), made)


@dataclass(slots=True)
class _Arms:
    """Makes the runs of a benchmark, each once. made: (arm, cut, seed) → run."""

    workspace: Workspace
    spec: BenchmarkSpec
    dataset: Dataset
    rows: tuple[str, ...]
    loader: WorkspaceComponents
    overwrite: bool
    start: bool
    method: FindMethod
    say: Callable[[str], object] = LOGGER.info
    made: dict[tuple[str, int, int], Run | None] = field(default_factory=dict)

    def run_of(self, arm: Arm, cut: int, seed: int) -> Run | None:
        """Return the finished run of an arm; None if nothing may be started and it is not there."""
        key = arm.name, cut, seed
        if key not in self.made:
            self.made[key] = self._make(arm, cut, seed)
        return self.made[key]

    def _make(self, arm: Arm, cut: int, seed: int) -> Run | None:
        if arm.run is not None:
            return self._load_existing(arm.run)
        if arm.method is not None:
            return self._finish(self._method_request(arm, cut, seed))
        base = self.run_of(self.spec.arm(str(arm.base)), cut, seed)
        other = self._load_existing(arm.others[0]) if arm.knn is None else self._finish(self._knn_request(arm, cut))
        if base is None or other is None:
            return None
        w_de, w_dir = arm.weights
        settings = FusionSettings(base.id, (other.id,), (w_de,), (w_dir,), by_agreement=arm.by_agreement)
        request = RunRequest("fusion", self.dataset.id, fusion_options(settings), self.rows, self._name(arm, cut, seed))
        return self._finish(request)

    def _load_existing(self, name: str) -> Run:
        run = self.loader.run(name)
        if run.dataset != self.dataset.id:
            raise InputError(f"{run.name}: a run of another dataset than {self.dataset.name}, expected one of its own")
        if run.status == "interrupted":  # its worker took the signal for itself; it is meant for the benchmark too
            raise KeyboardInterrupt
        if run.status != "done":
            raise StateError(f"{run.name}: is {run.status}, expected a run that is done")
        return run

    def _method_request(self, arm: Arm, cut: int, seed: int) -> RunRequest:
        name, found = self._name(arm, cut, seed), self.method(str(arm.method))
        if isinstance(found, DerivedMethod):
            if found.name != "knn":
                raise InputError(f"arm {arm.name!r}: method {found.name}, expected base = ARM and a component to fuse with it")
            return RunRequest("knn", self.dataset.id, self._under_cut(arm.options, cut), self.rows, name)
        return RunRequest(
            method=found.name,
            dataset=self.dataset.id,
            options=shift_seeds(found, arm.options, seed),
            rows=self.rows,
            name=name,
            model=arm.model,
            labels=LabelViewSpec("folds", self.spec.folds.k, cut),
            seed=seed,
            calls=arm.calls,
            endpoint=arm.endpoint,
            token_budget=arm.token_budget,
        )

    def _knn_request(self, arm: Arm, cut: int) -> RunRequest:
        name = f"{self.spec.name}: kNN of {arm.name}, cut {cut}"
        return RunRequest("knn", self.dataset.id, self._under_cut(arm.knn or {}, cut), self.rows, name)

    def _under_cut(self, options: Mapping[str, Any], cut: int) -> dict[str, Any]:
        return {**options, "protocol": "folds", "folds": self.spec.folds.k, "seed": cut}

    def _name(self, arm: Arm, cut: int, seed: int) -> str:
        with_seed = f", seed {seed}" if calls_model(self.spec, arm, self.method) else ""
        return f"{self.spec.name}: {arm.name}, cut {cut}{with_seed}"

    def _finish(self, request: RunRequest) -> Run | None:
        """Return the run of a request, worked on here until it is done; resumed if an earlier worker left it."""
        spec = launch.resolve(self.workspace, request, components=self.loader, method=self.method)
        if not self.start:
            return find_done(self.workspace, spec)
        return run_to_end(
            self.workspace, request, spec, components=self.loader, replace=self.overwrite, method=self.method, say=self.say
        )


def shift_seeds(method: Method, options: Mapping[str, Any], seed: int) -> dict[str, Any]:
    """Return options whose calls change with the seed: a method with its own seeds ignores the run's.

    SEED_STEP times the seed is added to each of those; seed 0 leaves them as they are.
    """
    named = next((options.get(option.name, option.default) for option in method.options if option.name == "seeds"), "")
    if seed == 0 or not str(named).strip():
        return dict(options)
    return {**options, "seeds": ",".join(str(each + SEED_STEP * seed) for each in read_seeds(str(named)))}


def run_benchmark(
    workspace: Workspace,
    spec: BenchmarkSpec,
    *,
    overwrite: bool = False,
    progress: Progress | None = None,
    method: FindMethod = method_named,
) -> SavedBenchmark:
    """Make every missing run of a benchmark in this process, and save it under its name.

    After a kill, it can be started again: finished runs are found by their specification, the others are resumed. Raises
    StateError if another benchmark has the name, unless `overwrite`; InputError for arms that differ in several things. The
    hypothesis that it names is registered before the first run, and its result recorded after the last.
    """
    save_benchmark(workspace, spec, overwrite=overwrite, method=method)
    with STUDY.work_on(workspace, job_key(spec.name)) as reporter:
        arms = _prepare(workspace, spec, overwrite=overwrite, start=True, method=method)
        arms.say = lambda why: reporter.update(what=why)
        wanted = [(arm, cut, seed) for arm in spec.arms for cut, seed in replicates_of(spec, arm, method)]
        n_here = sum(arm.run is not None for arm, *_ in wanted)  # existing runs
        wanted.sort(key=lambda each: each[0].run is None)
        for i, (arm, cut, seed) in enumerate(wanted):
            reporter.report(i / len(wanted), f"{arm.name}, cut {cut}, seed {seed}")
            if progress is not None and arm.run is None:
                progress(f"{arm.name}, cut {cut}, seed {seed}", i - n_here, len(wanted) - n_here)
            arms.run_of(arm, cut, seed)
        saved = _record_of(arms)
        STUDY.save(workspace, spec.name, saved)
        record_result(workspace, saved)
        return saved


def record_result(workspace: Workspace, saved: SavedBenchmark) -> Entry | None:
    """Record the result of the hypothesis that a finished benchmark names; twice the same changes nothing."""
    return benchmark_ledger.record_result(workspace, saved.spec, saved.dataset, saved.rows, saved.runs)


def save_benchmark(
    workspace: Workspace, spec: BenchmarkSpec, *, overwrite: bool = False, method: FindMethod = method_named
) -> SavedBenchmark:
    """Save a benchmark under its name before its first run, and register the hypothesis that it names.

    Return it, with its runs if it was there already. Raise what `run_benchmark` raises before its first run.
    """
    workspace.refuse_if_read_only(STUDY.command, spec.name)
    check_arms(spec)
    known = STUDY.get_saved(workspace, spec.name)
    same = known if known is not None and _asks_same(known.spec, spec) else None
    if known is not None and same is None and not overwrite:
        raise StateError(f"benchmark {spec.name!r}: exists with another specification; choose another name, or use --replace")
    if spec.hypothesis is not None:
        there = find_benchmark(workspace, spec, method)
        benchmark_ledger.register_hypothesis(workspace, spec, there.dataset, there.runs)
    if same is None:
        arms = _prepare(workspace, spec, overwrite=overwrite, start=False, method=method)
        saved = SavedBenchmark(spec, arms.dataset.id, arms.rows, {})
    else:
        saved = replace(same, spec=spec)
    STUDY.save(workspace, spec.name, saved)
    return saved


def _asks_same(one: BenchmarkSpec, other: BenchmarkSpec) -> bool:
    """Return whether two specifications differ at most in what changes no result: where a model is served, say."""
    compared = (replace(spec, text="", plan=PlanSpec()) for spec in (one, other))
    return identity_of(next(compared)) == identity_of(next(compared))


def find_benchmark(workspace: Workspace, spec: BenchmarkSpec, method: FindMethod = method_named) -> SavedBenchmark:
    """Return the benchmark with its finished runs, without starting any. Runs that cannot be planned yet are missing."""
    arms = _prepare(workspace, spec, overwrite=False, start=False, method=method)
    for arm in spec.arms:
        for cut, seed in replicates_of(spec, arm, method):
            try:
                arms.run_of(arm, cut, seed)
            except (NotFound, StateError, Unreachable):  # a run or space that is yet to be made, a model that nobody named
                arms.made[arm.name, cut, seed] = None
    return _record_of(arms)


def _prepare(workspace: Workspace, spec: BenchmarkSpec, *, overwrite: bool, start: bool, method: FindMethod) -> _Arms:
    dataset = default_dataset(workspace, spec.dataset)
    of_run = None
    if spec.rows.run is not None:
        with workspace.store.read() as db:
            of_run = predictions.frame(db, runs.find_predicting(db, spec.rows.run).id)["pair_id"].tolist()
    rows = choose_benchmark_rows([*load_pairs(workspace.store, dataset.id).values()], spec.rows, of_run)
    return _Arms(workspace, spec, dataset, rows, WorkspaceComponents(workspace, dataset), overwrite, start, method)


def _record_of(arms: _Arms) -> SavedBenchmark:
    made: dict[str, dict[Replicate, str]] = {arm.name: {} for arm in arms.spec.arms}
    for (arm, cut, seed), run in arms.made.items():
        if run is not None:
            made[arm][cut, seed] = run.id
    return SavedBenchmark(arms.spec, arms.dataset.id, arms.rows, made)


def calls_model(spec: BenchmarkSpec, arm: Arm, method: FindMethod = method_named) -> bool:
    """Return whether another seed can give an arm other answers: it, or the arm that it is made from, calls a model."""
    if arm.base is not None:
        return calls_model(spec, spec.arm(arm.base), method)
    return arm.method is not None and method(arm.method).needs_model


def replicates_of(spec: BenchmarkSpec, arm: Arm, method: FindMethod = method_named) -> list[Replicate]:
    """Return the cuts and seeds that an arm is made under; those of the noise floor are the last."""
    seeds = [*spec.seeds]
    if not calls_model(spec, arm, method):
        seeds = seeds[:1]
    elif spec.noise is not None and spec.noise.arm == arm.name:
        seeds += [seed for seed in spec.noise.seeds if seed not in seeds]
    return [(cut, seed) for seed in seeds for cut in spec.folds.cuts]


def start_apart(workspace: Workspace, spec: BenchmarkSpec) -> None:
    """Start a benchmark in a process that outlives this one, or continue it; one that is running is left alone.

    Raise what `run_benchmark` raises before its first run, and StateError if the process ends before it begins.
    """
    save_benchmark(workspace, spec)
    file = STUDY.job_of(workspace, job_key(spec.name)).path / "spec.toml"
    STUDY.start_apart(workspace, file, spec.text, str(file), "--name", spec.name)


def _resume(workspace: Workspace, saved: SavedBenchmark) -> None:
    start_apart(workspace, saved.spec)


def job_key(name: str) -> str:
    """Return the key of the job that makes the runs of a benchmark of this name."""
    return sha256_of(name)[:KEY_DIGITS]


def _describe_job(saved: SavedBenchmark, _: Mapping[str, str]) -> StudyJob:
    name = saved.spec.name
    return StudyJob(job_key(name), name, {"dataset": saved.dataset, "benchmark": name}, saved.is_done)


STUDY = Study(PAGE, "benchmark", read_saved, _describe_job, _resume)
