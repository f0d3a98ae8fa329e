"""How much data a claim needs, measured on the labelled pool: standard errors, detectable differences, paired z."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

from core.errors import MissingPackage
from core.experiments.published.computed.pool_arms import fused_scores, load_pool
from core.experiments.published.sources import Computed, NotHere, Sources
from core.scoring.public_noise import public_noise
from core.scoring.run_scores import score_run
from core.stats.bootstrap import ResamplingPlan, ResamplingUnit, ScoreBootstrap, bootstrap_score, both_axes
from core.stats.power import PublicPart, detectable_difference, public_change_noise

SEED, PUBLIC_ROWS = 1, 904  # of the bootstrap; rows of one public half
UNITS: tuple[ResamplingUnit, ...] = ("row", "pert", "gene", "two-way")
_RESAMPLED = "the bootstrap's own noise is about 1% of a standard error"
_UNKNOWN = {
    "knn": "the published step used a Geneformer kNN, whose scores of labelled rows were not published",
    "embedding": "which embeddings were swapped was not published",
    "weight": "the published re-weighting was of Geneformer and scGPT, whose scores of labelled rows were not published",
}


@dataclass(frozen=True, slots=True)
class Arm:
    """A kNN to fuse with the model. other: its replacement in a swap of embeddings; None without a swap."""

    space: str
    centre: bool
    words: str
    other: Arm | None = None


STRING = Arm("string", False, "STRING")
TEXT = Arm("text", False, "TF-IDF", STRING)
MINILM = Arm("minilm", True, "MiniLM (centred)", TEXT)


def compute(sources: Sources, wanted: Mapping[str, Any]) -> Computed:
    """Return one number. wanted: what (se, public_se, detectable or z) with unit, change, and the public step for z."""
    what = wanted["what"]
    if what == "se":
        return Computed(_standard_error(sources, wanted["unit"]), _RESAMPLED)
    if what == "public_se":
        unlabelled = int(sources.rows()["label"].isna().sum())
        noise = public_noise([score_run(sources.run_rows("pool"))], unlabelled)
        return Computed(float("nan") if noise is None else noise.se)
    se, note = _change_se(sources, wanted["change"])
    if what == "detectable":
        return Computed(detectable_difference(se), note)
    return Computed(wanted["step"] / se, note)


def _standard_error(sources: Sources, unit: str) -> float:
    """Return the bootstrap's standard error of the mean of DE and DIR."""
    means = [sources.once(("bootstrap", each), partial(_bootstrap, sources, each)).mean for each in UNITS]
    if unit in UNITS:
        return means[UNITS.index(unit)].se
    row, pert, gene, both = means
    found = both_axes(row, pert, gene, both)
    return found.product.se if unit == "product" else found.combined.se


def _bootstrap(sources: Sources, unit: ResamplingUnit) -> ScoreBootstrap:
    rows = sources.run_rows("pool")
    return bootstrap_score(rows.labels, rows.scores, ResamplingPlan(unit, SEED), rows.pert, rows.gene)


def _change_se(sources: Sources, change: str) -> tuple[float, str]:
    """Return the standard error of a paired change in the mean score on one public half, and a sentence on other spaces."""
    arms = [arm for arm in _arms(sources) if arm.other or change != "embedding"]
    each = ", ".join(f"{_words(arm, change)} {detectable_difference(_noise(sources, change, arm)):.4f}" for arm in arms)
    note = f"{_UNKNOWN[change]}: the difference detected with 80% power depends on the kNN's space, here {each}"
    return _noise(sources, change, arms[0]), note


def _words(arm: Arm, change: str) -> str:
    return f"{arm.words} to {arm.other.words}" if change == "embedding" and arm.other is not None else arm.words


def _arms(sources: Sources) -> list[Arm]:
    """Return the arms whose spaces can be built here. Raise NotHere without any."""

    def find() -> list[Arm]:
        found = []
        for arm in (MINILM, TEXT, STRING):
            with suppress(MissingPackage, NotHere):
                for each in (arm, *([arm.other] if arm.other is not None else [])):
                    sources.space(each.space)
                found.append(arm)
        return found

    arms = sources.once(("arms",), find)
    if TEXT not in arms:
        raise NotHere("two spaces are needed, from gene_desc.json and string_edges.json, and one is missing in this workspace")
    return arms


def _noise(sources: Sources, change: str, arm: Arm) -> float:
    """Return the standard error of one change on a public half."""
    own = arm.space, arm.centre

    def measure() -> float:
        pool, fused = load_pool(sources), fused_scores(sources, *own)
        if change == "knn":
            a, b = sources.run_rows("pool").scores, fused
        elif change == "embedding" and arm.other is not None:
            a, b = fused, fused_scores(sources, arm.other.space, arm.other.centre)
        else:
            a, b = fused, fused_scores(sources, *own, 0.5, 0.7)
        part = PublicPart(PUBLIC_ROWS, "row", SEED)
        return public_change_noise(pool.labels, a, b, part, pool.rows.pert, pool.rows.gene).se

    return sources.once(("change", change, arm), measure)
