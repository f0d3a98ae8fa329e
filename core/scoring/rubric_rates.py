"""The rate of an answer to a rubric over a run's texts, by role: from the judge, from people's labels, and from both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from core.audit.rubric import Rubric
from core.errors import InputError
from core.stats.intervals import Interval
from core.stats.kappa import cohens_kappa
from core.stats.prediction_powered import (
    JudgedTexts,
    RateEstimate,
    corrected_rate,
    raw_rate,
    sensitivity,
    specificity,
)
from core.store import rubrics
from core.store.connection import Cursor
from core.store.rubrics import Sample, TextLabel

FEWEST_LABELS = 50  # with 30 the interval of an answer of 5% holds the truth in 92% only (docs/statistics.md)
ALL = "all"  # the name of all roles together
_KEY = ["pair_id", "seq"]
_ROLE_ORDER = {role: place for place, role in enumerate(("EFFECT", "NULL", "UP", "DOWN", "JUDGE"))}


@dataclass(frozen=True, slots=True, eq=False)
class RateTexts:
    """The texts of a run with the answers of a judge and of people.

    frame: pair_id, pert, gene, seq, role, reading (of 0 to 1, NaN if unread), says_yes, label (1, 0, NaN), weight (one over the
    probability of being labelled, 0 without a label). twice: the answers of texts that two people labelled, as first, second,
    pert, gene.
    """

    frame: pd.DataFrame
    twice: pd.DataFrame


@dataclass(frozen=True, slots=True)
class RoleRates:
    """The rates of one role's texts.

    n: texts; unread: those that the judge could not read; yes: those it gives the answer; labels: texts that people labelled in a
    sample; missing: how many more labels a corrected rate takes. raw ignores the judge's errors. corrected is None with fewer
    than `FEWEST_LABELS`; power: the weight of the judge's answers in it, 0 for none. sensitivity, specificity: None without a
    label of that answer.
    """

    n: int
    unread: int
    yes: int
    labels: int
    missing: int
    raw: Interval
    corrected: Interval | None
    power: float
    sensitivity: Interval | None
    specificity: Interval | None

    @property
    def says_nothing(self) -> bool:
        """Whether no text has an answer, from the judge or from people."""
        return self.unread == self.n and not self.labels


@dataclass(frozen=True, slots=True)
class RubricRates:
    """The rates by role, "all" last if there are several. kappa: of two people, over `twice` texts that both labelled; None
    without any."""

    answer: str
    roles: Mapping[str, RoleRates]
    kappa: Interval | None
    twice: int

    @property
    def whole(self) -> RoleRates:
        """The rates of all texts."""
        return [*self.roles.values()][-1]


def load_rate_texts(db: Cursor, rubric: Rubric, run: str, readings: pd.DataFrame, answer: str | None = None) -> RateTexts:
    """Return the texts of a run (id) with the judge's readings and all labels and samples; see `join_answers`."""
    labels, samples = rubrics.labels(db, rubric, run), rubrics.samples(db, rubric, run)
    return join_answers(rubrics.texts(db, run, rubric), readings, labels, samples, rubric, answer)


def join_answers(
    texts: pd.DataFrame,
    readings: pd.DataFrame,
    labels: Sequence[TextLabel],
    samples: Sequence[Sample],
    rubric: Rubric,
    answer: str | None = None,
) -> RateTexts:
    """Return texts with the judge's readings and people's labels of them.

    texts: `store.rubrics.texts`; readings: `store.rubrics.readings` of the same run; answer: of which the rate is asked, the
    rubric's first by default. Raise InputError for an answer that the rubric does not have.
    """
    wanted = rubric.answers[0] if answer is None else answer
    if wanted not in rubric.answers:
        raise InputError(f"rubric {rubric.name}: answer {wanted!r}, expected one of {', '.join(rubric.answers)}")
    frame = texts[["pair_id", "pert", "gene", "seq", "role"]].merge(
        readings[[*_KEY, "answer", "p"]].drop_duplicates(_KEY), on=_KEY, how="left"
    )
    said = frame["answer"].fillna("")
    is_yes = said.eq(wanted).to_numpy()
    reading = np.where(said.eq(""), np.nan, is_yes.astype(np.float64))
    if wanted == rubric.answers[0]:
        reading = np.where(frame["p"].notna() & said.ne(""), frame["p"], reading)
    rows = [(each.pair_id, each.seq, each.answer, each.author, each.sample) for each in labels]
    people = pd.DataFrame(rows, columns=[*_KEY, "answer", "author", "sample"]).astype({"seq": np.int64})
    weights = sampling_weights(samples, people)
    first = people.drop_duplicates(_KEY).set_index(_KEY)["answer"]
    keys = pd.MultiIndex.from_frame(frame[_KEY])
    weight = weights.reindex(keys).fillna(0.0).to_numpy()
    given = first.reindex(keys)
    label = np.where(given.notna() & (weight > 0), given.eq(wanted).astype(np.float64), np.nan)
    frame = frame.assign(reading=reading, says_yes=is_yes, label=label, weight=weight)
    return RateTexts(frame.drop(columns=["answer", "p"]), _read_twice(people, texts))


