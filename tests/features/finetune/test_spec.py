"""The specification of a fine-tune: what belongs to its identity and what does not."""

from __future__ import annotations

import pytest

from core.base.errors import InputError
from core.base.records import from_json, to_json
from core.features.finetune.job_folder import FinetuneSpec, short_name
from tests.features.finetune.cases import spec


def test_it_comes_back_from_json() -> None:
    assert from_json(FinetuneSpec, to_json(spec()), "fine-tune") == spec()
    with pytest.raises(InputError, match="cannot be read"):
        from_json(FinetuneSpec, {"base": "m"}, "fine-tune")


def test_the_key_changes_with_what_comes_out_and_with_nothing_else() -> None:
    key, settings = spec().key, dict(spec().settings)
    same = [
        spec("/elsewhere"),
        spec(dataset_name="x"),
        spec(settings=settings | {"checkpoint_every": 7}),
    ]
    assert {each.key for each in same} == {key}
    other = [
        spec(base="m"),
        spec(data_sha256="0"),
        *(spec(settings=settings | change) for change in ({"rank": 8}, {"seed": 1})),
    ]
    assert len({key, *(each.key for each in other)}) == 5


def test_people_read_the_model_without_its_owner() -> None:
    assert short_name("owner/Model-4B") == "Model-4B"
    assert short_name("/a/b/model") == "model"
    assert spec().name == "Model-4B on bmdm"
