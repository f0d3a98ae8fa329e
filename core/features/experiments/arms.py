"""The runs of the arms of an experiment, each under its cuts and seeds: found by their
specification, or made."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from core.base.errors import InputError, NotFound, StateError
from core.base.experiment import Arm, Experiment
from core.base.fields.record import options_of
from core.base.log import LOGGER
from core.base.result import hidden
from core.features.experiments.compare import calls_model
from core.methods.base import DerivedMethod, method_named
from core.methods.fusion_settings import FusionSettings, fusion_options
from core.methods.prompts import SEED_STEP, read_seeds
from core.runs import launch
from core.runs.component_loader import WorkspaceComponents, default_dataset
from core.runs.dependencies import load_pairs
from core.runs.launch import find_done, refuse_changed, run_to_end
from core.runs.request import RunRequest, choose_rows
from core.runs.spec import LabelViewSpec, RunSpec
from core.runs.workspace import Workspace
from core.store import predictions
from core.store.runs import Run

LONGEST_NAME = 100  # of an experiment and of an arm in the names of their runs


@dataclass(frozen=True, slots=True)
class PlannedRun:
    """An arm under one cut and seed. request: None for a run that is there. spec: None while it
    cannot be resolved, because a run that it is made from is missing or no model is named. run: its
    id, "" if unknown."""

    arm: str
    cut: int
    seed: int
    run: str
    is_done: bool
    request: RunRequest | None = hidden()
    spec: RunSpec | None = hidden()


@dataclass(slots=True)
class ArmRuns:
    """Finds the runs of an experiment, or makes them (`start`), each once. made: (arm, cut, seed) →
    run."""

    workspace: Workspace
    experiment: Experiment
    key: str
    start: bool
    say: Callable[[str], object] = LOGGER.info
    _made: dict[tuple[str, int, int], Run | None] = field(default_factory=dict)
    _loader: WorkspaceComponents = field(init=False)

    def __post_init__(self) -> None:
        self._loader = WorkspaceComponents(
            self.workspace, default_dataset(self.workspace, self.experiment.dataset)
        )

    def arm(self, name: str) -> Arm:
        """Return the arm of a name."""
        return next(arm for arm in self.experiment.every if arm.name == name)

    def replicates(self) -> Iterator[tuple[Arm, int, int]]:
        """Yield each arm under its cuts and seeds, the base first, then as they are listed."""
        for arm in self.experiment.every:
            seeds = self.experiment.seeds
            if not calls_model(arm, self.experiment.every):
                seeds = seeds[:1]
            elif arm is self.experiment.base:
                seeds = tuple(dict.fromkeys((*seeds, *self.experiment.noise_seeds)))
            for seed in seeds:
                yield from ((arm, cut, seed) for cut in self.experiment.cuts)

    def run_of(self, arm: Arm, cut: int, seed: int) -> Run | None:
        """Return the run of an arm, done; None if it is not there and nothing may be started."""
        if not calls_model(arm, self.experiment.every):
            seed = self.experiment.seeds[0]
        key = arm.name, cut, seed
        if key not in self._made:
            self._made[key] = (
                self._existing(arm.run) if arm.run else self._finish(self._request(arm, cut, seed))
            )
        return self._made[key]

    def plan(self, arm: Arm, cut: int, seed: int) -> PlannedRun:
        """Return what `run_of` would make, without starting anything."""
        if arm.run:
            return PlannedRun(arm.name, cut, seed, self._existing(arm.run).id, True, None, None)
        request = self._request(arm, cut, seed)
        spec = None if request is None else self._spec_or_none(arm, request)
        is_done = spec is not None and find_done(self.workspace, spec) is not None
        return PlannedRun(
            arm.name, cut, seed, "" if spec is None else spec.key, is_done, request, spec
        )

    def _existing(self, name: str) -> Run:
        run = self._loader.run(name)
        if run.dataset != self._loader.dataset_id:
            raise InputError(
                f"{run.name}: a run of another dataset than the experiment, expected one of its own"
            )
        if run.status != "done":
            raise StateError(f"{run.name}: is {run.status}, expected a run that is done")
        return run

    def _request(self, arm: Arm, cut: int, seed: int) -> RunRequest | None:
        """Return the request for an arm's run under a cut and a seed; None if a run that it is
        fused from is not there."""
        name = self._name(arm.name, cut, seed if calls_model(arm, self.experiment.every) else None)
        if arm.fused is not None:
            fused = arm.fused
            base = self.run_of(self.arm(fused.base), cut, seed)
            if isinstance(fused.other, str):
                other: Run | None = self._existing(fused.other)
            else:
                about = self._name(f"kNN of {arm.name}", cut, None)
                knn = RunRequest(
                    "knn", self.experiment.dataset, fused.other, self.experiment.rows, about
                )
                other = self._finish(self._under_cut(knn, cut))
            if base is None or other is None:
                return None
            w_de, w_dir = fused.weights
            settings = FusionSettings(
                base.id, (other.id,), (w_de,), (w_dir,), by_agreement=fused.by_agreement
            )
            return RunRequest(
                "fusion",
                self.experiment.dataset,
                fusion_options(settings),
                self.experiment.rows,
                name,
            )
        assert arm.request is not None, arm.name
        return replace(
            self._under_cut(under_seed(arm.request, seed), cut),
            rows=self.experiment.rows,
            name=name,
        )

    def _under_cut(self, request: RunRequest, cut: int) -> RunRequest:
        """Return a request that sees only labels outside the cells of a cut; without folds of the
        experiment as it is."""
        if not self.experiment.k:
            return request
        if not isinstance(method_named(request.method), DerivedMethod):
            return replace(request, labels=LabelViewSpec("folds", self.experiment.k, cut))
        if request.method != "knn":
            raise InputError(
                f"method {request.method}: cannot be made under folds; expected an arm that fuses"
                " with another"
            )
        return replace(
            request,
            options={
                **request.options,
                "protocol": "folds",
                "folds": self.experiment.k,
                "seed": cut,
            },
        )

    def _name(self, what: str, cut: int, seed: int | None) -> str:
        under_cut = f", cut {cut}" if self.experiment.k else ""
        under_seed = f", seed {seed}" if seed is not None else ""
        about = (
            f"{self.experiment.name[:LONGEST_NAME]}: {what[:LONGEST_NAME]}{under_cut}{under_seed}"
        )
        return f"{about} ({len(self.experiment.rows):,} rows, {self.key})"

    def _spec_or_none(self, arm: Arm, request: RunRequest) -> RunSpec | None:
        """Return the specification of a request; None if a server would have to say which model, or
        if a derived method reads what is yet to be made."""
        method = method_named(request.method)
        if method.needs_model and not request.model:
            return None
        try:
            spec = self._spec(request)
        except (NotFound, StateError):
            if not isinstance(method, DerivedMethod):
                raise
            return None
        if self.experiment.again and arm is self.experiment.base:
            run = self._loader.run(self.experiment.again)
            read = {
                name: sha256
                for name, sha256 in run.spec.get("packs", {}).items()
                if name in spec.packs
            }
            compared = {
                "its method's version": (run.spec.get("version"), spec.version),
                "its method's prompts": (run.spec.get("prompts_sha256", ""), spec.prompts_sha256),
                "the rows or labels of its dataset": (
                    run.spec.get("dataset_sha256"),
                    spec.dataset_sha256,
                ),
                "the knowledge packs": (read, dict(spec.packs)),
            }
            refuse_changed(run, [what for what, (before, now) in compared.items() if before != now])
        return spec

    def _spec(self, request: RunRequest) -> RunSpec:
        spec = launch.resolve(self.workspace, request, components=self._loader)
        if not self.experiment.again or isinstance(method_named(request.method), DerivedMethod):
            return spec
        asked = replace(spec, calls=request.calls.identity)  # whatever a file says now
        is_own = asked.key == self.experiment.again  # the run itself has these answers
        return asked if is_own else replace(asked, parents=(self.experiment.again,))

    def _finish(self, request: RunRequest | None) -> Run | None:
        """Return the run of a request, worked on here until it is done; resumed if an earlier
        worker left it."""
        if request is None:
            return None
        if not self.start:
            spec = self._spec_or_none(self.experiment.base, request)
            return None if spec is None else find_done(self.workspace, spec)
        return run_to_end(
            self.workspace, request, self._spec(request), components=self._loader, say=self.say
        )


def under_seed(request: RunRequest, seed: int) -> RunRequest:
    """Return a request asked again under another seed; 0 leaves it as it is.

    Of a method with the option `seeds` these are shifted, and its own seed, which draws examples,
    stays: asking again does not change the prompts.
    """
    named = _seeds_option(request)
    if named is None:
        return replace(request, seed=request.seed + SEED_STEP * seed)
    shifted = ",".join(str(one + SEED_STEP * seed) for one in named)
    return replace(request, options={**request.options, "seeds": shifted}) if seed else request


def _seeds_option(request: RunRequest) -> list[int] | None:
    """Return the seeds of a request whose method has an option for them."""
    settings = options_of(method_named(request.method).settings)
    default = next((option.default for option in settings if option.name == "seeds"), None)
    return (
        None
        if default is None
        else list(read_seeds(str(request.options.get("seeds", default)), request.seed))
    )


def refuse_meeting_seeds(arm: Arm, seeds: Sequence[int]) -> None:
    """Raise InputError if two askings of an arm share a seed: the cache would answer, and they
    would differ too little."""
    named = None if arm.request is None else _seeds_option(arm.request)
    every = [one + SEED_STEP * seed for one in named or () for seed in seeds]
    if len(set(every)) < len(every):
        seeds_text = ", ".join(map(str, named or ()))
        raise InputError(
            f"arm {arm.name!r}: two of its seeds {seeds_text} differ by a multiple of"
            f" {SEED_STEP:,}, as those of asking again do, so they would share answers; expected"
            " other seeds"
        )


def answered_rows(workspace: Workspace, run: Run, wanted: str | tuple[str, ...]) -> tuple[str, ...]:
    """Return the rows of a run that `choose_rows` chooses. Raise InputError."""
    with workspace.store.read() as db:
        answered = set(predictions.frame(db, run.id)["pair_id"])
    return choose_rows(
        [
            pair
            for pair in load_pairs(workspace.store, run.dataset).values()
            if pair.pair_id in answered
        ],
        wanted,
    )
