"""The functions of the competition's starter kit, with the same names and meanings; the wording of prompts is our own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from core.datasets import PairTable, read_path
from core.errors import InputError
from core.llm.parsing import Unparsed, label
from core.methods.base import read_options
from core.methods.prompt_only import HARD, METHOD
from core.methods.prompts import cell_desc, fill, prompt_text
from core.submission.package import write
from core.submission.tracks import IDENTITY

Example = Mapping[str, str]  # of pert, gene, label
NO_ANSWER = (0.333, 0.333)


def format_prompt(pert: str, gene: str, examples: Sequence[Example] | None = None) -> str:
    """The prompt about a pair, as `prompt_only` sends it by default; examples: measured pairs to show in it.

    Raises InputError for an example without pert, gene or label.
    """
    shown = "\n".join(map(_format_example, examples or ()))
    return fill(
        prompt_text("prompt_only"),
        pert=pert,
        gene=gene,
        cell_desc=cell_desc(read_options(METHOD.options, {})),
        measure=prompt_text("measure"),
        examples=fill(prompt_text("examples"), examples=shown) if shown else "",
        format=prompt_text("format_reasoned"),
    )


def _format_example(example: Example) -> str:
    missing = [name for name in ("pert", "gene", "label") if name not in example]
    if missing:
        raise InputError(f"example {dict(example)}: has no {', '.join(missing)}, expected pert, gene and label")
    return f"{example['pert']} -> {example['gene']}: {example['label']}"


def format_prompts_from_csv(csv_path: str | Path, examples: Sequence[Example] | None = None) -> pd.DataFrame:
    """The prompt of every row of a file of pairs (id, pert, gene), in its order: columns id, prompt.

    Raises InputError for any other file, and for one with rows that cannot be read.
    """
    table = read_path(Path(csv_path))
    if not isinstance(table, PairTable) or table.rejected:
        first = f"line {table.rejected[0].line}: {table.rejected[0].detail}" if table.rejected else "a submission"
        raise InputError(f"{csv_path}: {first}; expected rows of id, pert, gene")
    prompts = [(pair.pair_id, format_prompt(pair.pert, pair.gene, examples)) for pair in table.pairs]
    return pd.DataFrame(prompts, columns=["id", "prompt"])


def parse_answer(text: str, default: tuple[float, float] = NO_ANSWER) -> tuple[float, float]:
    """(up, down) of the letter that an answer names: A (1, 0), B (0, 1), C (0, 0); `default` if it names no letter."""
    found = label(text)
    return default if isinstance(found, Unparsed) else HARD[found]


def parse_answers(texts: Sequence[str], default: tuple[float, float] = NO_ANSWER) -> list[tuple[float, float]]:
    """`parse_answer` of each."""
    return [parse_answer(text, default) for text in texts]


def build_submission(
    ids: Sequence[str],
    predictions_up: Sequence[float],
    predictions_down: Sequence[float],
    output_path: str | Path | None = None,
) -> pd.DataFrame:
    """Columns id, prediction_up, prediction_down; written as CSV if a path is given, in place of an existing file.

    Raises InputError if the three differ in length.
    """
    lengths = [len(ids), len(predictions_up), len(predictions_down)]
    if len(set(lengths)) > 1:
        raise InputError(f"got {lengths[0]:,} ids, {lengths[1]:,} and {lengths[2]:,} predictions; expected as many of each")
    frame = pd.DataFrame(dict(zip(IDENTITY, (list(ids), list(predictions_up), list(predictions_down)), strict=True)))
    if output_path is not None:
        write(frame.to_csv(index=False).encode(), Path(output_path), replace=True)
    return frame
