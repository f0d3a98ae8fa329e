"""The functions of the competition's starter kit, with the same names and meanings, but our own
prompts.

Answers in prose are read as in the starter kit: by options ("B)") and by words ("up-regulation",
"no significant change"). This accepts more than `core.llm.answers`, which is used for runs and
reads no prose. It accepts less than the kit where the kit is wrong: a negated word ("no
upregulation") is not an answer, nor is the letter of a name ("vitamin C"). `docs/starter_kit.md`
lists all known differences.
"""

from __future__ import annotations

import io
import re
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import TypeVar

import pandas as pd

from core.base.errors import InputError
from core.base.fields.record import read_options
from core.base.file_io import read_file, write_file
from core.base.tables import text_table
from core.base.types import Label
from core.llm.answers import OPTIONS, REFUSES, TAKES_BACK, Unread, read_label, readable
from core.llm.completion import part_thinking
from core.methods.prompt_only import HARD, METHOD
from core.methods.prompts import cell_desc as describe_cells
from core.methods.prompts import fill, prompt_text
from core.runs.prompt_files import MAX_BYTES

IDENTITY = ("id", "prediction_up", "prediction_down")  # columns of a submission
_ANSWER = re.compile(r"\banswer\s*:", re.IGNORECASE)
_OPTION = re.compile(
    r"(?:^|[.:;,!?(\[*\"'>]|\b(?:option|choice|letter|answer|is|be|as|by|with|or|and|choose"
    r"|select|pick|conclude|predict))"
    r"[\s*_(\[]{0,6}(?-i:([ABC])|([abc]))\)",
    re.IGNORECASE | re.MULTILINE,
)
_BACK = re.compile(rf"[\n.!?;:>—–][\s*_(\[]{{0,8}}(?:{TAKES_BACK})(?![a-zа-я])", re.IGNORECASE)
_LETTER_LINE = re.compile(r"^\W*([ABC])\W*$", re.IGNORECASE | re.MULTILINE)
_WORDS = {  # with any hyphen: GPT-OSS writes U+2011
    Label.UP: re.compile(
        r"(?<![a-z])(?:up[-‐‑]?regulat\w*|up[-‐‑](?=\s?(?:or|nor|and|/))|increase[sd]?)(?![a-z])",
        re.IGNORECASE,
    ),
    Label.DOWN: re.compile(
        r"(?<![a-z])(?:down[-‐‑]?regulat\w*|down[-‐‑](?=\s?(?:or|nor|and|/))"
        r"|decrease[sd]?)(?![a-z])",
        re.IGNORECASE,
    ),
}
_UNCHANGED = re.compile(
    r"\b(?:does|do|did|will|would|should|is|are) ?(?:not|n['’]t)"
    r" (?:significantly|impact|affect|change|alter)"
    r"|\bno (?:(?:statistically )?significant|differential|measurable|detectable) (?:\w+ ){0,2}?"
    r"(?:effect|change|impact|difference|differential|alteration|response|expression)"
    r"|\bno significant(?! (?:\w+ )?(?:up|down|increase|decrease|evidence|doubt|reason))"
    r"|\bnot (?:\w+ ){0,5}?(?:result in (?:a )?differential|significantly"
    r" (?:affect|change|alter|impact))"
    r"|^\W*no[.\s]*$",
    re.IGNORECASE | re.MULTILINE,
)
_CLAUSE = re.compile(
    r"[.;:!?\n]|,(?! (?:or|nor|and)\b)"
    r"|\b(?:but|however|whereas|while|although|because|since|so|instead|rather)\b(?! (?:of|than))",
    re.IGNORECASE,
)
_DENIES_BEFORE = re.compile(
    r"\b(?:no|not|never|neither|nor|without|cannot|unlikely|fails? to|instead of|rather"
    r" than|exclud\w+|rul\w+ out)\b|n['’]t\b",
    re.IGNORECASE,
)
_DENIES_AFTER = re.compile(
    r"\s+(?:(?:is|are|was|seems?|looks?|would be|can be)\s+)(?:\w+ ){0,2}?"
    r"(?:unlikely|excluded|implausible|ruled out|not|absent|wrong)\b",
    re.IGNORECASE,
)


Example = Mapping[str, str]  # keys: pert, gene, label
Default = TypeVar("Default")
NO_ANSWER = (0.333, 0.333)
LABELS = tuple(map(str, HARD))


def format_prompt(
    pert: str, gene: str, examples: Sequence[Example] | None = None, cell_desc: str | None = None
) -> str:
    """Return the prompt about a pair, the same as the default of `prompt_only`.

    examples: measured pairs to show in the prompt. cell_desc: a description of the cells, by
    default of the kit's mouse macrophages. Raise InputError for an example without pert, gene or
    label, or with a label other than up, down or none.
    """
    shown = "\n".join(map(_format_example, examples or ()))
    return fill(
        prompt_text("prompt_only"),
        pert=pert,
        gene=gene,
        cell_desc=(
            describe_cells(read_options(METHOD.settings, {})) if cell_desc is None else cell_desc
        ),
        measure=prompt_text("measure"),
        examples=fill(prompt_text("examples"), examples=shown) if shown else "",
        format=prompt_text("format_reasoned"),
    )


