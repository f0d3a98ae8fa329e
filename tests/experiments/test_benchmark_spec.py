"""What a specification may say; errors name file, line and key."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from core.config import REPOSITORY
from core.engine.request import RunRequest
from core.errors import InputError
from core.experiments.arm_differences import arm_difference, check_arms
from core.experiments.benchmark_spec import Arm, parse_benchmark, read_benchmark
from core.fields.record import option_of
from core.llm.call_settings import CallSettings

GOOD = """\
name = "b"
primary = "mean"
smallest_effect = 0.01

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
placebo = "DIR"
[arms.options]
rounds = 2

[noise]
arm = "A"
seeds = [3]
"""


def test_examples_are_read() -> None:
    files = sorted((REPOSITORY / "docs" / "examples").glob("*.toml"))
    assert files
    for file in files:
        spec = read_benchmark(file)
        assert all(difference.known for difference in check_arms(spec)), file


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
placebo = ["DE within gene", "DIR within gene"]

[noise]
arm = "debate + kNN"

[hypothesis]
claim = "Genes with similar vectors respond alike, beyond what the debate says"
prediction = "the mean rises by 0.01 or more"

[plan]
correlation = 0.7
"""


def test_an_arm_is_asked_for_as_a_run_is() -> None:
    """Server, model and budget are the same settings, with the same range, kind and effect on the result."""
    keys = 'model = "m"\nendpoint = "http://a/v1,http://b/v1"\ntoken_budget = 1\nplacebo = "DIR"'
    arm = parse_benchmark(GOOD.replace('placebo = "DIR"', keys)).arm("B")
    assert (arm.model, arm.endpoint, arm.token_budget) == ("m", "http://a/v1,http://b/v1", 1)
    for name in ("model", "endpoint", "token_budget"):
        assert replace(option_of(Arm, name), help="") == replace(option_of(RunRequest, name), help="")
    with pytest.raises(InputError, match=r"line 21: arms\.2\.token_budget is 0, expected a whole number, 1 or more"):
        parse_benchmark(GOOD.replace('placebo = "DIR"', "token_budget = 0"))


def test_what_a_file_says() -> None:
    spec = parse_benchmark(GOOD)
    assert (spec.rows.run, spec.folds.k, spec.folds.cuts, spec.seeds) == ("r", 2, (0, 1), (0,))
    assert spec.arm("B").options == {"rounds": 2}
    assert spec.arm("B").placebo == ("DIR",)
    assert spec.control_of(spec.arm("B")).name == "A"
    assert arm_difference(spec, spec.arm("B")).things == ("rounds: 1 → 2",)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('primary = "mean"', 'primary = "AUC"', "file, line 2: primary is 'AUC', expected DE, DIR, mean"),
        ("smallest_effect = 0.01\n", "", "file: smallest_effect is missing, expected a number, more than 0, less than 1"),
        ("k = 2", "k = 1", "file, line 9: folds.k is 1, expected a whole number, 2 or more"),
        (
            "cuts = [0, 1]",
            "cuts = [0, -1]",
            "file, line 10: folds.cuts is [0, -1], expected a list of",
        ),
        ('placebo = "DIR"', "top_p = 0", "file, line 21: arms.2.top_p is 0, expected a number, more than 0, at most 1"),
        ('placebo = "DIR"', 'extra_body = "x"', "file, line 21: arms.2.extra_body: no JSON"),
        ("cuts = [0, 1]", "cuts = [1, 1]", "file, line 10: folds.cuts is [1, 1], expected a list of different whole numbers"),
        ('placebo = "DIR"', 'placebo = "ACC"', "file, line 21: arms.2.placebo has 'ACC', expected DE, DIR"),
        ('placebo = "DIR"', "colour = 1", "file, line 21: arms.2.colour is not known, expected name"),
        ('name = "B"', 'name = "A"', "file, line 19: arms.2.name is 'A', which is already an arm"),
        ('arm = "A"', 'arm = "C"', "file, line 26: noise.arm is 'C', expected A, B"),
        ('run = "r"', 'run = ""', "file, line 6: rows.run is '', expected a text"),
        ('method = "debate"\n[', "[", "file, line 13: arms.1.name has none"),
        ("k = 2", "k = ", "file: Invalid value (at line 9, column 5), expected TOML"),
        ("[noise]", '[plan]\nlike = ["r", "r"]\n[noise]', "file, line 26: plan.like is ['r', 'r'], expected two runs"),
        ("[noise]", '[plan]\nlike = ["r"]\n[noise]', "file, line 26: plan.like is ['r'], expected two runs"),
        ("cuts = [0, 1]", "cuts = [0, true]", "file, line 10: folds.cuts is [0, True], expected a list of"),
        ("cuts = [0, 1]", "cuts = 2024-01-01", "file, line 10: folds.cuts is datetime.date(2024, 1, 1), expected a list"),
        ('name = "b"', 'name = ""', "file, line 1: name is '', expected a text that is not empty"),
        ('name = "b"', 'name = "b"\ntext = "x"', "file, line 2: text is not known"),
        ("[rows]", "[rows]\nseed = 1", "file, line 6: rows.seed has no effect without a sample"),
    ],
)
def test_errors_name_line_and_key(old: str, new: str, message: str) -> None:
    assert old in GOOD
    with pytest.raises(InputError) as error:
        parse_benchmark(GOOD.replace(old, new, 1), "file")
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
        parse_benchmark(TWO_CUTS.replace("power = 2.0", knn), "x.toml")
    assert str(error.value).startswith(f"x.toml, line 21: arms.2.knn.{message}")


