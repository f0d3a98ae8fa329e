"""The settings of a fusion: what is fused, by which weights, over what percentiles are taken; and as a run's options."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from core.errors import InputError
from core.fields.option import split_names
from core.transfer.fusion import Reference, Weights, weights_of
from core.transfer.knn_settings import KnnSettings

BySupport = Literal["no", "more", "less"]
BY_SUPPORTS: tuple[BySupport, ...] = get_args(BySupport)
Part = str | KnnSettings  # of a fusion: a run by name or id, or a kNN that is no run


@dataclass(frozen=True, slots=True)
class FusionSettings:
    """What to fuse, with one weight for each of `others` for DE and for DIR; the base takes what is left of 1.

    references: run → the run on labelled rows that its percentiles are taken against, for `reference` "train"; a kNN has its
    own priors under folds. by_support: whether a kNN weighs more, or less, in rows with more support, from 0 at the one end to
    its weight at the other. Raises InputError unless there are as many weights as others.
    """

    base: str
    others: tuple[Part, ...]
    w_de: tuple[float, ...]
    w_dir: tuple[float, ...]
    reference: Reference = "population"
    references: Mapping[str, str] = field(default_factory=dict)
    by_support: BySupport = "no"

    def __post_init__(self) -> None:
        for name, weights in (("w_de", self.w_de), ("w_dir", self.w_dir)):
            if len(weights) != len(self.others):
                raise InputError(f"{name}: got {len(weights)} weights for {len(self.others)} runs; expected one each")

    def weights(self) -> Weights:
        """Returns one weight per component, the base first. Raises InputError for any below 0 or a sum above 1."""
        return weights_of(self.w_de, self.w_dir)


def fusion_options(settings: FusionSettings) -> dict[str, Any]:
    """Returns the options of the method fusion that stand for these settings, whose runs are all saved.

    by_support is among them only if it is used, so that what was fused before it was known keeps its identity.
    """
    weights = {name: ",".join(map(repr, map(float, getattr(settings, name)))) for name in ("w_de", "w_dir")}
    references = ",".join(f"{run}={reference}" for run, reference in sorted(settings.references.items()))
    return {
        "base": settings.base,
        "with": ",".join(map(str, settings.others)),
        **weights,
        "reference": settings.reference,
        "reference_runs": references,
        **({} if settings.by_support == "no" else {"by_support": settings.by_support}),
    }


def read_fusion_settings(options: Mapping[str, Any]) -> FusionSettings:
    """Returns the settings that options describe, runs as they are named there. Raises InputError if a weight is not a number."""
    references = dict(map(read_reference, split_names(options.get("reference_runs", ""))))
    w_de, w_dir = (read_weights(str(options[name])) for name in ("w_de", "w_dir"))
    others = tuple(split_names(options["with"]))
    scaled = options.get("by_support", "no")
    by_support = next((known for known in BY_SUPPORTS if known == scaled), None)
    if by_support is None:
        raise InputError(f"by_support: got {scaled!r}, expected {', '.join(BY_SUPPORTS)}")
    return FusionSettings(str(options["base"]).strip(), others, w_de, w_dir, options["reference"], references, by_support)


def read_reference(text: str) -> tuple[str, str]:
    """Returns (component, its run on labelled rows) from "COMPONENT=RUN". Raises InputError for anything else."""
    component, _, run = text.rpartition("=")
    if not component or not run:
        raise InputError(f"reference run {text}: expected COMPONENT=RUN")
    return component.strip(), run.strip()


def read_weights(text: str) -> tuple[float, ...]:
    """Returns the weights in "0.5,0.2". Raises InputError if one is not a number."""
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise InputError(f"weights: got {text!r}, expected numbers with commas between them") from None
