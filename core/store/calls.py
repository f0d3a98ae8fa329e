"""The calls of a language model behind each row: requests and replies. Equal exchanges are stored
once."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence

from core.base.row_schema import TABLES
from core.base.types import Call
from core.store.connection import Cursor
from core.store.queries import (
    Insertion,
    arrow_array,
    insertion,
    one,
    record_columns,
    records,
    select_list,
)

_CALL, _ROW_CALL = TABLES["call"], TABLES["row_call"]


def insertions_of(run: str, rows: Mapping[str, Sequence[Call]]) -> list[Insertion]:
    """Return the calls of finished rows, by pair id, in the order in which they were made."""
    calls = [
        (pair_id, seq, call) for pair_id, of_row in rows.items() for seq, call in enumerate(of_row)
    ]
    if not calls:
        return []
    pair_ids, seqs, records_of_calls = zip(*calls, strict=True)
    ids = [identity(call.key, call.request, call.reply) for call in records_of_calls]
    distinct = dict(zip(ids, records_of_calls, strict=True))
    texts = record_columns(_CALL.columns_of(Call), list(distinct.values()))
    columns = {
        "run": [run] * len(calls),
        "pair_id": pair_ids,
        "seq": arrow_array(_ROW_CALL["seq"], seqs),
        "call": ids,
    }
    return [
        insertion("call", {"id": list(distinct), **texts}, ignore_existing=True),
        insertion(
            "row_call", columns | record_columns(_ROW_CALL.columns_of(Call), records_of_calls)
        ),
    ]


def identity(key: str, request: str, reply: str) -> str:
    """Return the id of an exchange. The request's key is not enough, because a repeated request may
    get another reply."""
    digest = hashlib.sha256()
    for part in (key, request, reply):
        digest.update(f"{len(part)} {part}".encode())
    return digest.hexdigest()[:20]


def of_row(cursor: Cursor, run: str, pair_id: str) -> list[Call]:
    """Return the calls of one row, in order."""
    calls = records(
        cursor,
        f"""SELECT {select_list(_CALL.columns_of(Call), "c")},
          {select_list(_ROW_CALL.columns_of(Call), "r")}
           FROM row_call r JOIN call c ON c.id = r.call WHERE r.run = ? AND r.pair_id = ? ORDER BY
             r.seq""",
        [run, pair_id],
    )
    return [Call(**values) for values in calls]


def texts_of_requests(cursor: Cursor, run: str) -> Iterator[tuple[str, str, str]]:
    """Yield (perturbation, gene, prompt) for each call behind a run's rows: the contents of its
    messages, joined."""
    cursor.execute(
        """SELECT p.pert, p.gene, c.request FROM row_call r JOIN call c ON c.id = r.call JOIN run ON
          run.id = r.run
           JOIN pair p ON p.dataset = run.dataset AND p.pair_id = r.pair_id WHERE r.run = ? ORDER BY
             r.pair_id, r.seq""",
        [run],
    )
    while (row := cursor.fetchone()) is not None:
        pert, gene, request = row
        yield (
            pert,
            gene,
            "\n".join(str(message["content"]) for message in json.loads(request)["messages"]),
        )


def averages(cursor: Cursor, method: str, model: str) -> tuple[float, float, float] | None:
    """Prompt tokens, completion tokens and seconds of an average call of this method with this
    model.

    Calls that the cache answered do not count; None if no other was answered.
    """
    row = one(
        cursor,
        """SELECT avg(c.prompt_tokens), avg(c.completion_tokens), avg(c.latency_ms) / 1000
           FROM row_call c JOIN run r ON r.id = c.run WHERE r.method = ? AND r.model = ? AND NOT
             c.cached AND c.error = ''""",
        [method, model],
    )
    return None if row is None or row[0] is None else (float(row[0]), float(row[1]), float(row[2]))


def tokens_by_run(cursor: Cursor) -> dict[str, tuple[int, int]]:
    """Run id → tokens of prompts and of answers of its rows' calls; answers of the cache cost
    nothing and do not count."""
    rows = cursor.execute(
        """SELECT run, sum(prompt_tokens) FILTER (NOT cached), sum(completion_tokens) FILTER (NOT
          cached)
           FROM row_call GROUP BY run"""
    ).fetchall()
    return {run: (int(prompt or 0), int(completion or 0)) for run, prompt, completion in rows}


def request_settings(
    cursor: Cursor, run: str
) -> list[tuple[str | None, float | None, float | None]]:
    """Return distinct (model, temperature, top_p) of the requests behind a run's rows; None for the
    server's default."""
    return cursor.execute(
        """SELECT DISTINCT json_extract_string(c.request, '$.model'),
             TRY_CAST(json_extract(c.request, '$.temperature') AS DOUBLE),
               TRY_CAST(json_extract(c.request, '$.top_p') AS DOUBLE)
           FROM row_call r JOIN call c ON c.id = r.call WHERE r.run = ? ORDER BY ALL""",
        [run],
    ).fetchall()
