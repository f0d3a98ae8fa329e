"""Example results for tests/test_results.py: every module here has `examples()`, which returns some results."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from core.base.result import Result


@cache
def every_example() -> tuple[tuple[str, Result], ...]:
    """Each example with the name of its module and its number there."""
    modules = [module.name for module in pkgutil.iter_modules(__path__)]
    listed = [(name, importlib.import_module(f"{__name__}.{name}").examples()) for name in modules]
    return tuple(
        (f"{name}-{i}", result) for name, results in listed for i, result in enumerate(results)
    )
