"""The list of methods, and how one of them is found."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from core.base.config import REPOSITORY
from core.base.errors import NotFound
from core.methods.base import method_named, methods


@pytest.mark.parametrize("name", methods())
def test_a_method_is_found_by_its_name(name: str) -> None:
    assert method_named(name) is methods()[name]
    assert method_named(name).name == name


def test_a_name_like_a_method_is_met_with_that_method() -> None:
    for name, said in (
        ("debat", "did you mean debate, debate_again?"),
        ("prompt-only", "did you mean prompt_only?"),
    ):
        with pytest.raises(NotFound, match=re.escape(f"method {name!r}: not known, {said}")):
            method_named(name)


@pytest.mark.parametrize("name", ["nobody", "", "core.methods.knn"])
def test_an_unknown_name_is_refused_with_the_known_ones(name: str) -> None:
    with pytest.raises(
        NotFound,
        match=re.escape(f"method {name!r}: not known, expected one of {', '.join(methods())}"),
    ):
        method_named(name)


def test_a_method_under_another_file_name_is_found_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(method_named("fusion"), "name", "mixture")
    methods.cache_clear()
    try:
        assert method_named("mixture") is methods()["mixture"]
        with pytest.raises(NotFound):
            method_named("fusion")
    finally:
        monkeypatch.undo()
        methods.cache_clear()


@pytest.mark.soak
def test_one_method_is_found_without_importing_the_others() -> None:
    script = "import sys; from core.methods.base import method_named; method_named('prompt_only'); print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", script], cwd=REPOSITORY, capture_output=True, text=True, check=True
    ).stdout
    assert "core.methods.prompt_only" in loaded.split()
    assert not {"core.methods.debate", "core.methods.knn", "core.methods.fusion", "pandas"} & set(
        loaded.split()
    )