@pytest.mark.parametrize("spaces", ["[]", '["a", "a"]'])
def test_a_knn_of_an_arm_names_each_space_once(spaces: str) -> None:
    with pytest.raises(InputError, match=r"^x.toml, line 21: arms\.2\.knn\.spaces: got .*; expected one or more, each once"):
        parse_benchmark(TWO_CUTS.replace('["simulated"]', spaces), "x.toml")


def test_a_knn_of_an_arm_has_what_was_written() -> None:
    arm = parse_benchmark(TWO_CUTS.replace("power = 2.0", "k = 7")).arms[1]
    assert arm.knn == {"spaces": "simulated", "k": 7}


def test_arms_differ_in_one_thing() -> None:
    two = GOOD.replace("rounds = 2", 'rounds = 2\njudge = "logprob"')
    with pytest.raises(InputError, match="differs from 'A' in 2 things"):
        check_arms(parse_benchmark(two))
    [difference] = check_arms(parse_benchmark(two.replace('placebo = "DIR"', "several = true")))
    assert len(difference.things) == 2
    with pytest.raises(InputError, match="is equal to 'A'"):
        check_arms(parse_benchmark(GOOD.replace("rounds = 2", "rounds = 1")))


def test_a_file_that_is_no_text(tmp_path: Path) -> None:
    file = tmp_path / "spec.toml"
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="cannot be read as UTF-8"):
        read_benchmark(file)


def test_how_a_server_is_asked_is_a_difference_of_arms() -> None:
    cold = GOOD.replace("rounds = 2", "rounds = 1").replace('placebo = "DIR"', 'temperature = 0.0\nlimit_name = "max_tokens"')
    spec = parse_benchmark(cold)
    assert spec.arms[1].calls == CallSettings(temperature=0.0, limit_name="max_tokens")
    [difference] = check_arms(spec)
    assert difference.things == ("temperature: default → 0.0",)  # what the longest answer is called changes none


def test_a_question_may_be_the_empty_text_that_it_is_by_default() -> None:
    assert parse_benchmark(GOOD.replace('name = "b"', 'name = "b"\nquestion = ""', 1)).question == ""
