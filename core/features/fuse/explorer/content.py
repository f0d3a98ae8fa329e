"""What the explorer gets of a fusion: all that its numbers at any weights follow from, and its
state: weights, noise of cuts, mixes. The same for the app, a command and a report."""

from __future__ import annotations

import base64
import html
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from core.base.records import to_json
from core.methods.cut_scores import KeptRuns, can_cut_again, fusion_protocols, percentiles_of_cut
from core.methods.fusion_components import ComponentLoader, load_components
from core.methods.fusion_settings import FusionSettings
from core.plots import drawing
from core.plots.printed import colours, policy
from core.scoring.compare_runs import scores_of_cuts
from core.scoring.run_scores import RunRows
from core.scoring.sentences import allowed_text
from core.stats.arrays import Codes, Floats
from core.stats.official_score import point_values
from core.stats.scores_and_labels import Outcome, outcome_of
from core.transfer.cut_priors import SEEDS
from core.transfer.fusion import (
    LiveFusion,
    Percentiles,
    Weights,
    fuse,
    live_fusion,
    shares_of,
    weights_of,
)
from core.transfer.run_cells import cells_of_cuts, cells_under, folds_among, variances_between

# flags of a row's outcome, in the order of its bits; fusion.js reads them
LABELLED, EFFECT, UP, DIRECTED = 1, 2, 4, 8
METRICS = ("de", "dir", "mean")


@dataclass(frozen=True, slots=True)
class FusionRows:
    """The names of the rows and components of a fusion on screen.

    pair_ids, perts, genes: of the rows, each of length n_rows. components: their titles, the base
    first. keys: the ids of all components but the base. baseline: the run that changes are measured
    against.
    """

    pair_ids: Sequence[str]
    perts: Sequence[str]
    genes: Sequence[str]
    components: Sequence[str]
    keys: Sequence[str]
    baseline: str


def make_content(live: LiveFusion, rows: FusionRows, *, labels: bool = True) -> dict[str, Any]:
    """Return the explorer's content as JSON; arrays are base64 of little-endian numbers.

    labels: whether each row's label is part of it, without which nothing can be scored.
    """
    scale = live.percentiles.weight_scale
    outcome = live.outcome
    scored = labels and bool(outcome.labelled.any())
    flags = outcome.labelled, outcome.effect, outcome.up, outcome.directed
    return {
        "rows": len(live.rows),
        "names": list(rows.components),
        "keys": list(rows.keys),
        "baseline": rows.baseline,
        "components": [
            {
                "de": _pack(de),
                "up": _pack(up),
                "scale": None if scale is None or i == 0 else _pack(scale[i]),
            }
            for i, (de, up) in enumerate(zip(live.percentiles.de, live.percentiles.up, strict=True))
        ],
        "before": {"de": _pack(live.baseline.p_de), "up": _pack(live.baseline.p_up)},
        "ids": list(rows.pair_ids),
        **_axis("pert", live.rows.pert, rows.perts),
        **_axis("gene", live.rows.gene, rows.genes),
        "outcome": _pack(np.packbits(flags, axis=0, bitorder="little"), np.uint8)
        if scored
        else None,
        "cells": None if live.cells is None or not scored else _pack(live.cells, np.uint32),
        "reach": _reach(live) if scored else None,
        "kinds": {
            name: {
                "sign": sign,
                "colour": drawing.LABEL_COLOURS[name],
                "word": drawing.LABEL_WORDS[name],
            }
            for name, sign in drawing.LABEL_SIGNS.items()
        },
    }


def noise_of_cuts(before: Floats, after: Floats) -> dict[str, dict[str, float]]:
    """Return the variances that cuts of the folds add to each metric's intervals (see
    `add_cut_noise`), as the script adds them.

    before, after: DE and DIR of the baseline and of the fusion under each cut, of shape (n_cuts,
    2).
    """
    variances = variances_between(np.stack((before, after, after - before)))
    names = ("before", "after", "change")
    found = pd.DataFrame(variances, names, METRICS).to_dict()
    return cast("dict[str, dict[str, float]]", found)


