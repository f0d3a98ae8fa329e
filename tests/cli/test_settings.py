"""What a command says of a value that a setting may not have: its option, what was got and what is expected."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.runs.workspace import Workspace
from tests.commands import core

RUN = "run prompt_only --dataset simulated"
FUSE = "fuse --base a --with b --name x --w-dir 1"
RECOVER = "fuse --from b --base a --name x --w-dir 1"
LABELS = "cells labels F --name n"
HYPOTHESIS = "ledger add q --hypothesis h --prediction p --runs a,b"


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (f"{RUN} --top-p 0", "--top-p: got '0', expected a number, more than 0, at most 1"),
        (f"{RUN} --temperature inf", "--temperature: got 'inf', expected a number, 0 or more"),
        (f"{RUN} --extra-body '[1]'", "--extra-body: got '[1]', expected a JSON object"),
        (
            f'{RUN} --extra-headers \'{{"Host": "a"}}\'',
            "--extra-headers: 'Host' is set by the connection itself",
        ),
        ("knn --space x,x", "--space: got x, x; expected one or more, each once"),
        (f"{RECOVER} --w-de 0", "--w-de: got 0.0, expected a number, more than 0, at most 1"),
        (f"{FUSE} --w-de 2", "--w-de: got '2', expected a list of numbers, each 0 to 1"),
        (f"{FUSE} --w-de 0.5,0.5", "--w-de: got 2 weights for 1 runs"),
        (
            f"{LABELS} --pert-shares 2 -1 0",
            "--pert-shares: got ('2', '-1', '0'), expected 3 numbers",
        ),
        (
            f"{LABELS} --pert-shares 0.5 0.1 0.1",
            "--pert-shares: got (0.5, 0.1, 0.1), expected those of train",
        ),
        (
            "knn --space x --permutations -1",
            "--permutations: got '-1', expected a whole number, 0 or more",
        ),
        (
            "knn --space x --protocol loo --folds 3",
            "--folds: got 3, which has no effect under the protocol loo",
        ),
        (
            "knn --space x --protocol test --seed 9",
            "--seed: got 9, which has no effect under the protocol test",
        ),
        (
            f"{LABELS} --ray-address h:1",
            "--ray-address: got h:1, but the backend is local; expected the backend ray with it",
        ),
        (
            "run debat --dataset simulated",
            "method 'debat': not known, did you mean debate, debate_again?",
        ),
    ],
)
def test_a_value_beyond_a_range_names_its_option(tmp_path: Path, command: str, said: str) -> None:
    done = core(tmp_path, command)
    assert (done.status, done.err.count("\n")) == (1, 1)
    assert done.err.startswith(f"error: {said}")


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (f"{RUN} --labels none", "--labels: got 'none', expected auto, all, blinded, folds"),
        (
            f"{HYPOTHESIS} --smallest 0.1 --metric hit_rate",
            "--metric: got 'hit_rate', expected de, dir, mean",
        ),
        (
            "knn --space x --folds 2.5",
            "--folds: got '2.5', expected a whole number, 2 or more",
        ),
        (
            f"{FUSE} --w-de 1 --reference foo",
            "--reference: got 'foo', expected population, train",
        ),
        (f"{LABELS} --pert-shares 1 0 all", "3 numbers, each 0 to 1"),
    ],
)
def test_wrong_usage_says_the_same_and_whose_help_says_more(
    tmp_path: Path, command: str, said: str
) -> None:
    done = core(tmp_path, command)
    assert (done.status, done.err.count("\n")) == (2, 1)
    assert f"{said}; see " in done.err


def test_what_has_no_effect_on_a_method_is_said_and_breaks_no_script(
    small_workspace: Workspace,
) -> None:
    of_model = ("--endpoint", "http://nowhere/v1", "--model", "m", "--no-cache")
    done = core(small_workspace, "run", "evidence_rules", "--rows", "sample=2", *of_model)
    assert done.status == 0
    assert (
        "--model, --endpoint, --no-cache: no effect on evidence_rules, which calls no model\n"
        in done.err
    )
