"""What a file may say; errors name file, line and key."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.base.config import REPOSITORY
from core.base.errors import InputError
from core.base.fields.record import option_of
from core.base.types import Label, Pair
from core.evidence.label_view import fold_views
from core.features.experiments.kinds.file import (
    FileArm,
    FileRows,
    choose_labelled_rows,
    draw_stratified,
    parse_experiment,
)
from core.llm.call_settings import CallSettings
from core.runs.request import RunRequest

GOOD = """\
name = "b"
primary = "mean"
smallest_effect = 0.01
noise_seeds = [3]

[rows]
run = "r"

[folds]
k = 2
cuts = [0, 1]

[[arms]]
name = "A"
method = "debate"
[arms.options]
rounds = 1

[[arms]]
name = "B"
method = "debate"
note = "DIR stays"
[arms.options]
rounds = 2
"""


def test_examples_are_read() -> None:
    files = sorted((REPOSITORY / "docs" / "examples").glob("*.toml"))
    assert files
    for file in files:
        spec = parse_experiment(file.read_text("utf-8"), str(file))
        assert len(spec.changes) == len(spec.arms) - 1
        assert all(spec.changes.values()), file


TWO_CUTS = """\
name = "kNN in two cuts"
question = "Do the labels of similar genes add to what the debate says?"
dataset = "simulated"
primary = "mean"
smallest_effect = 0.01

[rows]
run = "simulated debate"

[folds]
k = 3
cuts = [0, 1]

[[arms]]
name = "debate"
run = "simulated debate"

[[arms]]
name = "debate + kNN"
base = "debate"
knn = { spaces = ["simulated"], power = 2.0 }
w_de = 0.5
w_dir = 0.4

