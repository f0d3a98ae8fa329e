"""The baselines of a split in words, as tables and as the JSON of `baselines`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from core.experiments.benchmark_baselines.published_scores import PublishedScore, load_published_scores
from core.experiments.benchmark_baselines.split import SplitBaselines
from core.experiments.benchmark_baselines.table import HopScore, Reach
from core.scoring.baselines import Baseline, BaselineScore
from core.scoring.json_shapes import shape_shown
from core.scoring.sentences import interval_text
from core.texts import number_text, table_lines

QUESTIONS: Mapping[str, Literal["de", "dir"]] = {"DE": "de", "DIR": "dir"}


def coverage_sentence(found: SplitBaselines) -> str:
    """Return the share of the split that the knowledge packs cover; other rows get base rates."""
    if found.table is None or not found.table.reach:
        return "This workspace has no knowledge pack with a network or descriptions."
    parts = []
    for each in found.table.reach:
        counts = ((each.perts, "perturbations"), (each.genes, "genes"), (each.rows, "rows"))
        parts.append(f"{each.knowledge}: " + ", ".join(f"{n:,} of {of:,} {what}" for (n, of), what in counts))
    return f"Covered by the knowledge packs: {'; '.join(parts)}. A row that a baseline does not cover gets the base rate."


def rows_text(found: SplitBaselines) -> str:
    """Return which rows are scored, and from which they are predicted."""
    whose = "" if found.training == found.dataset else f", from the training rows of {found.training}"
    return f"{found.dataset}, split {found.split}, {found.rows:,} labelled rows{whose}"


def baselines_table(found: SplitBaselines) -> list[dict[str, str | int | None]]:
    """Return a line for each baseline."""
    return [_line(each) for each in found.all]


def _line(each: Baseline) -> dict[str, str | int | None]:
    some = each.on_covered
    return {
        "name": each.name,
        **_scores(each),
        "rows covered": None if some is None else f"{some.rows:,} of {some.of:,}",
        **{f"{name} on these": None if some is None else _macro(getattr(some, key)) for name, key in QUESTIONS.items()},
        "how to read it": f"not computed: {each.lacks}" if each.lacks else each.note,
    }


def _scores(each: Baseline | HopScore) -> dict[str, str | int | None]:
    line: dict[str, str | int | None] = {}
    for name, key in QUESTIONS.items():
        score: BaselineScore | None = getattr(each, key)
        line |= {f"{name} by gene": _macro(score), f"{name} pooled": None if score is None else interval_text(score.micro.shown)}
        line[f"genes, {name}"] = None if score is None else score.genes
    return line


def _macro(score: BaselineScore | None) -> str | None:
    return None if score is None or not score.genes else interval_text(score.macro.shown)


def hops_table(found: SplitBaselines) -> list[dict[str, str | int | None]]:
    """Return a line for each baseline and each distance between perturbation and gene in the network."""
    hops = () if found.table is None else found.table.hops
    return [{"baseline": each.baseline, "distance": each.hops, "rows": each.rows, **_scores(each)} for each in hops]


def published_table(found: SplitBaselines) -> list[dict[str, str | None]]:
    """Return a line for each published method."""
    return [
        {
            "method": each.method,
            "DE by gene": None if each.de is None else number_text(each.de, ".2f"),
            "DIR by gene": None if each.dir is None else number_text(each.dir, ".2f"),
            "beside": each.beside or None,
            "difference": each.differs,
        }
        for each in found.published
    ]


def split_lines(found: SplitBaselines) -> list[str]:
    """Return `baselines` as lines."""
    lines = [rows_text(found), coverage_sentence(found), *table_lines(baselines_table(found))]
    if hops := hops_table(found):
        lines += ["", "By distance between perturbation and gene in the network:", *table_lines(hops)]
    if found.published:
        published = table_lines(published_table(found))
        lines += ["", "Published, macro AUROC by gene:", *published, load_published_scores().common]
    return lines


def split_json(found: SplitBaselines) -> dict[str, Any]:
    """Return `baselines`: every baseline, its scores by distance, what the knowledge covers, and what was published."""
    return {
        "dataset": found.dataset,
        "split": found.split,
        "training": found.training,
        "rows": found.rows,
        "baselines": [_baseline_shape(each) for each in found.all],
        "hops": [_hop_shape(each) for each in ([] if found.table is None else found.table.hops)],
        "coverage": [_reach_shape(each) for each in ([] if found.table is None else found.table.reach)],
        "sources": list(found.sources),
        "published": [_published_shape(each) for each in found.published],
    }


def _hop_shape(found: HopScore) -> dict[str, Any]:
    scores = {"de": _score_shape(found.de), "dir": _score_shape(found.dir)}
    return {"baseline": found.baseline, "hops": found.hops, "rows": found.rows, **scores}


def _reach_shape(found: Reach) -> dict[str, Any]:
    counts = {"perts": found.perts, "genes": found.genes, "rows": found.rows}
    return {"knowledge": found.knowledge, **{name: {"covered": n, "of": of} for name, (n, of) in counts.items()}}


def _published_shape(found: PublishedScore) -> dict[str, Any]:
    return {"method": found.method, "de": found.de, "dir": found.dir, "beside": found.beside or None, "differs": found.differs}


def _baseline_shape(found: Baseline) -> dict[str, Any]:
    """Return one of `baselines`: the macro AUROC by gene, which a mean by gene cannot raise, and the pooled one as `micro`."""
    covered = found.on_covered
    return {
        "name": found.name,
        "de": _score_shape(found.de),
        "dir": _score_shape(found.dir),
        "note": found.note,
        "on_covered": None
        if covered is None
        else {"rows": covered.rows, "of": covered.of, "de": _score_shape(covered.de), "dir": _score_shape(covered.dir)},
        "lacks": found.lacks or None,
    }


def _score_shape(found: BaselineScore | None) -> dict[str, Any] | None:
    """Return one question of a baseline; a macro AUROC is null where no gene has both classes."""
    if found is None:
        return None
    intervals = {"macro": shape_shown(found.macro), "micro": shape_shown(found.micro)}
    return {"macro": found.macro.value, "micro": found.micro.value, "genes": found.genes, "intervals": intervals}
