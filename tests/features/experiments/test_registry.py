"""The kinds of experiments by name."""

from __future__ import annotations

import pytest

from core.base.errors import NotFound
from core.features.experiments.engine import kind_named, kinds


def test_every_kind_has_its_name_and_is_either_built_or_computed() -> None:
    for name, kind in kinds().items():
        assert kind.name == name
        assert kind.title
        assert kind.question
        assert (kind.build is None) != (kind.compute is None), name


def test_an_unknown_kind_is_refused_with_the_known_names() -> None:
    with pytest.raises(NotFound, match="experiment 'nmes': not known"):
        kind_named("nmes")
