"""Text search: the definition of a text that contains a phrase, and such texts of all runs of a
dataset.

A phrase is its words in their order with any white space between them, without regard to case.
`contains` says so for the rows of one run and for all runs alike. The texts are scanned: an index
would save less than half a second over 500 MB.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby, zip_longest
from operator import attrgetter

from core.base.texts import replace_surrogates
from core.store.connection import Cursor
from core.store.runs import list_predicting

DOSSIER = "dossier"  # the role of an evidence tool's answer
LIMIT = 200  # hits that are listed
_BEFORE, _AFTER = 100, 150  # characters around a hit
_JSON_SPACE = r"(?:\s|\\[nrt])+"  # JSON writes a line break as two characters
_JSON_MARKS = re.compile(r'[{}\[\]"]+|(?:\\(?:u[0-9a-fA-F]{4}|["\\/bfnrt]))+')


@dataclass(frozen=True, slots=True)
class TextQuery:
    """A search in all runs of a dataset: a phrase, and the run (id) and role of the listed hits; ""
    for any."""

    phrase: str
    run: str = ""
    role: str = ""
    limit: int = LIMIT


@dataclass(frozen=True, slots=True)
class Hit:
    """A text that holds the phrase: whose it is, and its first hit with the words around it.

    role: as in the trace, or DOSSIER.
    """

    run: str
    pair_id: str
    pert: str
    gene: str
    role: str
    before: str
    hit: str
    after: str


@dataclass(frozen=True, slots=True)
class Found:
    """The result of a search. counts: (run, role) → number of texts with the phrase, the oldest run
    first. hits: the listed ones, one from each run in turn.
    """

    counts: dict[tuple[str, str], int]
    hits: list[Hit]

    @property
    def texts(self) -> int:
        """The number of texts with the phrase."""
        return sum(self.counts.values())


@dataclass(frozen=True, slots=True)
class _Place:
    """A text by the number of its row in its table, which lasts as long as the cursor."""

    run: str
    is_evidence: bool
    row: int


def contains(column: str) -> str:
    """Return the SQL condition that a column's text holds a phrase; its parameter is the phrase's
    pattern."""
    return f"regexp_matches({column}, ?, 'i')"


def pattern_of(phrase: str) -> str:
    """Return the regular expression of a phrase in plain text, to be used without regard to
    case."""
    return r"\s+".join(re.escape(word) for word in phrase.split())


def json_pattern_of(phrase: str) -> str:
    """Return the pattern for text stored as JSON, which escapes letters beyond ASCII, quotation
    marks and line breaks."""
    return _JSON_SPACE.join("".join(map(_json_letter, word)) for word in phrase.split())


def _json_letter(letter: str) -> str:
    # what is escaped has no case
    forms = {letter} if letter.isascii() else {letter, letter.lower(), letter.upper()}
    return "(?:" + "|".join(re.escape(json.dumps(form)[1:-1]) for form in sorted(forms)) + ")"


def search(cursor: Cursor, dataset: str, wanted: TextQuery) -> Found:
    """Return the texts of all runs of a dataset (id) that hold a phrase: traces and dossiers.
    Counts are of every run and role.

    Readings are left out. Hits are the first of every run, then the second of every run, …, as many
    as the limit allows. Nothing holds an empty phrase.
    """
    order = {run.id: place for place, run in enumerate(list_predicting(cursor, dataset))}
    if not wanted.phrase.split() or not order:
        return Found({}, [])
    runs = list(order)
    of_runs = f"run IN ({', '.join('?' * len(runs))})"
    traces = f"""SELECT run, role, count(*), min(rowid, ?) FROM trace_event WHERE {of_runs} AND
      {contains("content")}
                 GROUP BY run, role ORDER BY role"""
    dossiers = f"""SELECT run, '{DOSSIER}', count(*), min(rowid, ?) FROM row_evidence
                   WHERE {of_runs} AND evidence IN (SELECT id FROM evidence WHERE
                     {contains("body")}) GROUP BY run"""
    counts, places = dict[tuple[str, str], int](), list[_Place]()
    for query, pattern, is_evidence in (
        (traces, pattern_of(wanted.phrase), False),
        (dossiers, json_pattern_of(wanted.phrase), True),
    ):
        groups = cursor.execute(query, [wanted.limit, *runs, pattern]).fetchall()
        for run, role, n, rows in groups:
            counts[run, role] = n
            if wanted.run in ("", run) and wanted.role in ("", role):
                places += [_Place(run, is_evidence, row) for row in rows]
    places.sort(key=lambda place: (order[place.run], place.is_evidence, place.row))
    hits = _read_hits(cursor, dataset, wanted.phrase, _share_out(places, wanted.limit))
    return Found(dict(sorted(counts.items(), key=lambda count: order[count[0][0]])), hits)


def _share_out(places: Sequence[_Place], limit: int) -> list[_Place]:
    """Return places, sorted by run, up to the limit: every run's first one, then every run's second
    one, …"""
    by_run = [[*of_run] for _, of_run in groupby(places, attrgetter("run"))]
    return [place for turn in zip_longest(*by_run) for place in turn if place is not None][:limit]


def _read_hits(cursor: Cursor, dataset: str, phrase: str, places: Sequence[_Place]) -> list[Hit]:
    """Return the hits at these places, in their order."""
    traces = "SELECT rowid, run, pair_id, role, content FROM trace_event"
    dossiers = f"""SELECT s.rowid, s.run, s.pair_id, '{DOSSIER}' AS role, e.body AS content
                   FROM row_evidence s JOIN evidence e ON e.id = s.evidence"""
    hits = {}
    for is_evidence, query, pattern, read in (
        (False, traces, pattern_of(phrase), str),
        (True, dossiers, json_pattern_of(phrase), _read_json),
    ):
        rows = [place.row for place in places if place.is_evidence == is_evidence]
        if not rows:
            continue
        result = cursor.execute(
            f"""SELECT t.rowid, t.run, t.pair_id, p.pert, p.gene, t.role, regexp_extract(t.content,
              ?, ['b', 'h', 'a'], 'is')
                FROM ({query}) t JOIN pair p ON p.dataset = ? AND p.pair_id = t.pair_id
                WHERE t.rowid IN ({", ".join(map(str, rows))})""",
            [f"(.{{0,{_BEFORE + 1}}}?)({pattern})(.{{0,{_AFTER + 1}}})", dataset],
        )
        for row, run, pair_id, pert, gene, role, parts in result.fetchall():
            before, hit, after = read(parts["b"]), read(parts["h"]), read(parts["a"])
            # Cuts are at words, with an ellipsis.
            if len(parts["b"]) > _BEFORE:
                before = f"… {before.split(' ', 1)[-1]}"
            if len(parts["a"]) > _AFTER:
                after = f"{after.rsplit(' ', 1)[0]} …"
            of_row = Hit(run, pair_id, pert, gene, role, before, hit, after)
            hits[_Place(run, is_evidence, row)] = of_row
    return [hits[place] for place in places]


def _read_json(fragment: str) -> str:
    """Return a fragment of JSON as readable text, without its marks and escapes; both ends may cut
    one of these."""
    return replace_surrogates(
        _JSON_MARKS.sub(
            lambda mark: json.loads(f'"{mark[0]}"') if mark[0][0] == "\\" else "", fragment
        )
    )
