"""What people read for methods and for their options, whose own names are for the command line and for links."""

from __future__ import annotations

# Of options whose names are short; the others are read as they are, with blanks.
_OPTIONS = {
    "base": "run that is fused",
    "with": "runs to fuse with it",
    "w_de": "weights for DE",
    "w_dir": "weights for DIR",
    "reference": "percentiles taken over",
    "by_support": "weights by support",
    "by_agreement": "weights by agreement",
    "reference_runs": "labelled runs for percentiles",
    "spaces": "gene spaces",
    "k": "nearest genes",
    "de_power": "power for DE",
    "shots": "measured pairs in the prompt",
    "context": "description of the cells",
    "prompts": "file of prompts, one per row",
}
_METHODS = {"knn": "kNN"}


def method_text(name: str) -> str:
    """A method in words: "evidence rules"."""
    return _METHODS.get(name, name.replace("_", " "))


def option_text(name: str) -> str:
    """A method's option in words: "weights for DE"."""
    return _OPTIONS.get(name, name.replace("_", " "))
