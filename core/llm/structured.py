"""Answers as JSON by schema, to which a server holds its model where it takes `response_format`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

_REASONING = {"type": "string"}
_PERCENT_FIELD = {"type": "integer", "minimum": 0, "maximum": 100}


class AnswerSchema(NamedTuple):
    """The JSON object that an answer is. form: as prompts show it; response_format: the
    parameter."""

    form: str
    response_format: str


def letter_schema(letters: Sequence[str], *, reasoned: bool = False) -> AnswerSchema:
    """Return the schema of one of these letters. reasoned: whether reasons stand before it."""
    field = {"type": "string", "enum": [*letters]}
    return _schema({"answer": field}, '"X"', reasoned=reasoned)


def percent_schema(*names: str) -> AnswerSchema:
    """Return the schema of fields of these names, each a whole number from 0 to 100, behind
    reasons."""
    return _schema(dict.fromkeys(names, _PERCENT_FIELD), "NN", reasoned=True)


def _schema(answers: Mapping[str, Any], example: str, *, reasoned: bool) -> AnswerSchema:
    fields = {"reasoning": _REASONING, **answers} if reasoned else answers
    shown = (
        '"reasoning": "…"' if name == "reasoning" else f'"{name}": {example}' for name in fields
    )
    form = f"{{{', '.join(shown)}}}"
    schema = {"type": "object", "properties": fields, "required": [*fields]}
    answer = {"name": "answer", "strict": True, "schema": {**schema, "additionalProperties": False}}
    return AnswerSchema(form, json.dumps({"type": "json_schema", "json_schema": answer}))
