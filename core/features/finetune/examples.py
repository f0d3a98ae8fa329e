"""Prompts and answers of labelled pairs, and the doubly disjoint cut into rows that train and rows
that validate."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from core.base.errors import InputError
from core.base.fields.record import read_options
from core.base.types import Label, Pair
from core.evidence.label_view import LabelView
from core.evidence.packs import Packs
from core.features.finetune.methods.local_model import METHOD
from core.llm.logprobs import LETTERS
from core.methods.base import Context
from core.methods.prompt_only import prompt_for
from core.transfer.protocols import EvaluationProtocol, parts_of
from core.transfer.row_index import RowIndex

LETTER_OF = dict(zip((Label.UP, Label.DOWN, Label.NONE), LETTERS, strict=True))


class Split(NamedTuple):
    """Labelled rows: no validation row shares a perturbation or a gene with a training row.
    left_out: those that share one with either."""

    train: tuple[Pair, ...]
    validation: tuple[Pair, ...]
    left_out: int


def cut(pairs: Sequence[Pair], parts: int, seed: int) -> Split:
    """Return the cut of labelled rows by the folds of a kNN's evaluation: the first part of both
    axes validates.

    Raise InputError if there are no rows to train on or none to validate.
    """
    labelled = [pair for pair in pairs if pair.label in LETTER_OF]
    columns = zip(
        *((pair.pair_id, pair.pert, pair.gene, pair.label) for pair in labelled), strict=True
    )
    index = RowIndex.build(*columns) if labelled else None
    of = None if index is None else parts_of(EvaluationProtocol("folds", parts, seed), index.rows)
    if index is None or of is None:
        raise InputError(
            "fine-tune: got no rows labelled up, down or none, expected some in the split train"
        )
    pert, gene = of.pert[index.rows.pert] == 0, of.gene[index.rows.gene] == 0
    train, validation = np.flatnonzero(~pert & ~gene), np.flatnonzero(pert & gene)
    if not len(train) or not len(validation):
        raise InputError(
            f"fine-tune: {parts} parts leave {len(train):,} rows to train on and"
            f" {len(validation):,} to validate, expected some of both. Choose other parts or"
            " another seed"
        )
    left_out = len(labelled) - len(train) - len(validation)
    return Split(
        tuple(labelled[i] for i in train), tuple(labelled[i] for i in validation), left_out
    )


def as_lines(pairs: Sequence[Pair], settings: Mapping[str, Any]) -> bytes:
    """Return one line of JSON per row: id, prompt, answer.

    The prompt is the one that `local_model` sends by default, in the context of the settings; the
    answer is its letter.
    """
    options = read_options(METHOD.settings, {"context": settings["context"]})
    context = Context((), options, lambda _: LabelView(()), Packs())
    lines = []
    for pair in pairs:
        if pair.label not in LETTER_OF:
            raise InputError(
                f"{pair.pair_id}: got the label {pair.label}, expected up, down or none"
            )
        example = {
            "id": pair.pair_id,
            "prompt": prompt_for(pair, context),
            "answer": f"<answer>{LETTER_OF[pair.label]}</answer>",
        }
        lines.append(json.dumps(example, ensure_ascii=False))
    return "".join(f"{line}\n" for line in lines).encode()