def _format_example(example: Example) -> str:
    missing = [name for name in ("pert", "gene", "label") if name not in example]
    if missing:
        raise InputError(
            f"example {example!r}: has no {', '.join(missing)}, expected pert, gene and label"
        )
    if example["label"] not in LABELS:
        raise InputError(
            f"example {example!r}: label {example['label']!r}, expected {', '.join(LABELS)}"
        )
    return f"{example['pert']} -> {example['gene']}: {example['label']}"


def format_prompts_from_csv(
    csv_path: str | Path, examples: Sequence[Example] | None = None, cell_desc: str | None = None
) -> pd.DataFrame:
    """Return the prompt of every row of a file with the columns id, pert and gene, in the file's
    order: columns id, prompt.

    Other columns are ignored. examples, cell_desc: as in `format_prompt`. Raise InputError if a
    column is missing, and if a row cannot be read or is incomplete.
    """
    path = Path(csv_path)
    table = text_table(io.BytesIO(read_file(path, MAX_BYTES)), str(path))
    places = table.require("id", "pert", "gene")
    rows = []
    for line, cells in table.records() if places else ():
        empty = table.empty_cell(line, cells, places or ())
        table.rejected += [empty] if empty else []
        rows.append([cells[at] for at in places or ()])
    if table.rejected:
        first = table.rejected[0]
        raise InputError(
            f"{path}: line {first.line}: {first.detail}; expected rows of id, pert, gene"
        )
    prompts = [(key, format_prompt(pert, gene, examples, cell_desc)) for key, pert, gene in rows]
    return pd.DataFrame(prompts, columns=["id", "prompt"])


def parse_answer(
    text: str | None,
    default: Default = NO_ANSWER,  # type: ignore[assignment]
) -> tuple[float, float] | Default:
    """Return (up, down) for the answer in a reply, given by a letter or in words: up (1, 0), down
    (0, 1), none (0, 0).

    Return `default` for None, and if the reply has no answer, has two answers or retracts its
    answer. Values differ from the starter kit's only as explained in `docs/starter_kit.md`.
    """
    found = read_answer(text) if text else None
    return default if found is None else HARD[found]


def parse_answers(
    texts: Sequence[str | None],
    default: Default = NO_ANSWER,  # type: ignore[assignment]
) -> list[tuple[float, float] | Default]:
    """Return the result of `parse_answer` for each text."""
    return [parse_answer(text, default) for text in texts]


def build_submission(
    ids: Sequence[str],
    predictions_up: Sequence[float],
    predictions_down: Sequence[float],
    output_path: str | Path | None = None,
) -> pd.DataFrame:
    """Return columns id, prediction_up, prediction_down; if a path is given, write them as CSV,
    replacing an existing file.

    Raise InputError if the three differ in length.
    """
    lengths = [len(ids), len(predictions_up), len(predictions_down)]
    if len(set(lengths)) > 1:
        raise InputError(
            f"got {lengths[0]:,} ids, {lengths[1]:,} and {lengths[2]:,} predictions; expected the"
            " same number of each"
        )
    frame = pd.DataFrame(
        dict(zip(IDENTITY, (list(ids), list(predictions_up), list(predictions_down)), strict=True))
    )
    if output_path is not None:
        write_file(frame.to_csv(index=False).encode(), Path(output_path), replace=True)
    return frame


def read_answer(text: str) -> Label | None:
    """Return the label named in a reply, None for no label, two labels or a retracted answer.

    A marked answer counts first (`core.llm.answers.read_label`). Without a mark, or with different
    marks, the text after the last "Answer:" or on the last line counts; otherwise the whole text,
    as in the starter kit.
    """
    reply = part_thinking(text).text
    if reply is None:
        return None
    found = read_label(reply)
    if not isinstance(found, Unread):
        return found
    plain = readable(reply)
    if REFUSES.search(plain):
        return None
    marks = list(_ANSWER.finditer(plain))
    for part in (
        plain[marks[-1].end() :].strip() if marks else plain.strip().rpartition("\n")[2],
        plain,
    ):
        named = _find_labels(part)
        if len(named) == 1:
            return named.pop()
    return None


def _find_labels(text: str) -> set[Label]:
    """Return the labels named in a part of a text; none if the text after the first label retracts
    it."""
    letters = [(each.start(), each[1] or each[2]) for each in _OPTION.finditer(text)]
    letters += [(each.start(), each[1]) for each in _LETTER_LINE.finditer(text)]
    places = {(at, OPTIONS[letter.upper()]) for at, letter in letters}
    places |= {(each.start(), Label.NONE) for each in _UNCHANGED.finditer(text)}
    denied: set[Label] = set()
    for side, words in _WORDS.items():
        for each in words.finditer(text):
            if _is_denied(text, each):
                denied.add(side)
            else:
                places.add((each.start(), side))
    if denied == set(_WORDS) and not places:
        return {Label.NONE}
    if places and _BACK.search(text, min(at for at, _ in places) + 1):
        return set()
    return {found for _, found in places}


def _is_denied(text: str, word: re.Match[str]) -> bool:
    """Return whether the clause around a word negates it."""
    begin = max(chain((each.end() for each in _CLAUSE.finditer(text, 0, word.start())), (0,)))
    return bool(
        _DENIES_BEFORE.search(text, begin, word.start()) or _DENIES_AFTER.match(text, word.end())
    )
