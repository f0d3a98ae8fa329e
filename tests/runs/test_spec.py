from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from core.base.errors import InputError
from core.base.net.server_access import ServerAccess
from core.base.records import from_json, to_json
from core.base.types import Label, Pair
from core.runs.spec import ExecutionSettings, LabelViewSpec, RunSpec, dataset_sha256

SPEC = RunSpec(
    "debate",
    2,
    {"rounds": 1, "context": "kit"},
    "d1",
    "ab" * 32,
    ("a_b", "c_d"),
    "m",
    3,
    1,
    "cd" * 32,
)


def test_a_specification_and_its_json_are_the_same() -> None:
    full = replace(
        SPEC,
        view=LabelViewSpec("folds", 4, 9),
        parents=("r1",),
        packs={"edges": "ef" * 32},
        sources={"near": "01" * 32},
    )
    assert from_json(RunSpec, json.loads(json.dumps(full.as_json())), "run") == full
    assert full.context == "kit"
    assert "rows" in full.summary()
    assert full.summary()["rows"] == 2
    assert "method" not in full.summary()


def test_the_key_is_ten_digits_and_moves_with_everything() -> None:
    assert len(SPEC.key) == 10
    assert int(SPEC.key, 16) >= 0
    assert (
        replace(SPEC, options={"context": "kit", "rounds": 1}).key == SPEC.key
    )  # whatever the order
    others = [
        {"method": "x"},
        {"version": 3},
        {"options": {"rounds": 2}},
        {"dataset": "d2"},
        {"dataset_sha256": ""},
        {"rows": ("c_d", "a_b")},
        {"model": "n"},
        {"seed": 4},
        {"repeat": 2},
        {"prompts_sha256": ""},
        {"view": LabelViewSpec("blinded")},
        {"parents": ("r",)},
        {"packs": {"edges": "0"}},
        {"sources": {"near": "0"}},
    ]
    assert len({SPEC.key, *(replace(SPEC, **other).key for other in others)}) == len(others) + 1
    assert (
        replace(SPEC, view=LabelViewSpec("blinded", 7, 7)).key
        == replace(SPEC, view=LabelViewSpec("blinded")).key
    )  # no folds: k says nothing


def test_runs_from_before_sources_were_told_keep_their_identity() -> None:
    """The key is that of the JSON without them, as it was written then."""
    assert "sources" not in SPEC.as_json()
    assert "sources" not in SPEC.summary()
    assert from_json(RunSpec, SPEC.as_json(), "run") == SPEC
    assert SPEC.key == "50e5256944"


def test_an_option_that_changes_no_answer_is_read_but_not_in_the_key() -> None:
    options = {**SPEC.options, "jobs": 4}
    chosen = replace(SPEC, options=options, without_effect=("jobs",))
    assert chosen.key == SPEC.key != replace(SPEC, options=options).key
    assert from_json(RunSpec, json.loads(json.dumps(chosen.as_json())), "run") == chosen


@pytest.mark.parametrize(
    ("wrong", "said"),
    [({"rows": ()}, "no rows"), ({"rows": ("a", "b", "a")}, "'a' comes twice")],
)
def test_rows_that_cannot_be(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        replace(SPEC, **wrong)


def test_views_that_cannot_be() -> None:
    with pytest.raises(InputError, match="got 1 folds"):
        LabelViewSpec("folds", 1)
    with pytest.raises(InputError, match="expected all, blinded, folds"):
        LabelViewSpec("none")  # type: ignore[arg-type]


def test_how_keeps_no_key() -> None:
    how = ExecutionSettings("http://127.0.0.1:1/v1", token_budget=5, timeout_s=3.0)
    assert from_json(ExecutionSettings, json.loads(json.dumps(to_json(how))), "settings") == how
    assert (
        how.endpoint(ServerAccess.of(how.servers, "sk-secret")).api_key,
        how.endpoint().timeout_s,
    ) == ("sk-secret", 3.0)
    assert "key" not in json.dumps(to_json(how))
    with pytest.raises(InputError):
        replace(how, servers="nowhere")
    for values in ({"color": 1}, {"rows_in_flight": 0}, {"servers": "http://a/v1", "key": "x"}):
        with pytest.raises(InputError, match="cannot be read"):
            from_json(ExecutionSettings, values, "settings")


@pytest.mark.parametrize("address", ["auto", "head:1", "10.0.0.1:65535", "[::1]:6379"])
def test_what_is_an_address_of_a_ray_cluster(address: str) -> None:
    assert ExecutionSettings(backend="ray", ray_address=address).ray_address == address


def test_a_datasets_hash_moves_with_its_labels_and_not_with_its_order() -> None:
    a, b = Pair("a_b", "a", "b", Label.UP, "train"), Pair("c_d", "c", "d", None, "test")
    assert (
        dataset_sha256([a, b])
        == dataset_sha256([b, a])
        != dataset_sha256([replace(a, label=Label.DOWN), b])
    )