def _reach(live: LiveFusion) -> dict[str, dict[str, Any]]:
    """Return the parts of the intervals shown of DE, DIR and mean that do not depend on the
    weights.

    quantile: of Student's t for the clusters, at 95%, if a score is constant. df: its degrees of
    freedom, None for the normal distribution. said: the dependence that is allowed for.
    """
    none = np.zeros(len(live.percentiles.de) - 1)
    score = live.score_at(weights_of(none, none))
    changes = zip(
        METRICS,
        (score.de.change.shown, score.dir.change.shown, score.mean.change.shown),
        strict=True,
    )
    return {
        name: {
            "quantile": replace(each, degrees=None).quantile,
            "df": None if each.clusters is None else each.clusters - 1,
            # at these weights nothing changes, so that there is no interval, perhaps
            "said": allowed_text(each),
        }
        for name, each in changes
    }


def _axis(name: str, codes: Codes, symbols: Sequence[str]) -> dict[str, Any]:
    """Return a column of symbols: each once, and the code of each row's, which the intervals take
    to be one cluster."""
    _, first, dense = np.unique(codes, return_index=True, return_inverse=True)
    distinct = np.asarray(symbols, dtype=object)[first].tolist()
    return {f"{name}s": distinct, name: _pack(dense, np.uint32)}


def _pack(values: ArrayLike, kind: type[np.generic] = np.float64) -> str:
    """Return Base64 of numbers in little-endian order."""
    array = np.ascontiguousarray(values, dtype=np.dtype(kind).newbyteorder("<"))
    return base64.b64encode(array.tobytes()).decode("ascii")


_ASSETS = Path(__file__).with_name("assets")
_PARTS = ("numbers.js", "fusion.js", "texts.js", "drawing.js", "rows.js", "explorer.js")


@cache
def script() -> str:
    """Return the script, whose last part defines `mountExplorer`; it makes no request and needs no
    library."""
    page = json.dumps(_read("explorer.html").strip())
    return "\n".join([f"const PAGE = {page};", *map(_read, _PARTS)])


@cache
def app_script() -> str:
    """Return the script as a module of Streamlit's, which mounts the explorer in the element of
    class "place"."""
    return f"{script()}\n{_read('app.js')}"


@cache
def file_script() -> str:
    """Return the script of a file from disk, which draws every explorer whose place is in the
    page."""
    return f'"use strict";\n(() => {{\n{script()}\n{_read("file.js")}}})();'


@cache
def style() -> str:
    """Return the style sheet; its rules are about what is inside `.fusion` alone."""
    return _read("explorer.css")


def _read(name: str) -> str:
    return (_ASSETS / name).read_text("utf-8")


@dataclass(frozen=True, slots=True)
class ExplorerData:
    """What an explorer shows: `content.make_content` and `state.state_of_file`. title: of the
    fusion, for a heading."""

    title: str
    content: dict[str, Any]
    state: dict[str, Any]

    script = staticmethod(file_script)
    style = staticmethod(style)

    def place(self, key: str) -> str:
        """Return the HTML of the place in which `file_script` draws it, and of its data, which no
        browser runs."""
        text = json.dumps(
            {"content": self.content, "state": self.state}, ensure_ascii=False, allow_nan=False
        )
        for character in "<\u2028\u2029":
            text = text.replace(character, f"\\u{ord(character):04x}")
        name = html.escape(key)
        return (
            f'<div class="explorer-place" id="{name}"></div><script type="application/json"'
            f' id="{name}-data">{text}</script>'
        )

    def file(self) -> bytes:
        """Return the file; the same data give the same bytes."""
        script = self.script()
        parts = {
            "policy": html.escape(policy([script])),
            "style": f"{colours()}\n{self.style()}\n{_read('file.css')}",
            "script": script,
            "title": html.escape(self.title),
            "place": self.place("fusion"),
        }
        return re.sub(r"\{(\w+)\}", lambda found: parts[found[1]], _read("file.html")).encode()


