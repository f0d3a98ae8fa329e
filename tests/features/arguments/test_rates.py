"""Rates of an answer by role, from readings, labels and samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.base.errors import InputError
from core.base.result import to_json
from core.features.arguments import rubric_tables
from core.features.arguments.prediction_powered import JudgedTexts, corrected_rate, labels_only_rate
from core.features.arguments.rates import (
    FEWEST_LABELS,
    RULE,
    RoleRates,
    RubricRates,
    cohens_kappa,
    join_answers,
    load_rates,
    rates_by_role,
    read_twice,
)
from core.features.arguments.rubric import Rubric
from core.features.arguments.rubric_tables import Sample, SampledText, TextLabel
from core.runs.workspace import Workspace
from core.store import runs
from tests.strength import examples

RUBRIC = Rubric("names-a-pathway", "Does the text name a pathway?")
N = 400  # rows, each with a brief of EFFECT (seq 0) and one of NULL (seq 1)


@pytest.fixture(scope="module")
def texts() -> pd.DataFrame:
    rows = np.repeat(np.arange(N), 2)
    columns = {
        "pair_id": [f"P{i % 40}_G{i // 8}" for i in rows],
        "pert": [f"P{i % 40}" for i in rows],
        "gene": [f"G{i // 8}" for i in rows],
        "seq": np.tile(np.array([0, 1], dtype=np.int16), N),
        "stage": "de",
        "role": np.tile(["EFFECT", "NULL"], N),
    }
    return pd.DataFrame(columns)


@pytest.fixture(scope="module")
def readings(texts: pd.DataFrame) -> pd.DataFrame:
    """EFFECT: half yes; NULL: a quarter. The last two texts could not be read."""
    mixed = np.random.default_rng(0).permutation(N)[np.arange(len(texts)) // 2]
    said = np.where(mixed % 4 < np.where(texts["role"] == "EFFECT", 2, 1), "yes", "no").astype(
        object
    )
    said[-2:] = ""
    return texts[["pair_id", "seq", "role", "stage"]].assign(answer=said, p=np.nan)


def sample_of(texts: pd.DataFrame, size: int, seed: int = 0, name: str = "s") -> Sample:
    """A sample at random, of 1 in len / size."""
    drawn = texts.sample(size, random_state=seed)
    chosen = [
        SampledText(row.pair_id, int(row.seq), row.role, size / len(texts))
        for row in drawn.itertuples()
    ]
    return Sample(name, RUBRIC.name, RUBRIC.sha256, "run", "simple", "", seed, "Ada", tuple(chosen))


def label_all(
    sample: Sample, said: pd.DataFrame, first: int | None = None, wrong: int = 0
) -> list[TextLabel]:
    """Labels of the first texts of a sample that repeat the judge's answers, but the first `wrong`, which say no."""
    answers = said.set_index(["pair_id", "seq"])["answer"].to_dict()
    chosen = sample.texts[:first]
    return [
        TextLabel(
            each.pair_id,
            each.seq,
            each.role,
            "no" if i < wrong else answers[each.pair_id, each.seq] or "no",
            "Ada",
            sample=sample.id,
        )
        for i, each in enumerate(chosen)
    ]


def joined(
    texts: pd.DataFrame,
    readings: pd.DataFrame,
    labels: Sequence[TextLabel] = (),
    samples: Sequence[Sample] = (),
) -> pd.DataFrame:
    return join_answers(texts, readings, labels, samples, RUBRIC, "yes")


def rates_of(frame: pd.DataFrame) -> dict[str, RoleRates]:
    return rates_by_role(frame, "a reading", RUBRIC.answers)


def test_raw_rates_by_role_and_what_is_missing(texts: pd.DataFrame, readings: pd.DataFrame) -> None:
    found = rates_of(joined(texts, readings))
    assert list(found) == ["EFFECT", "NULL", "all"]
    effect, whole = found["EFFECT"], found["all"]
    n_yes = {role: int((part == "yes").sum()) for role, part in readings.groupby("role")["answer"]}
    assert (effect.n, effect.unread, effect.yes, effect.labels) == (N, 1, n_yes["EFFECT"], 0)
    assert effect.rate.estimate == pytest.approx(n_yes["EFFECT"] / 399)
    assert whole.answers == {"yes": whole.yes, "no": 2 * N - 2 - whole.yes}
    assert (whole.n, whole.yes, whole.missing_labels) == (2 * N, sum(n_yes.values()), FEWEST_LABELS)
    assert effect.rate.low < effect.rate.estimate < effect.rate.high
    assert (effect.corrected, effect.sensitivity) == (None, None)
    rates = RubricRates("r", "Is it?", "run", "a reading", "yes", found, None, 0, "a model")
    assert f"{FEWEST_LABELS} labels missing" in rates.tables()[0].texts()[0]["corrected"]
    assert f"{FEWEST_LABELS} more labels would correct it" in " ".join(rates.caveats)
    shape = to_json(rates)["roles"]["NULL"]
    assert shape["rate"]["estimate"] == pytest.approx(n_yes["NULL"] / 399)
    assert (shape["corrected"], shape["missing_labels"]) == (None, FEWEST_LABELS)


