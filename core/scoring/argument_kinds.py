"""The kinds of arguments of a run: the number of texts of each, and the hit rate of their rows.

A row is a hit if the most probable of up, down and none is its label (see `store.predictions.RowFilter`); an argument has no hit
of its own. A row counts once in each kind of its texts, so a row with three similar texts does not count three times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from core.audit.argument_kinds import (
    HOLDS,
    METHODS,
    NOISE,
    RULE,
    WORDLESS,
    Agreement,
    ArgumentKinds,
    Arguments,
    Encoder,
    find_argument_kinds,
)
from core.audit.argument_words import MASKED
from core.audit.kind_settings import KindSettings
from core.errors import InputError
from core.scoring.json_shapes import interval
from core.stats.clustered_mean import means_within
from core.stats.delong import Estimate
from core.store import Cursor, predictions, runs, traces
from core.store.runs import Run
from core.texts import number_text

WITHOUT = {NOISE: "like no others", WORDLESS: "without telling words"}
TEXT_NAMES = {
    "brief": "briefs",
    "rebuttal": "rebuttals",
    "answer": "answers",
    "thought": "thoughts",
    "text": "texts",
    "verdict": "verdicts",
}


@dataclass(frozen=True, slots=True, eq=False)
class RunTexts:
    """The texts of one kind of a run, and what became of their rows.

    frame: of `traces.texts`, with outcome, "hit", "miss" or None; content: the texts. kind: of TEXT_NAMES; role: "" for all.
    """

    run: Run
    kind: str
    role: str
    frame: pd.DataFrame
    content: Sequence[str]

    @property
    def name(self) -> str:
        """A description of the texts."""
        return f"{TEXT_NAMES[self.kind]} of {self.role}" if self.role else TEXT_NAMES[self.kind]


@dataclass(frozen=True, slots=True)
class TypicalText:
    """One of the texts nearest to the mean of a kind."""

    pair_id: str
    pert: str
    gene: str
    stage: str
    role: str
    outcome: str | None
    content: str


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of argument; with code NOISE or WORDLESS, the texts without a kind.

    n: number of texts; rows: number of rows with such a text. hit: the share of hits among these rows with a label and a call,
    None if there are none.
    """

    code: int
    words: tuple[str, ...]
    n: int
    rows: int
    hit: Estimate | None
    typical: tuple[TypicalText, ...]

    @property
    def name(self) -> str:
        """Its characteristic words, or why it is not a kind."""
        return WITHOUT.get(self.code) or ", ".join(self.words) or "no telling words"


@dataclass(frozen=True, slots=True, eq=False)
class RunKinds:
    """The kinds of arguments of a run, the largest first, then the texts without a kind. hit: of all rows with such texts.

    n_drawn: as of `ArgumentKinds`.
    """

    texts: RunTexts
    settings: KindSettings
    kinds: tuple[Kind, ...]
    hit: Estimate | None
    by_seed: Agreement | None
    by_rows: Agreement
    n_drawn: int | None = None

    @property
    def n(self) -> int:
        return len(self.texts.frame)

    @property
    def stability(self) -> Agreement:
        """Under other seeds; on samples of the rows for a method without a seed."""
        return self.by_seed or self.by_rows


def load_texts(db: Cursor, run_name: str, kind: str = "", role: str = "") -> RunTexts:
    """Return the texts of a run (name or id). kind: by default the first of `traces.TEXT_KINDS` that it has.

    Raise NotFound for an unknown run, InputError for a run, kind or role without texts.
    """
    run = runs.find(db, run_name)
    counts = traces.text_counts(db, run.id)
    chosen = kind or next(iter(counts), "")
    if not chosen:
        raise InputError(f"{run.name}: it has no texts, expected briefs, answers or thoughts")
    if chosen not in counts or role not in ("", *counts[chosen]):
        known = "; ".join(f"{name} by {', '.join(roles)}" for name, roles in counts.items())
        wanted = f"{chosen} by {role}" if role else chosen
        raise InputError(f"{run.name}: no texts of the kind {wanted}, expected {known or 'none, since it has no texts'}")
    frame, content = traces.texts(db, run.id, chosen, role)
    ids = frame["pair_id"].drop_duplicates().tolist()
    outcomes = predictions.list_rows(db, run.id, ids).set_index("pair_id")["outcome"]
    found = frame["pair_id"].map(outcomes).astype(object)
    return RunTexts(run, chosen, role, frame.assign(outcome=found.where(found.notna(), None)), content)


