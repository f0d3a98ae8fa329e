"""Optional packages: there, or named with the file that brings them."""

from __future__ import annotations

import json

import pytest

from core.base.errors import MissingPackage, require_package


def test_a_package_is_imported_or_its_requirements_are_named() -> None:
    assert require_package("json", "reading") is json
    with pytest.raises(
        MissingPackage,
        match=r"^a harp needs the package no_harp, .*: pip install -r requirements-models.txt$",
    ):
        require_package("no_harp", "a harp")
    with pytest.raises(MissingPackage, match=r"requirements-targets\.txt"):
        require_package("no_harp", "a harp", "requirements-targets.txt")
