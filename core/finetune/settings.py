"""What can be chosen for a fine-tune, with its defaults."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from core.errors import InputError
from core.methods.base import Option
from core.methods.prompts import CONTEXT

BASE: Final = "Qwen/Qwen3-4B-Thinking-2507"
OPTIONS: Final[tuple[Option, ...]] = (
    Option("rank", "int", 16, "Rank of the adapter's matrices.", least=1, most=1024),
    Option("alpha", "int", 32, "What the adapter is scaled by, times its rank.", least=1),
    Option("dropout", "float", 0.05, "Share of the adapter's inputs that is left out in a training step.", least=0, most=0.9),
    Option("epochs", "float", 3.0, "How often each training row is seen.", least=0.001, most=1000),
    Option("learning_rate", "float", 2e-4, "The highest; it falls along a cosine.", least=1e-9, most=1),
    Option("warmup", "float", 0.1, "Share of the steps in which the learning rate rises.", least=0, most=0.9),
    Option("batch", "int", 4, "Rows that go through the model at once.", least=1, most=1024),
    Option("accumulate", "int", 4, "Batches that make one step.", least=1, most=1024),
    Option("length", "int", 1024, "The longest prompt with its answer, in tokens.", least=8),
    Option(
        "parts",
        "int",
        5,
        "Perturbations and genes are cut into so many parts. Rows in the first of both validate, those in neither train.",
        least=2,
        most=50,
    ),
    Option("seed", "int", 0, "The random seed of the cut, the order of the rows and the adapter.", least=0),
    CONTEXT,
    Option(
        "checkpoint_every",
        "int",
        50,
        "Steps between two checkpoints, from which a killed fine-tune goes on.",
        least=1,
        changes_result=False,
    ),
)


def read_base(base: str) -> str:
    """Return a model's name as it is, a folder by its whole path. Raise InputError for a folder that is not there."""
    path = Path(base).expanduser()
    if base.strip() and path.is_dir():
        if not (path / "config.json").is_file():
            raise InputError(f"{path}: has no config.json, expected the folder of a model")
        return str(path.resolve())
    if not base.strip() or base.startswith(("/", ".", "~")) or base.count("/") > 1:
        raise InputError(f"base {base!r}: no such folder, expected a model's folder or a name such as {BASE}")
    return base
