"""The settings of a fusion: components, weights, and rows for percentiles; also as a run's options."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from core.errors import SettingError
from core.fields.record import make, options_of, setting, values_with_effect
from core.transfer.fusion import Reference, Weights, weights_of
from core.transfer.knn_settings import KnnSettings

ONE_WEIGHT = {"least": 0, "most": 1}  # the range of each weight
BySupport = Literal["no", "more", "less"]
Part = str | KnnSettings  # of a fusion: a run by name or id, or a kNN that is not a run
_FIRST = ("base", "with", "w_de", "w_dir", "reference", "reference_runs")  # settings whose options are written another way


def less_in_disagreement() -> Any:
    """Return the setting of whether a component weighs less where it disagrees with the base."""
    return setting(
        False,
        "Let the others weigh less in rows where their rank is far from the base's.",
        title="Less where ranks disagree",
        is_usage=True,
    )


@dataclass(frozen=True, slots=True)
class FusionSettings:
    """What to fuse, with one weight for each of `others` for DE and for DIR; the base gets the rest up to 1.

    references: run → the run on labelled rows that its percentiles are taken against, for `reference` "train"; a kNN has its
    own priors under folds. by_support: whether a kNN weighs more, or less, in rows with more support, from 0 at the one end to
    its weight at the other. by_agreement: whether every other's weight is multiplied in each row by its agreement with the base.
    Raises InputError unless there are as many weights as others.
    """

    base: str = setting("", "The run whose rows are fused.", kind="run", title="Base run", required=True)
    others: tuple[Part, ...] = setting(
        (),
        "Runs on the same rows; on the page Fuse, also neighbours in gene spaces with adjustable settings.",
        name="with",
        kind="runs",
        title="Fused with",
        metavar="B[,C]",
        command_help="Runs to fuse with it.",
    )
    w_de: tuple[float, ...] = setting(
        (0.5,),
        "Their weights for DE; the base gets the rest up to 1.",
        kind="weights",
        title="Weights for DE",
        metavar="X[,Y]",
        required=True,
        **ONE_WEIGHT,
    )
    w_dir: tuple[float, ...] = setting(
        (0.5,),
        "Their weights for DIR.",
        kind="weights",
        title="Weights for DIR",
        metavar="X[,Y]",
        required=True,
        **ONE_WEIGHT,
    )
    reference: Reference = setting(
        "population",
        "What a component's percentiles are taken over: the rows of this run, or its scores on labelled rows. Over these rows, a "
        "row's number changes when other rows are dropped; over labelled rows it does not.",
        title="Rank among",
        words={"population": "these rows", "train": "labelled rows"},
        command_help="What percentiles are taken over: population or train.",
        is_usage=True,
        key="over",
    )
    references: Mapping[str, str] = setting(
        {},
        "A run on labelled rows for B's percentiles.",
        name="reference_runs",
        kind="references",
        title="Percentiles against",
        flag="--reference-run",
        metavar="B=RUN",
    )
    by_support: BySupport = setting(
        "no",
        "Even: a kNN has its weight in every row. More with support: the weight grows with the sum of the neighbours' weights, "
        "from 0 in the row with the least support to the whole weight in the row with the most. Less with support: the reverse.",
        title="Neighbours' weight",
        words={"no": "even", "more": "more with support", "less": "less with support"},
        command_help="Whether a kNN weighs more, or less, where it has more support: no, more or less.",
        is_usage=True,
    )
    by_agreement: bool = less_in_disagreement()

    def __post_init__(self) -> None:
        for name, weights in (("w_de", self.w_de), ("w_dir", self.w_dir)):
            if len(weights) != len(self.others):
                raise SettingError(name, f"got {len(weights)} weights for {len(self.others)} runs; expected one each")

    def weights(self) -> Weights:
        """Return one weight per component, the base first. Raise InputError for any below 0 or a sum above 1."""
        return weights_of(self.w_de, self.w_dir)


def fusion_options(settings: FusionSettings) -> dict[str, Any]:
    """Return the options of the method fusion that stand for these settings, whose runs are all saved."""
    rest = {name: value for name, value in values_with_effect(settings).items() if name not in _FIRST}
    weights = {name: ",".join(map(repr, map(float, getattr(settings, name)))) for name in ("w_de", "w_dir")}
    references = ",".join(f"{run}={reference}" for run, reference in sorted(settings.references.items()))
    return {
        "base": settings.base,
        "with": ",".join(map(str, settings.others)),
        **weights,
        "reference": settings.reference,
        "reference_runs": references,
        **rest,
    }


def read_fusion_settings(options: Mapping[str, Any]) -> FusionSettings:
    """Return the settings that options describe, runs as they are named there. Raise InputError if a weight is not a number."""
    known = {option.name for option in options_of(FusionSettings)}
    return make(FusionSettings, {name: value for name, value in options.items() if name in known})
