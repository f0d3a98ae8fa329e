"""The settings of a fusion: components, weights, and rows for percentiles; also as a run's
options."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal

from core.base.errors import SettingError
from core.base.fields.record import identity_of, make, options_of
from core.base.fields.setting import Share, setting
from core.base.types import JsonObject, Options
from core.transfer.fusion import Reference, Weights, weights_of
from core.transfer.knn_settings import KnnSettings

BySupport = Literal["no", "more", "less"]
Part = str | KnnSettings  # of a fusion: a run by name or id, or a kNN that is not a run
# fields whose options are written another way
_FIRST = ("base", "others", "w_de", "w_dir", "reference", "references")


LessInDisagreement = Annotated[
    bool,
    setting(
        "Let the others weigh less in rows where their rank is far from the base's.",
        title="Less where ranks disagree",
    ),
]


@dataclass(frozen=True, slots=True)
class FusionSettings:
    """What to fuse, with one weight for each of `others` for DE and for DIR; the base gets the rest
    up to 1.

    references: run → the run on labelled rows that its percentiles are taken against, for
    `reference` "train"; a kNN has its own priors under folds. by_support: whether a kNN weighs
    more, or less, in rows with more support, from 0 at the one end to its weight at the other.
    by_agreement: whether every other's weight is multiplied in each row by its agreement with the
    base. Raises InputError unless there are as many weights as others.
    """

    base: Annotated[
        str, setting("The run whose rows are fused.", title="Base run", names="run")
    ] = ""
    others: Annotated[
        tuple[Part, ...],
        setting(
            "Runs on the same rows; on the page Fuse, also neighbours in gene spaces with"
            " adjustable settings.",
            title="Fused with",
            names="runs",
            name="with",
            metavar="B[,C]",
        ),
    ] = ()
    w_de: Annotated[
        tuple[Share, ...],
        setting(
            "Their weights for DE; the base gets the rest up to 1.",
            title="Weights for DE",
            metavar="X[,Y]",
        ),
    ] = (0.5,)
    w_dir: Annotated[
        tuple[Share, ...],
        setting("Their weights for DIR.", title="Weights for DIR", metavar="X[,Y]"),
    ] = (0.5,)
    reference: Annotated[
        Reference,
        setting(
            "What a component's percentiles are taken over: the rows of this run, or its scores on"
            " labelled rows. Over these rows, a row's number changes when other rows are dropped;"
            " over labelled rows it does not.",
            title="Rank among",
            words={"population": "these rows", "train": "labelled rows"},
            key="over",
        ),
    ] = "population"
    references: Annotated[
        Mapping[str, str],
        setting(
            "A run on labelled rows for B's percentiles.",
            title="Percentiles against",
            names="runs",
            name="reference_runs",
            option="--reference-run",
            metavar="B=RUN",
        ),
    ] = field(default_factory=dict)
    by_support: Annotated[
        BySupport,
        setting(
            "Even: a kNN has its weight in every row. More with support: the weight grows with the"
            " sum of the neighbours' weights, from 0 in the row with the least support to the whole"
            " weight in the row with the most. Less with support: the reverse.",
            title="Neighbours' weight",
            words={"no": "even", "more": "more with support", "less": "less with support"},
        ),
    ] = "no"
    by_agreement: LessInDisagreement = False

    def __post_init__(self) -> None:
        for name, weights in (("w_de", self.w_de), ("w_dir", self.w_dir)):
            if len(weights) != len(self.others):
                raise SettingError(
                    name,
                    f"got {len(weights)} weights for {len(self.others)} runs; expected one each",
                )

    def weights(self) -> Weights:
        """Return one weight per component, the base first. Raise InputError for any below 0 or a
        sum above 1."""
        return weights_of(self.w_de, self.w_dir)


def fusion_options(settings: FusionSettings) -> JsonObject:
    """Return the options of the method fusion that stand for these settings, whose runs are all
    saved."""
    rest = {name: value for name, value in identity_of(settings).items() if name not in _FIRST}
    weights = {
        name: ",".join(map(repr, map(float, getattr(settings, name)))) for name in ("w_de", "w_dir")
    }
    references = ",".join(
        f"{run}={reference}" for run, reference in sorted(settings.references.items())
    )
    return {
        "base": settings.base,
        "with": ",".join(map(str, settings.others)),
        **weights,
        "reference": settings.reference,
        "reference_runs": references,
        **rest,
    }


def read_fusion_settings(options: Options) -> FusionSettings:
    """Return the settings that options describe, runs as they are named there. Raise InputError if
    a weight is not a number."""
    known = {option.name for option in options_of(FusionSettings)}
    return make(FusionSettings, {name: value for name, value in options.items() if name in known})
