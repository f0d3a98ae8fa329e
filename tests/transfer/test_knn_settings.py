from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.base.errors import InputError
from core.transfer.knn import Weighting
from core.transfer.knn_settings import KnnSettings, read_knn_settings
from core.transfer.protocols import EvaluationProtocol, SimilaritySettings
from tests.transfer.oracles import weightings

NAME = st.text(min_size=1, max_size=5).map(str.strip).filter(lambda name: name and "," not in name)
NAMES = st.lists(NAME, min_size=1, max_size=3, unique=True).map(tuple)
PROTOCOLS = st.one_of(
    st.sampled_from([EvaluationProtocol("test"), EvaluationProtocol("loo")]),
    st.builds(EvaluationProtocol, st.just("folds"), st.integers(2, 9), st.integers(0, 99)),
)
SETTINGS = st.builds(SimilaritySettings, weightings(), st.booleans(), st.floats(0, 1))


@given(st.builds(KnnSettings, NAMES, PROTOCOLS, SETTINGS))
def test_a_specification_gives_the_plan_back_even_as_json(plan: KnnSettings) -> None:
    assert read_knn_settings(plan.as_spec()) == plan
    assert read_knn_settings(json.loads(json.dumps(plan.as_spec()))) == plan


@given(st.builds(KnnSettings, NAMES, PROTOCOLS, SETTINGS))
def test_options_of_the_method_give_the_same_plan(plan: KnnSettings) -> None:
    """Spaces as one text, and the whole inside a run's specification."""
    spec = plan.as_spec()
    options = spec | {"spaces": " , ".join(plan.spaces)}
    assert read_knn_settings(options) == read_knn_settings({"options": options, "rows": 3}) == plan


def test_how_folds_are_cut_belongs_to_folds_alone() -> None:
    specs = [
        KnnSettings(("s",), EvaluationProtocol(kind, 7, 3)).as_spec()
        for kind in ("test", "loo", "folds")
    ]
    assert specs[0] | {"protocol": "loo"} == specs[1]
    assert (specs[2]["folds"], specs[2]["seed"]) == (7, 3)
    assert not {"folds", "seed"} & set(specs[1])


@pytest.mark.parametrize(
    ("plan", "words"),
    [
        (KnnSettings(("near",)), "near · by target gene · power 2 · 5×5 folds, seed 0"),
        (
            KnnSettings(
                ("a", "b"),
                EvaluationProtocol("loo"),
                SimilaritySettings(Weighting(2.5, 1.0, 10, "both"), True, 0.5),
            ),
            "a + b, centred · by perturbation and target gene · power 2.5 (DE 1) · 10 nearest · support strength 0.5 · "
            "leave-one-out",
        ),
        (
            KnnSettings(
                ("a",), EvaluationProtocol("test"), SimilaritySettings(Weighting(axis="pert"))
            ),
            "a · by perturbation · power 2 · all labelled rows known",
        ),
    ],
)
def test_a_plan_in_words(plan: KnnSettings, words: str) -> None:
    assert plan.describe() == words


SPEC = KnnSettings(("s",)).as_spec()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"spaces": []}, "spaces: got none; expected one or more"),
        ({"spaces": ["a", "b", "a"]}, "spaces: got a, b, a; expected one or more, each once"),
        ({"protocol": "all"}, "protocol: got 'all', expected test, loo, folds"),
        ({"axis": "row"}, "axis: got 'row', expected gene, pert, both"),
        ({"power": 0}, "power: got 0"),
        ({"de_power": -1.0}, "power: got -1.0"),
        ({"k": -1}, "k: got -1, expected a whole number, 1 or more"),
    ],
)
def test_settings_that_make_no_sense(change: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_knn_settings(SPEC | change)
