"""Packages that the base install does without."""

from __future__ import annotations

import importlib
from typing import Any

from core.errors import MissingPackage


def models_package(module: str, purpose: str) -> Any:
    """A module that requirements-models.txt brings; raises MissingPackage where it is not installed."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingPackage(
            f"{purpose} needs the package {module}, which is not installed: pip install -r requirements-models.txt"
        ) from error