def test_a_rule_has_no_error_rate_and_asks_for_no_labels(
    texts: pd.DataFrame, readings: pd.DataFrame
) -> None:
    sample = sample_of(texts, 200)
    roles = rates_by_role(
        joined(texts, readings, label_all(sample, readings, wrong=20), [sample]),
        RULE,
        RUBRIC.answers,
    )
    for each in roles.values():
        assert (each.labels, each.missing_labels, each.corrected, each.sensitivity) == (
            0,
            0,
            None,
            None,
        )
    rates = RubricRates("r", "Is it?", "run", RULE, "yes", roles, None, 0, "its rule")
    assert "label" not in " ".join(
        (rates.sentence, rates.scope, *rates.caveats, *rates.tables()[0].rows[0])
    )


def test_corrected_rates_are_those_of_the_arrays(
    texts: pd.DataFrame, readings: pd.DataFrame
) -> None:
    sample = sample_of(texts, 200)
    labels = label_all(sample, readings, wrong=20)
    found = rates_of(joined(texts, readings, labels, [sample]))["all"]
    assert (found.labels, found.missing_labels) == (200, 0)
    label_of = {(each.pair_id, each.seq): float(each.answer == "yes") for each in labels}
    label = [label_of.get(key, np.nan) for key in zip(texts["pair_id"], texts["seq"], strict=True)]
    reading = readings["answer"].map({"yes": 1.0, "no": 0.0, "": np.nan})
    plain = JudgedTexts.of(
        reading, label, np.isfinite(label).astype(float), texts["pert"], texts["gene"]
    )
    assert found.corrected.estimate == pytest.approx(corrected_rate(plain).interval.estimate)
    assert found.corrected.estimate < found.rate.estimate  # some of what the judge calls yes is no
    alone = labels_only_rate(plain).interval
    assert found.corrected.high - found.corrected.low < alone.high - alone.low
    assert found.sensitivity.estimate == 1
    assert found.sensitivity.low < 1  # Wilson's
    assert found.specificity.estimate < 1


def test_half_a_sample_two_samples_and_labels_of_no_sample(
    texts: pd.DataFrame, readings: pd.DataFrame
) -> None:
    whole, half = sample_of(texts, 200), sample_of(texts, 100, 1, "t")
    weights = joined(texts, readings, label_all(whole, readings, 50), [whole])
    labelled = weights["weight"] > 0
    assert (
        labelled.sum() == 50
    )  # of 200 in random order, 50 read: each text of 800 had one chance in 16
    assert weights.loc[labelled, "weight"].tolist() == pytest.approx([16.0 * 50] * 50)
    outside = replace(label_all(whole, readings, 60)[-1], sample=None)
    both = joined(
        texts,
        readings,
        [*label_all(whole, readings, 50), *label_all(half, readings), outside],
        [whole, half],
    )
    first, second = (
        {(each.pair_id, each.seq) for each in sample.texts} for sample in (whole, half)
    )
    reached = {(each.pair_id, each.seq) for each in whole.texts[:50]}
    keys = list(zip(both["pair_id"], both["seq"], strict=True))
    expected = [200 / 0.25 * (key in reached) + 100 / 0.125 * (key in second) for key in keys]
    assert both["weight"].tolist() == pytest.approx(expected)
    assert (outside.pair_id, outside.seq) in first


def test_a_text_counts_once_with_its_first_label(
    texts: pd.DataFrame, readings: pd.DataFrame
) -> None:
    sample = sample_of(texts, 40)
    ada = label_all(sample, readings)
    ben = [replace(each, author="Ben", answer="no") for each in ada[:20]]
    found = joined(texts, readings, [*ada, *ben], [sample])
    assert found["label"].notna().sum() == 40
    alone = joined(texts, readings, ada, [sample])
    pd.testing.assert_frame_equal(found, alone)
    two = read_twice([*ada, *ben], texts)
    assert len(two) == 20
    assert set(two["second"]) == {"no"}


def test_probabilities_are_used_where_the_judge_has_them(
    texts: pd.DataFrame, readings: pd.DataFrame
) -> None:
    sure = readings.assign(p=np.where(readings["answer"] == "yes", 0.9, 0.2))
    frame = joined(texts, sure)
    assert frame.loc[frame["says_yes"], "reading"].unique().tolist() == [0.9]
    assert frame["reading"].isna().sum() == 2
    other = join_answers(texts, sure, [], [], RUBRIC, "no")  # p is of the first answer
    assert set(other["reading"].dropna()) == {0.0, 1.0}


