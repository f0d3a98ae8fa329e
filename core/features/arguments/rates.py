"""The rate of an answer to a rubric over a run's texts, by role: as judged, and corrected by
people's labels.

A rule has no error rate: what counts characters or matches a pattern is no judge. Labels leave its
rates alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from core.base.result import Figure, Table, hidden
from core.base.texts import estimate_text
from core.features.arguments import rubric_tables
from core.features.arguments.prediction_powered import (
    JudgedTexts,
    corrected_rate,
    raw_rate,
    sensitivity,
    specificity,
)
from core.features.arguments.rubric import Rubric, roles_in_order
from core.features.arguments.rubric_tables import Sample, TextLabel
from core.methods.brief_checks import ALL
from core.scoring.sentences import axes_text
from core.stats import validate
from core.stats.arrays import count_codes, sum_by_group
from core.stats.clustered_mean import Part, sum_of_parts
from core.stats.delong import Estimate
from core.stats.intervals import Interval
from core.store import runs
from core.store.connection import Cursor

# with 30 the interval of an answer of 5% holds the truth in 92% only (docs/statistics.md)
FEWEST_LABELS = 50
RULE = "rule"  # the judge of a rubric that a rule or a pattern answers
_KEY = ["pair_id", "seq"]


@dataclass(frozen=True, slots=True)
class RoleRates:
    """The rates of one role's texts.

    n: texts; unread: those that the judge could not read; yes: those it gives the answer; answers:
    of each answer the number of texts. rate: as judged, which ignores the judge's errors. labels:
    texts that people labelled in a sample; missing_labels: how many more a corrected rate takes,
    which is None until then. sensitivity, specificity: None without a label of that answer.
    """

    n: int
    unread: int
    yes: int
    answers: Mapping[str, int]
    rate: Interval
    labels: int = 0
    missing_labels: int = 0
    corrected: Interval | None = None
    sensitivity: Interval | None = None
    specificity: Interval | None = None


@dataclass(frozen=True, slots=True)
class RubricRates:
    """The rates of an answer by role, "all" last if there are several.

    judge: "rule", or the id of a model's reading. kappa: of two people, over `labelled_twice` texts
    that both labelled; None without any.
    """

    rubric: str
    question: str
    run: str
    judge: str
    answer: str
    roles: Mapping[str, RoleRates]
    kappa: Interval | None
    labelled_twice: int
    judge_name: str = hidden()
    title = "Rates of an answer"

    @property
    def whole(self) -> RoleRates:
        """The rates of all texts."""
        return [*self.roles.values()][-1]

    @property
    def is_by_rule(self) -> bool:
        """Whether a rule answers, which has no error rate."""
        return self.judge == RULE

    @property
    def scope(self) -> str:
        """The texts, who answers, and what the intervals allow for."""
        rule = ", which has no error rate" if self.is_by_rule else ""
        intervals = f"95% intervals {axes_text(self.whole.rate)}"
        return (
            f"{self.whole.n:,} texts of {self.run}, answered by {self.judge_name}{rule};"
            f" {intervals}"
        )

    @property
    def sentence(self) -> str:
        """How often the answer is given, and how far two people agree."""
        whole = self.whole
        sentence = (
            f"{self.question} “{self.answer}” in {whole.yes:,} of {whole.n - whole.unread:,} texts:"
            f" {_text(whole.rate)}"
        )
        if whole.corrected is not None:
            sentence += f"; corrected by {whole.labels:,} labels: {_text(whole.corrected)}"
        if self.kappa is None:
            return f"{sentence}."
        return (
            f"{sentence}. Two readers of {self.labelled_twice:,} texts: Cohen's kappa"
            f" {_text(self.kappa)}."
        )

    @property
    def caveats(self) -> tuple[str, ...]:
        """What the judge could not read, and what is not known of its errors."""
        whole = self.whole
        unread = (
            f"{whole.unread:,} texts could not be read; the rate as judged leaves them out."
            if whole.unread
            else ""
        )
        errors = "The rate as judged ignores the judge's errors."
        if whole.missing_labels:
            errors += (
                f" {whole.labels:,} texts have a label; {whole.missing_labels:,} more labels would"
                " correct it."
            )
        return tuple(filter(None, (unread, "" if self.is_by_rule else errors)))

    def tables(self) -> tuple[Table, ...]:
        """Return a line for each role, and the agreement of two readers."""
        rates = Table(
            f"Rates of “{self.answer}”",
            tuple(self._row(role, each) for role, each in self.roles.items()),
        )
        two = {"texts with two labels": self.labelled_twice, "Cohen's kappa": self.kappa}
        return (
            (rates, Table("Agreement of two readers", (two,))) if self.labelled_twice else (rates,)
        )

    def _row(self, role: str, rates: RoleRates) -> dict[str, object]:
        answers = {
            f"“{answer}”": n for answer, n in rates.answers.items() if len(rates.answers) > 2
        }
        counts = {"texts": rates.n, "read": rates.n - rates.unread, **answers, "with it": rates.yes}
        row = {"role": role, **counts, "as judged": rates.rate}
        if self.is_by_rule:
            return row
        missing = f"{rates.missing_labels:,} labels missing"
        quality = {"sensitivity": rates.sensitivity, "specificity": rates.specificity}
        return {**row, "labels": rates.labels, "corrected": rates.corrected or missing, **quality}

    def figure(self) -> Figure:
        """Return the rates of each role."""
        table = pd.DataFrame(
            {"role": role, "rate": name, **rate.columns, "n": n, "chosen": name == "corrected"}
            for role, rates in self.roles.items()
            for name, rate, n in (
                (
                    "as judged",
                    rates.rate if rates.n > rates.unread else None,
                    rates.n - rates.unread,
                ),
                ("corrected", rates.corrected, rates.labels),
            )
            if rate is not None
        )
        values = {
            "table": table,
            "title": f"share of texts: {self.answer}",
            "by": "role",
            "names": "rate",
            "has_chance": False,
        }
        return Figure("core.plots.forest_plot:figure", values, self.sentence)


def _text(rate: Interval) -> str:
    return estimate_text(*rate.ends)


def load_rates(
    db: Cursor,
    rubric: Rubric,
    run_name: str,
    readings: pd.DataFrame,
    judge: str,
    answer: str | None = None,
) -> RubricRates | None:
    """Return the rates of an answer in a run, by default the rubric's first; None if it has no text
    to answer for.

    readings: `rubric_tables.readings` by the judge, "rule" or the id of a reading. Raise InputError
    for an answer that the rubric lacks.
    """
    run, answer = runs.find(db, run_name), rubric.answer_or_first(answer)
    judge_name = (
        runs.find(db, judge).name
        if judge != RULE
        else "its pattern"
        if rubric.pattern
        else "its rule"
    )
    # whole texts of a large run fill the memory
    batches = rubric_tables.text_batches(db, run.id, rubric)
    texts = pd.concat(
        [batch[[*_KEY, "pert", "gene", "role"]] for batch in batches], ignore_index=True
    )
    labels = rubric_tables.labels(db, rubric, run.id) if judge != RULE else []
    frame = join_answers(
        texts, readings, labels, rubric_tables.samples(db, rubric, run.id), rubric, answer
    )
    if frame.empty:
        return None
    two = read_twice(labels, texts)
    kappa = cohens_kappa(
        *(two[name].astype(str).to_numpy() for name in ("first", "second", "pert", "gene"))
    ).shown
    about = (rubric.name, rubric.question, run.name, judge, answer)
    return RubricRates(
        *about,
        rates_by_role(frame, judge, rubric.answers),
        kappa if len(two) else None,
        len(two),
        judge_name,
    )


def join_answers(
    texts: pd.DataFrame,
    readings: pd.DataFrame,
    labels: Sequence[TextLabel],
    samples: Sequence[Sample],
    rubric: Rubric,
    answer: str,
) -> pd.DataFrame:
    """Return texts with the answers of a judge and of people.

    Columns: those of texts (pair_id, pert, gene, seq, role); answer ("" if unread), reading (of 0
    to 1, NaN if unread), says_yes, label (1, 0, NaN), weight (one over the probability of being
    labelled, 0 without a label).
    """
    frame = texts.merge(readings[[*_KEY, "answer", "p"]].drop_duplicates(_KEY), on=_KEY, how="left")
    frame["answer"] = given = frame["answer"].fillna("")
    is_yes, p = given.eq(answer).to_numpy(), frame.pop("p")
    reading = np.where(given.eq(""), np.nan, is_yes.astype(np.float64))
    if answer == rubric.answers[0]:  # p is of the first answer
        reading = np.where(p.notna() & given.ne(""), p, reading)
    people = _label_frame(labels)
    keys = pd.MultiIndex.from_frame(frame[_KEY])
    weight = sampling_weights(samples, people).reindex(keys).fillna(0.0).to_numpy()
    first = people.drop_duplicates(_KEY).set_index(_KEY)["answer"].reindex(keys)
    label = np.where(first.notna() & (weight > 0), first.eq(answer).astype(np.float64), np.nan)
    return frame.assign(reading=reading, says_yes=is_yes, label=label, weight=weight)


def _label_frame(labels: Sequence[TextLabel]) -> pd.DataFrame:
    rows = [(each.pair_id, each.seq, each.answer, each.author, each.sample) for each in labels]
    return pd.DataFrame(rows, columns=[*_KEY, "answer", "author", "sample"]).astype(
        {"seq": np.int64}
    )


def sampling_weights(samples: Sequence[Sample], people: pd.DataFrame) -> pd.Series:
    """Return one over the probability of choosing each labelled text for labelling, by pair_id and
    seq.

    Without those of no sample. A sample's texts are read in random order, so that of n texts with m
    read, one is read with its probability times m / n. What stands behind the last text that was
    labelled in a sample does not count as read in it, also if it was labelled elsewhere. Each of
    several samples estimates the rate by itself, and counts in the mean of these by its number of
    labels.
    """
    labelled = pd.MultiIndex.from_frame(people[_KEY].drop_duplicates())
    weights = [pd.Series(dtype=np.float64, index=pd.MultiIndex.from_arrays([[], []], names=_KEY))]
    for sample in samples:
        drawn = pd.DataFrame(
            [(text.pair_id, text.seq, text.probability) for text in sample.texts],
            columns=[*_KEY, "p"],
        )
        keys = pd.MultiIndex.from_frame(drawn[_KEY])
        own = pd.MultiIndex.from_frame(people.loc[people["sample"] == sample.id, _KEY])
        places = np.flatnonzero(keys.isin(own))
        if len(places):
            read = (np.arange(len(drawn)) <= places.max()) & keys.isin(labelled)
            # times m, over m
            weights.append(pd.Series(len(drawn) / drawn["p"].to_numpy()[read], index=keys[read]))
    summed: pd.Series = pd.concat(weights).groupby(level=_KEY).sum()
    return summed


def read_twice(labels: Sequence[TextLabel], texts: pd.DataFrame) -> pd.DataFrame:
    """Return the answers of the first two people who labelled a text: first, second, pert, gene.

    They are ordered by author, so that a pair of people always has the same order.
    """
    two = _label_frame(labels).drop_duplicates([*_KEY, "author"]).groupby(_KEY, sort=False).head(2)
    two = two[two.groupby(_KEY)["answer"].transform("size") == 2].sort_values([*_KEY, "author"])
    pairs = two.groupby(_KEY, sort=False)["answer"].agg(["first", "last"]).reset_index()
    return pairs.rename(columns={"last": "second"}).merge(texts[[*_KEY, "pert", "gene"]], on=_KEY)


def rates_by_role(frame: pd.DataFrame, judge: str, answers: Sequence[str]) -> dict[str, RoleRates]:
    """Return the rates of each role, and of all if there are several.

    frame: of `join_answers`; whole rows have the role "". answers: of the rubric.
    """
    roles = roles_in_order(frame["role"])
    chosen = {role: frame[frame["role"] == role] for role in roles}
    parts = chosen if len(roles) == 1 else {**chosen, ALL: frame}
    return {role: _rates_of(part, judge, answers) for role, part in parts.items()}


def _rates_of(frame: pd.DataFrame, judge: str, answers: Sequence[str]) -> RoleRates:
    names = ("reading", "label", "weight", "pert", "gene", "says_yes")
    texts = JudgedTexts.of(*(frame[name].to_numpy() for name in names))
    yes, n_labels = int((texts.says_yes & texts.is_read).sum()), int(texts.is_labelled.sum())
    counts = {answer: int(frame["answer"].eq(answer).sum()) for answer in answers}
    rates = RoleRates(len(texts), int((~texts.is_read).sum()), yes, counts, raw_rate(texts))
    if judge == RULE:
        return rates
    right = [share if share.n else None for share in (sensitivity(texts), specificity(texts))]
    rates = replace(rates, labels=n_labels, sensitivity=right[0], specificity=right[1])
    if n_labels < FEWEST_LABELS:
        return replace(rates, missing_labels=FEWEST_LABELS - n_labels)
    return replace(rates, corrected=corrected_rate(texts).interval)


def cohens_kappa(first: ArrayLike, second: ArrayLike, pert: ArrayLike, gene: ArrayLike) -> Estimate:
    """Return Cohen's kappa (1960) of two readers of the same texts, with all intervals.

    It is their agreement beyond chance at their rates of answers. The variance is from Fleiss,
    Cohen and Everitt (1969), written as the influence of every text, so that texts that share a
    perturbation or a gene can be clustered.

    first, second: the readers' answers, names or codes of shape (n_texts,), like pert and gene. 1
    means that they always agree, and has no interval; 0 means no better than chance. NaN without
    texts, or if both give the same answer to every text.
    """
    a, b = np.asarray(first), np.asarray(second)
    n = validate.same_length(first=a, second=b, pert=pert, gene=gene)
    _, codes = validate.names_and_codes("answers", np.concatenate([a, b]))
    a, b = codes[:n], codes[n:]
    n_answers = count_codes(codes)
    rates_a, rates_b = (sum_by_group(each, n_answers) / max(n, 1) for each in (a, b))
    by_chance, agreed = float(rates_a @ rates_b), float((a == b).mean()) if n else float("nan")
    room = 1 - by_chance
    value = (agreed - by_chance) / room if n and room > 0 else float("nan")
    drift = rates_b[a] + rates_a[b] - 2 * by_chance  # a text's part of the agreement by chance
    influence = ((a == b) - agreed - (1 - value) * drift) / room / n if room > 0 else np.zeros(n)
    part = Part(value, influence, np.ones(n, dtype=np.bool_))
    return sum_of_parts([part], *validate.axes(pert, gene), (-1.0, 1.0))