def find_kinds(texts: RunTexts, settings: KindSettings, encode: Encoder | None = None) -> RunKinds:
    """Return the kinds of arguments among the texts of a run. Raise InputError as `find_argument_kinds` does."""
    frame = texts.frame
    pert, gene = (frame[name].tolist() for name in ("pert", "gene"))
    rows = pd.factorize(frame["pair_id"])[0].astype(np.intp)
    try:
        found = find_argument_kinds(Arguments(texts.content, pert, gene, rows), settings, encode)
    except InputError as error:
        raise InputError(f"{texts.run.name}, {texts.name}: {error}") from error
    codes = [*range(found.n_kinds), *(code for code in WITHOUT if (found.kinds == code).any())]
    hits = _hit_rates(frame.assign(kind=found.kinds))
    whole = _hit_rates(frame.assign(kind=0)).get(0)
    kinds = tuple(_kind(texts, found, code, hits.get(code)) for code in codes)
    return RunKinds(texts, settings, kinds, whole, found.by_seed, found.by_rows, found.n_drawn)


def _hit_rates(frame: pd.DataFrame) -> dict[int, Estimate]:
    """Return kind → the share of hits among its rows, each counted once; kinds without a hit or miss are left out."""
    rows = frame[frame["outcome"].notna()].drop_duplicates(["kind", "pair_id"])
    if rows.empty:
        return {}
    stratum, kinds = pd.factorize(rows["kind"])
    values = np.asarray(rows["outcome"] == "hit", dtype=np.float64)
    pert, gene = (pd.factorize(rows[name])[0].astype(np.intp) for name in ("pert", "gene"))
    found = means_within(values, stratum.astype(np.intp), pert, gene)
    return {int(kind): estimate for kind, estimate in zip(kinds, found, strict=True)}


def _kind(texts: RunTexts, found: ArgumentKinds, code: int, hit: Estimate | None) -> Kind:
    frame = texts.frame
    own = frame[found.kinds == code]
    words, at = (found.words[code], found.typical[code]) if code >= 0 else ((), ())
    columns = ["pair_id", "pert", "gene", "stage", "role", "outcome"]
    rows = zip(at, frame.iloc[list(at)][columns].itertuples(index=False, name=None), strict=True)
    typical = tuple(TypicalText(*(*row, texts.content[place])) for place, row in rows)
    return Kind(code, words, len(own), own["pair_id"].nunique(), hit, typical)


def describe_kinds(found: RunKinds) -> str:
    """Return how many kinds there are, found how, in a sentence."""
    n = sum(kind.code >= 0 for kind in found.kinds)
    rows = found.texts.frame["pair_id"].nunique()
    words = [f"{found.n:,} {found.texts.name} of {rows:,} rows: {n} kinds by {METHODS[found.settings.method]}."]
    if found.settings.method == "kmeans" and found.settings.k is None:
        words.append(f"Their number is {RULE}.")
    if found.n_drawn is not None:
        words.append(
            f"There are many texts: the features for comparing them were fitted on a random sample of {found.n_drawn:,}."
        )
    words += [f"{kind.n:,} texts are {kind.name}." for kind in found.kinds if kind.code < 0]
    return " ".join(words)


def describe_stability(found: RunKinds) -> str:
    """Return one or two sentences on whether repeats find the same kinds."""
    known = [each for each in (found.by_seed, found.by_rows) if each is not None]
    words = "; ".join(
        f"{each.over} {number_text(each.mean, '.2f')} (from {number_text(each.low, '.2f')} to "
        f"{number_text(each.high, '.2f')}, {each.repeats} times)"
        for each in known
    )
    if all(each.holds for each in known):
        return f"The kinds are stable. Adjusted Rand index by {words}; 1 means identical kinds, 0 chance."
    return (
        f"These kinds are unstable: repeated clustering gives different ones, so base no claim on them. Adjusted Rand index by "
        f"{words}; 1 means identical kinds, 0 chance, {HOLDS} or more would be stable."
    )


def describe_masking() -> str:
    """Return which words of a text count, in a sentence."""
    return MASKED


def as_json(found: RunKinds) -> Mapping[str, Any]:
    """Return `clusters`. Texts without a kind have no words and are marked in `without`."""
    return {
        "run": found.texts.run.name,
        "texts": found.texts.kind,
        "role": found.texts.role or None,
        "method": found.settings.method,
        "seed": found.settings.seed,
        "n": found.n,
        "hit_rate": None if found.hit is None else interval(found.hit.shown),
        "clusters": [_kind_json(kind) for kind in found.kinds],
        "stability": found.stability.mean,
        "stable": found.stability.holds and found.by_rows.holds,
        "agreements": [
            {"over": each.over, "adjusted_rand": each.mean, "low": each.low, "high": each.high, "repeats": each.repeats}
            for each in (found.by_seed, found.by_rows)
            if each is not None
        ],
        **({} if found.n_drawn is None else {"drawn_texts": found.n_drawn}),
        "sentences": [describe_kinds(found), describe_stability(found), describe_masking()],
    }


def _kind_json(kind: Kind) -> Mapping[str, Any]:
    return {
        "words": list(kind.words),
        "n": kind.n,
        "rows": kind.rows,
        "hit_rate": None if kind.hit is None else interval(kind.hit.shown),
        "examples": [
            {"pair_id": each.pair_id, "role": each.role, "stage": each.stage, "outcome": each.outcome, "text": each.content}
            for each in kind.typical
        ],
        "without": WITHOUT.get(kind.code),
    }
