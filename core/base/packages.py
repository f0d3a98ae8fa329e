"""Optional packages, imported when they are needed; the app starts without them."""

from __future__ import annotations

import importlib
from typing import Any

from core.base.errors import MissingPackage

MODELS = "requirements-models.txt"


def require_package(module: str, purpose: str, requirements: str = MODELS) -> Any:
    """Return a module. Raise MissingPackage, which names the requirements file that brings it, if
    it is not installed.

    purpose: what needs it, such as "a sentence encoder".
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise MissingPackage(
            f"{purpose} needs the package {package}, which is not installed: pip install -r"
            f" {requirements}"
        ) from error
