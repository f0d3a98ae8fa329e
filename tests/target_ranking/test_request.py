"""Requests: as JSON and back, and what is wrong with others."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace

import pytest

from core.errors import InputError, MissingPackage, NotFound
from core.target_ranking.request import SplitChoice, TrainingRequest, check_request
from core.target_ranking.splits import Split
from tests.target_ranking import cases

PUBLISHED = Split(("A",), ("B",), ("C",), "file", ("C",), 42, "split.json")


@pytest.fixture(autouse=True)
def _models() -> Iterator[None]:
    with cases.registered():
        yield


@pytest.mark.parametrize("split", [SplitChoice("hard", 3), SplitChoice("file", 0, PUBLISHED)])
def test_a_request_is_plain_data(split: SplitChoice) -> None:
    request = replace(cases.request(), split=split)
    assert TrainingRequest.from_json(json.loads(json.dumps(request.as_json()))) == request
    check_request(request)


def test_what_is_wrong_is_said() -> None:
    request = cases.request()
    with pytest.raises(InputError, match="got no model"):
        check_request(replace(request, models={}))
    with pytest.raises(NotFound, match="ranking model 'crystal ball': not known, expected one of fallen, fallen_trained"):
        check_request(replace(request, models={"crystal ball": {}}))
    with pytest.raises(InputError, match="option 'quiet': not known"):
        check_request(replace(request, models={"fallen": {"quiet": "yes"}}))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cases.Fallen, "packages", ("json", "no_such_package"), raising=False)
        with pytest.raises(MissingPackage, match=r"fallen needs no_such_package, .* pip install -r requirements-targets\.txt"):
            check_request(request)
    with pytest.raises(InputError, match="split: got 'random'"):
        check_request(replace(request, split=SplitChoice("random")))
    with pytest.raises(InputError, match="version 7, expected 1"):
        TrainingRequest.from_json(request.as_json() | {"version": 7})