def test_texts_and_labels_of_the_store(small_workspace: Workspace) -> None:
    with small_workspace.store.write() as db:
        run = runs.find(db, "debate").id
        whole = replace(RUBRIC, unit="row")
        found = rubric_tables.texts(db, run, whole)
        chosen = tuple(
            SampledText(row.pair_id, int(row.seq), row.role, 1.0) for row in found.itertuples()
        )
        sample = Sample("s", whole.name, whole.sha256, run, "simple", "", 0, "Ada", chosen)
        rubric_tables.add_sample(db, sample)
        label = TextLabel(chosen[0].pair_id, -1, "", "yes", "Ada", sample=sample.id)
        said = found[["pair_id", "seq", "role", "stage"]].assign(answer="no", p=np.nan)
        also = replace(label, author="Ben", answer="no")
        rubric_tables.put_labels(db, whole, run, [label, also])
        # Any run may stand for the reading: its answers are given.
        rates = load_rates(db, whole, run, said, run)
        assert load_rates(db, replace(RUBRIC, roles=("CRITIC",)), run, said[:0], RULE) is None
        with pytest.raises(InputError, match="answer 'maybe', expected one of yes, no"):
            load_rates(db, whole, run, said, run, "maybe")
    assert (rates.labelled_twice, rates.judge_name) == (1, "debate")
    assert list(rates.roles) == ["all"]  # a whole row has no role
    assert (rates.roles["all"].labels, rates.roles["all"].yes) == (1, 0)
    assert rates.roles["all"].specificity is None  # no text that people give another answer


def alone(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Perturbations and genes that no two texts share."""
    return np.arange(n), np.arange(n)


def fleiss_variance(first: np.ndarray, second: np.ndarray) -> float:
    """The large-sample variance from the table of both readers' answers (Fleiss, Cohen and Everitt 1969, formula 13)."""
    n_answers, n = max(first.max(), second.max()) + 1, len(first)
    table = np.zeros((n_answers, n_answers))
    np.add.at(table, (first, second), 1 / n)
    rows, columns = table.sum(axis=1), table.sum(axis=0)
    agreed, chance = np.trace(table), rows @ columns
    kappa = (agreed - chance) / (1 - chance)
    on = sum(
        table[i, i] * (1 - (rows[i] + columns[i]) * (1 - kappa)) ** 2 for i in range(n_answers)
    )
    off = (
        sum(
            table[i, j] * (columns[i] + rows[j]) ** 2
            for i in range(n_answers)
            for j in range(n_answers)
            if i != j
        )
        * (1 - kappa) ** 2
    )
    return float((on + off - (kappa - chance * (1 - kappa)) ** 2) / ((1 - chance) ** 2 * n))


@examples(30)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=2, max_size=60))
def test_kappa_equals_scikit_learns(pairs: list[tuple[int, int]]) -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    first, second = np.array(pairs).T
    ours = cohens_kappa(first, second, *alone(len(pairs))).value
    if len({*first, *second}) == 1:
        assert np.isnan(ours)  # scikit-learn divides by 0
    else:
        assert ours == pytest.approx(metrics.cohen_kappa_score(first, second), abs=1e-12)


def test_the_row_interval_is_that_of_fleiss_cohen_and_everitt() -> None:
    rng = np.random.default_rng(0)
    first = rng.integers(0, 3, 200)
    second = np.where(rng.random(200) < 0.6, first, rng.integers(0, 3, 200))
    found = cohens_kappa(first, second, *alone(200))
    assert found.row.se**2 == pytest.approx(fleiss_variance(first, second) * 200 / 199, rel=1e-9)
    assert found.shown.low < found.value < found.shown.high


def test_texts_that_share_a_perturbation_say_less() -> None:
    rng = np.random.default_rng(1)
    first = np.repeat(rng.integers(0, 2, 40), 5)
    second = np.repeat(rng.integers(0, 2, 40), 5)
    found = cohens_kappa(first, second, np.repeat(np.arange(40), 5), np.arange(200))
    assert found.shown.se == pytest.approx(found.row.se * np.sqrt(5), rel=0.05)


def test_agreement_without_exception_has_no_interval_and_no_text_no_kappa() -> None:
    names = np.array(["yes", "no", "no"])
    found = cohens_kappa(names, names, *alone(3))
    assert found.value == 1
    assert np.isnan(found.shown.se)
    assert np.isnan(cohens_kappa(names[:0], names[:0], *alone(0)).value)
    with pytest.raises(InputError, match="different lengths"):
        cohens_kappa(names, names[:2], *alone(3))
