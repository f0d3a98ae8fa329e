"""The form of an experiment: one question, one base, and arms that each change one thing of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Literal

from core.base.fields.setting import setting

if TYPE_CHECKING:
    from core.base.result import Result
    from core.runs.request import RunRequest
    from core.runs.workspace import Workspace

Measure = Literal["score", "answers"]
Metric = Literal["de", "dir", "mean"]
# arm → (seed of the cut, seed of the calls) → id of its run
Runs = Mapping[str, Mapping[tuple[int, int], str]]


@dataclass(frozen=True, slots=True)
class Fused:
    """An arm that is a fusion of another arm. base: that arm's name. other: the name of a run, or
    the options of a kNN, which is made under each cut. weights: of the other, for DE and for
    DIR."""

    base: str
    other: str | Mapping[str, Any]
    weights: tuple[float, float]
    by_agreement: bool = False


@dataclass(frozen=True, slots=True)
class Arm:
    """One arm. change: the one thing that it changes of the base, in words; "" for the base itself.

    Made in one of three ways: request: of a run, which is asked anew for each cut and seed; run: a
    run that is there; fused: from another arm. note: a remark for people, shown beside its numbers.
    """

    name: str
    change: str = ""
    request: RunRequest | None = None
    run: str = ""
    fused: Fused | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """What is claimed of an arm against the base before the first arm is made, and what will be
    seen if it is true."""

    claim: Annotated[str, setting("What is claimed.")]
    prediction: Annotated[str, setting("What will be seen if it is true.")]
    arm: Annotated[
        str, setting("The arm that it is about; may be left out where one is tested.")
    ] = ""


@dataclass(frozen=True, slots=True)
class Experiment:
    """What is asked, of which rows, and what decides.

    name: of its runs and of its entry in the ledger. rows: pair ids in file order. k, cuts: folds
    of perturbations and genes; k 0 without folds. seeds: under which every arm is asked;
    noise_seeds: under which the base alone is asked again, empty for a method that calls no model.
    measure: the change of a score on labelled rows, or |Δ| of answers against that of asking again,
    which needs no labels. contrasts: pairs of arms that the verdict speaks of together, and which
    are therefore compared. metric, smallest_effect: those of the decision. hypothesis: for the
    ledger; None if the question is all. remarks: caveats of its result. again: the id of a run that
    the base repeats: the arms are its children, and none is made if what it read changed.
    """

    name: str
    question: str
    dataset: str
    base: Arm
    arms: tuple[Arm, ...]
    rows: tuple[str, ...]
    k: int = 0
    cuts: tuple[int, ...] = (0,)
    seeds: tuple[int, ...] = (0,)
    noise_seeds: tuple[int, ...] = ()
    measure: Measure = "score"
    metric: Metric = "mean"
    smallest_effect: float = 0.01
    contrasts: tuple[tuple[str, str], ...] = ()
    hypothesis: Hypothesis | None = None
    remarks: tuple[str, ...] = ()
    again: str = ""

    @property
    def every(self) -> tuple[Arm, ...]:
        """The base, then the arms."""
        return (self.base, *self.arms)


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of experiment: a file in core/features/experiments/kinds, or what another feature
    brings as `experiments`.

    name: as commands take it. settings: a dataclass of settings
    (`core.base.fields.record.setting`), with `rows` if it is built. Either `build` or `compute` is
    None: an experiment of arms that are runs is built and then made by the engine, a computed one
    makes no run. complete: adds what the kind itself reads in the finished runs, given arm → (cut,
    seed) → id of a run, to the result of comparing them.
    """

    name: str
    title: str
    question: str
    settings: type
    build: Callable[[Workspace, Any], Experiment] | None = None
    compute: Callable[[Workspace, Any], Result] | None = None
    complete: Callable[[Workspace, Experiment, Runs, Any], Any] = field(
        default=lambda _workspace, _experiment, _runs, result: result
    )
