"""The optional packages that read and test cells, imported when they are needed."""

from __future__ import annotations

import importlib
import logging
import warnings
from functools import cache
from typing import Any

from core.base.errors import MissingPackage


@cache
def import_hdf5() -> Any:
    """Return the module h5py, which anndata brings. Raise MissingPackage."""
    return _import("h5py")


def import_rank_sum() -> Any:
    """Return the module of pdex with its rank-sum test. Raise MissingPackage."""
    return _import("pdex._parallel")


def _import(module: str) -> Any:
    """Import a module; the log stays as it is (pdex sets it up when it is imported)."""
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of packages that announce their own future
            return importlib.import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise MissingPackage(
            f"cells need the package {package}, which is not installed: pip install -r"
            " requirements-cells.txt"
        ) from error
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)
