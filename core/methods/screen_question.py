"""Asks a model which screen some rows are from: by the names of their genes and what a run's dossier says of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from core.hashes import sha256_of
from core.llm.json_objects import find_objects
from core.llm.messages import Message, Request
from core.llm.parsing import Unparsed
from core.methods.coded_names import GeneNaming
from core.methods.prompts import fill, prompt_text
from core.types import Pair

FIELDS = ("cells", "organism", "stimulus", "authors", "accession")  # of a screen
MAX_TOKENS = 4_000  # reasoning included


class ShownRow(NamedTuple):
    """A row, and what a run's dossier says of it: "" for nothing."""

    pair: Pair
    dossier: str


def text_of_rows(rows: Sequence[ShownRow], naming: GeneNaming | None = None) -> str:
    """Return the rows as they are shown, each with its names coded by `naming` if there is one."""
    return "\n\n".join(_text_of(row, naming) for row in rows)


def _text_of(row: ShownRow, naming: GeneNaming | None) -> str:
    text = f"Perturbed gene: {row.pair.pert}\nMeasured gene: {row.pair.gene}\n{row.dossier}".strip()
    return text if naming is None else naming.of_row(row.pair).encode(text)


def screen_request(shown: str, n: int, model: str, seed: int) -> Request:
    """Return the question about n rows, as `text_of_rows` shows them; a hash of them marks where they end."""
    mark = sha256_of(shown)[:8]
    text = fill(prompt_text("name_screen"), n=str(n), mark=mark, rows=shown)
    return Request(model, (Message("user", text),), seed=seed, max_completion_tokens=MAX_TOKENS)


def read_guess(text: str) -> Mapping[str, str] | Unparsed:
    """Return field → what a reply says of it, of the last JSON object that has any of FIELDS."""
    found = [value for value in find_objects(text) if not value.keys().isdisjoint(FIELDS)]
    if not found:
        return Unparsed(f"no JSON object with any of {', '.join(FIELDS)}, expected one")
    return {field: str(found[-1].get(field) or "").strip() for field in FIELDS}