def sampling_weights(samples: Sequence[Sample], people: pd.DataFrame) -> pd.Series:
    """Return one over the probability of choosing each labelled text for labelling, by pair_id and seq.

    Without those of no sample. A sample's texts are read in random order, so that of n texts with m read, one is read with its
    probability times m / n. What stands behind the last text that was labelled in a sample does not count as read in it, also if
    it was labelled elsewhere. Each of several samples estimates the rate by itself, and counts in the mean of these by its number
    of labels.
    """
    labelled = pd.MultiIndex.from_frame(people[_KEY].drop_duplicates())
    found = [pd.Series(dtype=np.float64, index=pd.MultiIndex.from_arrays([[], []], names=_KEY))]
    for sample in samples:
        drawn = pd.DataFrame([(text.pair_id, text.seq, text.probability) for text in sample.texts], columns=[*_KEY, "p"])
        keys = pd.MultiIndex.from_frame(drawn[_KEY])
        own = pd.MultiIndex.from_frame(people.loc[people["sample"] == sample.id, _KEY])
        places = np.flatnonzero(keys.isin(own))
        if not len(places):
            continue
        reached = np.arange(len(drawn)) <= places.max()
        read = reached & keys.isin(labelled)
        found.append(pd.Series(len(drawn) / drawn["p"].to_numpy()[read], index=keys[read]))  # times m, over m
    summed: pd.Series = pd.concat(found).groupby(level=_KEY).sum()
    return summed


def _read_twice(people: pd.DataFrame, texts: pd.DataFrame) -> pd.DataFrame:
    """Return the answers of the first two people who labelled a text, for texts with at least two.

    They are ordered by author, so that a pair of people always has the same order.
    """
    two = people.drop_duplicates([*_KEY, "author"]).groupby(_KEY, sort=False).head(2)
    two = two[two.groupby(_KEY)["answer"].transform("size") == 2].sort_values([*_KEY, "author"])
    pairs = two.groupby(_KEY, sort=False)["answer"].agg(["first", "last"]).reset_index()
    return pairs.rename(columns={"last": "second"}).merge(texts[[*_KEY, "pert", "gene"]], on=_KEY)


def rubric_rates(texts: RateTexts, answer: str) -> RubricRates:
    """Return the rates of an answer by role and over all texts. Raise InputError without a text."""
    frame = texts.frame
    if frame.empty:
        raise InputError("rubric: the run has no text that it asks about; expected at least one")
    judged = _judged_texts(frame)
    by_role = {role: _rates_of(judged.take(mask)) for role, mask in _role_masks(frame)}
    kappa = None
    if len(texts.twice):
        two = texts.twice
        kappa = cohens_kappa(*(two[name].astype(str).to_numpy() for name in ("first", "second", "pert", "gene"))).shown
    return RubricRates(answer, by_role, kappa, len(texts.twice))


def _judged_texts(frame: pd.DataFrame) -> JudgedTexts:
    columns = (frame[name].to_numpy() for name in ("reading", "label", "weight", "pert", "gene", "says_yes"))
    return JudgedTexts.of(*columns)


def _role_masks(frame: pd.DataFrame) -> list[tuple[str, np.ndarray]]:
    """Return the texts of each role, in the order of a debate, and of all roles if there are several; "" is for whole rows."""
    roles = sorted(frame["role"].unique(), key=lambda role: (_ROLE_ORDER.get(role, len(_ROLE_ORDER)), role))
    masks = [(role, frame["role"].eq(role).to_numpy()) for role in roles if role]
    return [*masks, (ALL, np.ones(len(frame), dtype=np.bool_))] if len(masks) != 1 else masks


def _rates_of(texts: JudgedTexts) -> RoleRates:
    n_labels = int(texts.is_labelled.sum())
    corrected = corrected_rate(texts) if n_labels >= FEWEST_LABELS else None
    return RoleRates(
        n=len(texts),
        unread=int((~texts.is_read).sum()),
        yes=int((texts.says_yes & texts.is_read).sum()),
        labels=n_labels,
        missing=max(0, FEWEST_LABELS - n_labels),
        raw=raw_rate(texts).interval,
        corrected=corrected.interval if corrected else None,
        power=corrected.power if corrected else 0.0,
        sensitivity=_interval_or_none(sensitivity(texts)),
        specificity=_interval_or_none(specificity(texts)),
    )


def _interval_or_none(found: RateEstimate) -> Interval | None:
    return found.interval if found.interval.n else None