[hypothesis]
claim = "Genes with similar vectors respond alike, beyond what the debate says"
prediction = "the mean rises by 0.01 or more"
"""


def test_an_arm_is_asked_for_as_a_run_is() -> None:
    """Server, model and budget are the same settings, with the same range, kind and effect on the result."""
    keys = 'model = "m"\nendpoint = "http://a/v1,http://b/v1"\ntoken_budget = 1\nseveral = true'
    arm = parse_experiment(GOOD.replace('note = "DIR stays"', keys)).arm("B")
    assert (arm.model, arm.endpoint, arm.token_budget) == ("m", "http://a/v1,http://b/v1", 1)
    for name in ("model", "endpoint", "token_budget"):
        of_arm, of_run = option_of(FileArm, name), option_of(RunRequest, name)
        assert (of_arm.type, of_arm.default) == (of_run.type, of_run.default)
        assert asdict(of_arm.about) | {"help": ""} == asdict(of_run.about) | {"help": ""}
    with pytest.raises(
        InputError, match=r"line 22: arms\.2\.token_budget is 0, expected a whole number, 1 or more"
    ):
        parse_experiment(GOOD.replace('note = "DIR stays"', "token_budget = 0"))


def test_what_a_file_says() -> None:
    spec = parse_experiment(GOOD)
    assert (spec.rows.run, spec.folds.k, spec.folds.cuts, spec.seeds, spec.noise_seeds) == (
        "r",
        2,
        (0, 1),
        (0,),
        (3,),
    )
    assert spec.arm("B").options == {"rounds": 2}
    assert spec.arm("B").note == "DIR stays"
    assert spec.base == "A"
    assert parse_experiment(f"\ufeff{GOOD}") == spec
    assert spec.changes == {"B": "rounds: 1 → 2"}


def test_another_base() -> None:
    spec = parse_experiment(TWO_CUTS.replace("[rows]", 'base = "debate + kNN"\n[rows]', 1))
    assert (spec.base, list(spec.changes)) == ("debate + kNN", ["debate"])
    assert spec.hypothesis.arm == "debate"
    with pytest.raises(InputError, match=r"line 4: base is 'C', expected A, B"):
        parse_experiment(GOOD.replace("noise_seeds", 'base = "C"\nnoise_seeds', 1))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            'primary = "mean"',
            'primary = "AUC"',
            "file, line 2: primary is 'AUC', expected DE, DIR, mean",
        ),
        (
            "smallest_effect = 0.01\n",
            "",
            "file: smallest_effect is missing, expected a number, more than 0, less than 1",
        ),
        ("k = 2", "k = 1", "file, line 10: folds.k is 1, expected a whole number, 2 or more"),
        (
            "cuts = [0, 1]",
            "cuts = [0, -1]",
            "file, line 11: folds.cuts is [0, -1], expected a list of",
        ),
        (
            'note = "DIR stays"',
            "top_p = 0",
            "file, line 22: arms.2.top_p is 0, expected a number, more than 0, at most 1",
        ),
        ('note = "DIR stays"', 'extra_body = "x"', "file, line 22: arms.2.extra_body: no JSON"),
        (
            "cuts = [0, 1]",
            "cuts = [1, 1]",
            "file, line 11: folds.cuts is [1, 1], expected a list of different whole numbers",
        ),
        (
            'note = "DIR stays"',
            "colour = 1",
            "file, line 22: arms.2.colour is not known, expected name",
        ),
        ('name = "B"', 'name = "A"', "file, line 20: arms.2.name is 'A', which is already an arm"),
        ('run = "r"', 'run = ""', "file, line 7: rows.run is '', expected a text"),
        ('method = "debate"\n[', "[", "file, line 14: arms.1.name has none"),
        ("k = 2", "k = ", "file: Invalid value (at line 10, column 5), expected TOML"),
        (
            "cuts = [0, 1]",
            "cuts = [0, true]",
            "file, line 11: folds.cuts is [0, True], expected a list of",
        ),
        (
            "cuts = [0, 1]",
            "cuts = 2024-01-01",
            "file, line 11: folds.cuts is datetime.date(2024, 1, 1), expected a list",
        ),
        ('name = "b"', 'name = ""', "file, line 1: name is '', expected a text that is not empty"),
        ('name = "b"', 'name = "b"\ntext = "x"', "file, line 2: text is not known"),
        (
            "noise_seeds = [3]",
            "noise_seeds = [0]",
            "file, line 4: noise_seeds is [0], expected seeds that are not in seeds",
        ),
    ],
)
def test_errors_name_line_and_key(old: str, new: str, message: str) -> None:
    assert old in GOOD
    with pytest.raises(InputError) as error:
        parse_experiment(GOOD.replace(old, new, 1), "file")
    assert str(error.value).startswith(message), error.value


@pytest.mark.parametrize(
    ("knn", "message"),
    [
        ('power = "fast"', "power is 'fast', expected a number, more than 0"),
        ("power = true", "power is True, expected a number, more than 0"),
        ("power = -2", "power is -2, expected a number, more than 0"),
        ("power = inf", "power is inf, expected a number, more than 0"),
        ("k = 2.5", "k is 2.5, expected a whole number, 1 or more"),
        ("k = -1", "k is -1, expected a whole number, 1 or more"),
        ('axis = "up"', "axis is 'up', expected gene, pert, both"),
        ('centre = "maybe"', "centre is 'maybe', expected true or false"),
        ('protocol = "loo"', "protocol is not known, expected spaces, power"),
        ("folds = 3", "folds is not known, expected spaces, power"),
    ],
)
def test_a_knn_of_an_arm_is_read_as_it_is_declared(knn: str, message: str) -> None:
    with pytest.raises(InputError) as error:
        parse_experiment(TWO_CUTS.replace("power = 2.0", knn), "x.toml")
    assert str(error.value).startswith(f"x.toml, line 21: arms.2.knn.{message}")


@pytest.mark.parametrize("spaces", ["[]", '["a", "a"]'])
def test_a_knn_of_an_arm_names_each_space_once(spaces: str) -> None:
    with pytest.raises(
        InputError,
        match=r"^x.toml, line 21: arms\.2\.knn\.spaces: got .*; expected one or more, each once",
    ):
        parse_experiment(TWO_CUTS.replace('["simulated"]', spaces), "x.toml")


def test_a_knn_of_an_arm_has_what_was_written() -> None:
    arm = parse_experiment(TWO_CUTS.replace("power = 2.0", "k = 7")).arms[1]
    assert arm.knn == {"spaces": "simulated", "k": 7}


def test_arms_differ_in_one_thing() -> None:
    two = GOOD.replace("rounds = 2", 'rounds = 2\njudge = "logprob"')
    with pytest.raises(InputError, match=r"line 20: .* differs from 'A' in 2 things"):
        parse_experiment(two)
    assert (
        parse_experiment(two.replace('note = "DIR stays"', "several = true")).changes["B"]
        == "rounds: 1 → 2; judge: default → logprob"
    )
    with pytest.raises(InputError, match=r"line 20: .* differs from 'A' in 0 things"):
        parse_experiment(GOOD.replace("rounds = 2", "rounds = 1"))


def test_an_existing_run_cannot_be_checked() -> None:
    assert parse_experiment(
        GOOD.replace('method = "debate"\n[arms.options]\nrounds = 1', 'run = "r"')
    ).changes == {"B": None}


def test_how_a_server_is_asked_is_a_difference_of_arms() -> None:
    cold = GOOD.replace("rounds = 2", "rounds = 1").replace(
        'note = "DIR stays"', 'temperature = 0.0\nlimit_name = "max_tokens"'
    )
    spec = parse_experiment(cold)
    assert spec.arms[1].calls == CallSettings(temperature=0.0, limit_name="max_tokens")
    assert (
        spec.changes["B"] == "temperature: default → 0.0"
    )  # what the longest answer is called changes none


def test_a_question_may_be_the_empty_text_that_it_is_by_default() -> None:
    assert (
        parse_experiment(GOOD.replace('name = "b"', 'name = "b"\nquestion = ""', 1)).question == ""
    )


ROWS = [
    Pair(f"P{p}_G{g}", f"P{p}", f"G{g}", Label(("up", "none", "none", "down")[g % 4]), "train")
    for p in range(6)
    for g in range(8)
]
TEST = [Pair("Q_H", "Q", "H", None, "test")]


@given(st.lists(st.sampled_from(["up", "down", "none"]), min_size=1, max_size=60), st.data())
def test_each_label_keeps_its_share_to_a_row(labels: list[str], data: st.DataObject) -> None:
    n = data.draw(st.integers(1, len(labels)))
    drawn = draw_stratified(labels, n, data.draw(st.integers(0, 3)))
    assert len(set(drawn)) == n
    assert drawn == sorted(drawn)
    taken, every = Counter(labels[i] for i in drawn), Counter(labels)
    assert all(abs(taken[label] - n * count / len(labels)) < 1 for label, count in every.items())


@given(st.integers(2, 4), st.integers(0, 20), st.integers(8, 40))
def test_no_label_of_a_rows_perturbation_or_gene_is_in_its_view(
    k: int, cut: int, sample: int
) -> None:
    """Folds blind for each row: with all of them blinded at once, nothing would be left to see."""
    chosen = set(choose_labelled_rows(ROWS + TEST, FileRows(sample=sample), None))
    folds = fold_views(ROWS, k, cut)
    for row in (row for row in ROWS if row.pair_id in chosen):
        seen = folds.view_of(row).rows
        assert not any(other.pert == row.pert or other.gene == row.gene for other in seen)


def test_rows_are_labelled_ones() -> None:
    assert choose_labelled_rows(ROWS + TEST, FileRows(), None) == tuple(row.pair_id for row in ROWS)
    assert choose_labelled_rows(ROWS + TEST, FileRows(run="r"), ["Q_H", "P1_G1"]) == ("P1_G1",)
    with pytest.raises(InputError, match="none of run r has a label"):
        choose_labelled_rows(ROWS + TEST, FileRows(run="r"), ["Q_H"])
    with pytest.raises(
        InputError, match="a sample of 49, expected at most the number of labelled rows, 48"
    ):
        choose_labelled_rows(ROWS + TEST, FileRows(sample=49), None)
