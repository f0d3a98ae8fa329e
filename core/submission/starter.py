"""The functions of the competition's starter kit, with the same names and meanings; the wording of prompts is our own."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import pandas as pd

from core.datasets.prompt_files import MAX_BYTES
from core.datasets.tables import Table
from core.errors import InputError
from core.file_io import read_file
from core.methods.base import read_options
from core.methods.prompt_only import HARD, METHOD
from core.methods.prompts import cell_desc as describe_cells
from core.methods.prompts import fill, prompt_text
from core.submission.kit_answers import read_answer
from core.submission.package import write
from core.submission.tracks import IDENTITY

Example = Mapping[str, str]  # of pert, gene, label
Default = TypeVar("Default")
NO_ANSWER = (0.333, 0.333)
LABELS = tuple(map(str, HARD))


def format_prompt(pert: str, gene: str, examples: Sequence[Example] | None = None, cell_desc: str | None = None) -> str:
    """Return the prompt about a pair, as `prompt_only` sends it by default.

    examples: measured pairs to show in it. cell_desc: a description of the cells, by default that of the kit's mouse macrophages.
    Raises InputError for an example without pert, gene or label, or with a label that is not up, down or none.
    """
    shown = "\n".join(map(_format_example, examples or ()))
    return fill(
        prompt_text("prompt_only"),
        pert=pert,
        gene=gene,
        cell_desc=describe_cells(read_options(METHOD.options, {})) if cell_desc is None else cell_desc,
        measure=prompt_text("measure"),
        examples=fill(prompt_text("examples"), examples=shown) if shown else "",
        format=prompt_text("format_reasoned"),
    )


def _format_example(example: Example) -> str:
    missing = [name for name in ("pert", "gene", "label") if name not in example]
    if missing:
        raise InputError(f"example {example!r}: has no {', '.join(missing)}, expected pert, gene and label")
    if example["label"] not in LABELS:
        raise InputError(f"example {example!r}: label {example['label']!r}, expected {', '.join(LABELS)}")
    return f"{example['pert']} -> {example['gene']}: {example['label']}"


def format_prompts_from_csv(
    csv_path: str | Path, examples: Sequence[Example] | None = None, cell_desc: str | None = None
) -> pd.DataFrame:
    """Return the prompt of every row of a file with the columns id, pert and gene, in its order: columns id, prompt.

    Other columns are not read. examples, cell_desc: as in `format_prompt`. Raises InputError for a file without these columns,
    and for one with a row that cannot be read or lacks one of them.
    """
    path = Path(csv_path)
    table = Table(io.BytesIO(read_file(path, MAX_BYTES)), str(path))
    places = table.require("id", "pert", "gene")
    rows = []
    for line, cells in table.records() if places else ():
        empty = table.empty_cell(line, cells, places or ())
        table.rejected += [empty] if empty else []
        rows.append([cells[at] for at in places or ()])
    if table.rejected:
        first = table.rejected[0]
        raise InputError(f"{path}: line {first.line}: {first.detail}; expected rows of id, pert, gene")
    prompts = [(key, format_prompt(pert, gene, examples, cell_desc)) for key, pert, gene in rows]
    return pd.DataFrame(prompts, columns=["id", "prompt"])


def parse_answer(text: str | None, default: Default = NO_ANSWER) -> tuple[float, float] | Default:  # type: ignore[assignment]
    """Return (up, down) of what a reply answers, by a letter or in words: up (1, 0), down (0, 1), none (0, 0).

    `default` if it answers nothing, two things or takes its answer back, and for None. Values differ from the starter kit's only
    where `docs/starter_kit.md` says why.
    """
    found = read_answer(text) if text else None
    return default if found is None else HARD[found]


def parse_answers(
    texts: Sequence[str | None],
    default: Default = NO_ANSWER,  # type: ignore[assignment]
) -> list[tuple[float, float] | Default]:
    """Return `parse_answer` of each."""
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