@dataclass(frozen=True, slots=True, eq=False)
class CutNoise:
    """What a fusion and its baseline score under other cuts of the folds; percentiles and cells do
    not depend on weights.

    before: DE and DIR of the baseline under each cut, of shape (n_cuts, 2). percentiles, cells: of
    each cut.
    """

    outcome: Outcome
    before: Floats
    percentiles: Sequence[Percentiles]
    cells: Sequence[Codes | None]

    def scores_at(self, weights: Weights) -> Floats:
        """Return DE and DIR of the fusion under each cut, of shape (n_cuts, 2)."""
        pairs = zip(self.percentiles, self.cells, strict=True)
        return np.array(
            [
                point_values(self.outcome, fuse(each, weights).scores(), cells)
                for each, cells in pairs
            ]
        )


def prepare_fusion(
    loader: ComponentLoader, settings: FusionSettings, baseline: RunRows
) -> LiveFusion:
    """Return the fusion of these settings, whose weights do not matter.

    baseline: the run that changes are measured against, with the rows of the base in their order.
    Raise InputError as `load_components` does.
    """
    rows, components = load_components(loader, settings)
    index = loader.index()
    positions = index.positions_of(rows["pair_id"].tolist())
    labels = index.labels[positions]
    cells = (
        cells_under(fusion_protocols(settings, loader), index, positions)
        if pd.notna(labels).any()
        else None
    )
    return live_fusion(
        labels, index.rows.take(positions), components, settings.reference, baseline.scores, cells
    )


def prepare_noise(
    loader: ComponentLoader, settings: FusionSettings, baseline: RunRows
) -> CutNoise | None:
    """Return the noise of the cuts of a fusion under folds; None without folds, or if other cuts
    cannot be known.

    baseline: as for `prepare_fusion`.
    """
    loader = KeptRuns(loader)
    protocols = fusion_protocols(settings, loader)
    if not folds_among(protocols) or not can_cut_again(settings, loader):
        return None
    cells = [*cells_of_cuts(protocols, baseline.index, baseline.positions, SEEDS)]
    before = scores_of_cuts(baseline, baseline.scores, baseline.labels, cells)
    if before is None or len(before) != len(SEEDS):
        return None
    ids = baseline.frame["pair_id"].tolist()
    percentiles = [percentiles_of_cut(settings, ids, loader, seed) for seed in SEEDS]
    return CutNoise(outcome_of(baseline.labels), before, percentiles, cells)


# Total weight of the other components for DE and for DIR, as in published entries; several
# components share it evenly.
STARTERS = {
    "base run alone": (0.0, 0.0),
    "half and half": (0.5, 0.5),
    "more weight on direction": (0.5, 0.7),
}


@dataclass(frozen=True, slots=True)
class Mix:
    """Weights of all components but the base in DE and in DIR as sliders stand, under a name."""

    name: str
    de: tuple[float, ...]
    up: tuple[float, ...]

    def weights(self) -> Weights:
        """Return the weights as they count."""
        return weights_of(shares_of(self.de), shares_of(self.up))


def starters(n_others: int) -> list[Mix]:
    """Return the mixes that every fusion has."""
    return [
        Mix(name, (w_de / n_others,) * n_others, (w_dir / n_others,) * n_others)
        for name, (w_de, w_dir) in STARTERS.items()
    ]


def noise_at(noise: CutNoise | None, weights: Weights) -> dict[str, dict[str, float]] | None:
    """Return the noise of cuts at some weights as the explorer adds it; None where it is
    unknown."""
    return None if noise is None else noise_of_cuts(noise.before, noise.scores_at(weights))


def state_of_file(
    mix: Mix, mixes: Sequence[Mix], noise: CutNoise | None, said: Mapping[str, str]
) -> dict[str, Any]:
    """Return the state of an explorer without a server: it starts at a mix, and each mix has its
    own noise of cuts.

    said: caution, rest (of `describe_rest`) and note, a sentence on how the scores were made.
    """
    return {
        "de": list(mix.de),
        "up": list(mix.up),
        "position": 0,
        "noise": noise_at(noise, mix.weights()),
        "mixes": [to_json(each) | {"noise": noise_at(noise, each.weights())} for each in mixes],
        "links": None,
        **said,
    }
