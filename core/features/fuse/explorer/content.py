"""What the explorer gets of a fusion: all that its numbers at any weights follow from."""

from __future__ import annotations

import base64
import html
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from core.plots import theme
from core.plots.printed import colours, policy
from core.scoring.sentences import allowed_text
from core.stats import validate
from core.stats.arrays import Codes, Floats
from core.transfer.cuts import variances_between
from core.transfer.fusion import weights_of
from core.transfer.live_fusion import LiveFusion

LABELLED, EFFECT, UP, DIRECTED = 1, 2, 4, 8  # flags of a row's outcome; fusion.js reads them
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

    labels: whether each row's label is part of it, without which nothing can be scored. Raise
    InputError if the names do not fit the fusion.
    """
    validate.same_length(
        fusion=live.rows, pair_ids=rows.pair_ids, perts=rows.perts, genes=rows.genes
    )
    validate.same_length(
        percentiles=live.percentiles.de, components=rows.components, keys=["", *rows.keys]
    )
    scale = live.percentiles.weight_scale
    outcome = live.outcome
    scored = labels and bool(outcome.labelled.any())
    flags = (
        (LABELLED, outcome.labelled),
        (EFFECT, outcome.effect),
        (UP, outcome.up),
        (DIRECTED, outcome.directed),
    )
    return {
        "rows": len(live.rows),
        "names": list(rows.components),
        "keys": list(rows.keys),
        "baseline": rows.baseline,
        "components": [
            {
                "de": _floats(de),
                "up": _floats(up),
                "scale": None if scale is None or i == 0 else _floats(scale[i]),
            }
            for i, (de, up) in enumerate(zip(live.percentiles.de, live.percentiles.up, strict=True))
        ],
        "before": {"de": _floats(live.baseline.p_de), "up": _floats(live.baseline.p_up)},
        "ids": list(rows.pair_ids),
        **_axis("pert", live.rows.pert, rows.perts),
        **_axis("gene", live.rows.gene, rows.genes),
        "outcome": _pack(sum(flag * column.astype(np.uint8) for flag, column in flags), np.uint8)
        if scored
        else None,
        "cells": None if live.cells is None or not scored else _pack(live.cells, np.uint32),
        "reach": _reach(live) if scored else None,
        "kinds": {
            name: {
                "sign": sign,
                "colour": theme.LABEL_COLOURS[name],
                "word": theme.LABEL_WORDS[name],
            }
            for name, sign in theme.LABEL_SIGNS.items()
        },
    }


def noise_of_cuts(before: Floats, after: Floats) -> dict[str, dict[str, float]]:
    """Return the variances that cuts of the folds add to each metric's intervals (see
    `add_cut_noise`), as the script adds them.

    before, after: DE and DIR of the baseline and of the fusion under each cut, of shape (n_cuts,
    2).
    """
    names = ("before", "after", "change")
    variances = zip(
        *(variances_between(scores) for scores in (before, after, after - before)), strict=True
    )
    return {
        metric: dict(zip(names, map(float, scores), strict=True))
        for metric, scores in zip(METRICS, variances, strict=True)
    }


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
    return {f"{name}s": [symbols[row] for row in first], name: _pack(dense, np.uint32)}


def _floats(values: Floats) -> str:
    return _pack(values, np.float64)


def _pack(values: ArrayLike, kind: type[np.generic]) -> str:
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
