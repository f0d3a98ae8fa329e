"""What makes the identity of runs, datasets and rubrics."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from core.base.fields.record import read_options
from core.features.arguments.rubric import Example, Rubric
from core.features.cells.screen import LabelSettings
from core.methods.base import method_named
from core.methods.fusion_settings import FusionSettings, fusion_options, read_fusion_settings
from core.methods.knn import knn_options
from core.transfer.knn import Weighting
from core.transfer.knn_settings import KnnSettings, read_knn_settings
from core.transfer.protocols import EvaluationProtocol, SimilaritySettings

FOLDS = KnnSettings(
    ("a", "b"),
    EvaluationProtocol("folds", 7, 3),
    SimilaritySettings(Weighting(2.5, 1.0, 10, "both"), True, 0.5),
)
AS_OPTIONS = {
    **{
        "folds": 7,
        "seed": 3,
        "spaces": "a,b",
        "protocol": "folds",
        "power": 2.5,
        "de_power": 1.0,
        "k": 10,
        "axis": "both",
    },
    **{"centre": True, "strength": 0.5},
}
FUSED = {
    **{
        "base": "r",
        "with": "a,b",
        "w_de": "0.2,0.3",
        "w_dir": "0.1,0.4",
        "reference": "train",
        "reference_runs": "a=x,r=y",
    },
    **{"by_agreement": False, "by_support": "no"},
}


def digest(values: Any) -> str:
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()[:12]


def test_options_of_a_knn() -> None:
    assert digest(FOLDS.as_spec()) == "16a5aec0b09d"
    assert knn_options(FOLDS) == AS_OPTIONS
    assert read_knn_settings(AS_OPTIONS) == FOLDS
    knn = method_named("knn")
    plain = knn.complete(read_options(knn.settings, {"spaces": "a, b"}), None)
    assert plain == {
        **{
            "folds": 5,
            "seed": 0,
            "spaces": "a,b",
            "protocol": "folds",
            "power": 2.0,
            "de_power": None,
        },
        **{"k": None, "axis": "gene", "centre": False, "strength": 0.0},
    }


def test_options_of_a_fusion() -> None:
    settings = FusionSettings(
        "r", ("a", "b"), (0.2, 0.3), (0.1, 0.4), "train", {"r": "y", "a": "x"}
    )
    assert fusion_options(settings) == FUSED
    assert read_fusion_settings(FUSED) == settings
    assert read_fusion_settings({**FUSED, "reference_runs": "w=0.5=x"}).references == {"w=0.5": "x"}


def test_rubrics_and_labels() -> None:
    rubric = Rubric("n", "q?", ("a", "b"), "row", ("UP",), (), (Example("t", "a"),), True)
    assert rubric.sha256 == "ee5516b991e125bb18d31ec3ad734964162310a3bbc470f32ec10a78fc2264a8"
    assert digest(LabelSettings().identity()) == "0a79530895f8"
