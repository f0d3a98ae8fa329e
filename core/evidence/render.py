"""The one place where evidence becomes text for a prompt.

A failure is never written as evidence: it is returned as a note beside the text, for the run's
record and its pages.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from core.base.texts import quantity_text
from core.base.types import Evidence, Pair

MAX_CHARACTERS = 1_000  # of one answer
MAX_SYMBOLS = 20  # in a list of symbols; the rest are counted
MAX_PHRASES = 10  # in a list of pathways, or of partners with counts; the rest are counted
EDITED = "edited"  # in the body of a card that was edited by hand: its whole line

Body = Mapping[str, Any]
Symbols = Collection[str]


class Rendered(NamedTuple):
    """An answer as text. text: one line of at most so many characters, "" if the tool failed. note:
    the failure, else ""."""

    text: str
    note: str


class Dossier(NamedTuple):
    """The answers about a pair. text: one line per answer. notes: one line for each tool that
    failed."""

    text: str
    notes: tuple[str, ...]


def dossier(items: Iterable[Evidence], pair: Pair) -> Dossier:
    """Return all answers about a pair as text; the pair's own symbols come first in long lists, so
    that they are not cut off."""
    rendered = [render(item, (pair.pert, pair.gene)) for item in items]
    lines = [f"- {text}" for text, _ in rendered if text]
    return Dossier("\n".join(lines), tuple(note for _, note in rendered if note))


def render(item: Evidence, first: Symbols = (), limit: int = MAX_CHARACTERS) -> Rendered:
    """Return one answer as one line of at most `limit` characters, unchanged if it was edited by
    hand.

    first: symbols that come first in every list.
    """
    if EDITED in item.body:
        return Rendered(str(item.body[EDITED]), "")
    title = f"{item.tool.replace('_', ' ')}, {_subject(item)}"
    if item.status in ("error", "offline"):
        return Rendered("", f"{title}: {item.status}, so this tool gave no evidence either way")
    if item.status == "empty":
        spellings = item.body.get("ambiguous", ())
        ambiguous = f" (several spellings fit: {', '.join(spellings)})" if spellings else ""
        return Rendered(
            textwrap.shorten(f"{title}: nothing known{ambiguous}.", limit, placeholder=" …"), ""
        )
    text = _write(item, first)
    spelling = f" (listed as {_spelling(item.body)})" if "asked" in item.body else ""
    # each has the room of an answer
    abstracts = len(item.body["passages"]) if item.body.get("mode") == "keyword" else 1
    return Rendered(
        textwrap.shorten(f"{title}{spelling}: {text}", limit * abstracts, placeholder=" …"), ""
    )


def _write(item: Evidence, first: Symbols) -> str:
    """Return a body in the words of its tool. List the fields of an imported or demo body that
    lacks some of today's fields."""
    try:
        return _WRITERS.get(item.tool, _write_fields)(item.body, first)
    except (KeyError, TypeError, AttributeError):
        return _write_fields(item.body, first)


def _subject(item: Evidence) -> str:
    key = item.key.removesuffix(f" @ {item.view}") if item.view else item.key
    pert, bar, gene = key.partition("|")
    if not bar:
        return key
    parts = [
        f"{role} {symbol}"
        for role, symbol in (("perturbation", pert), ("gene", gene))
        if symbol != "*"
    ]
    return " and ".join(parts)


def _spelling(body: Body) -> str:
    """Return the spelling under which the symbols are listed."""
    return " and ".join(body[name] for name in ("symbol", "pert", "gene") if body.get(name))


def _gene_info(body: Body, _: Symbols) -> str:
    parts = [body["name"], f"ortholog {body['ortholog']}" if body["ortholog"] else None]
    for name, title in (("go_bp", "processes"), ("kegg", "KEGG pathways")):
        parts.append(f"{title}: {'; '.join(body[name])}" if body.get(name) else None)
    return ". ".join(part for part in (*parts, body["summary"]) if part)


def _gene_class(body: Body, _: Symbols) -> str:
    kind = f"uncharacterised ({body['naming']})" if body["uncharacterised"] else "a named gene"
    if body["program"] is None:
        return f"{kind}, in no curated program."
    # The direction is named where it holds: genes of programs that were expected to go down do not
    # (experiment program_priors).
    direction = ", expected to go up" if body["expected"] == "up" else ""
    return f"{kind}, of the program {body['program']}{direction}."


def _base_rates(body: Body, _: Symbols) -> str:
    return f"{_counts(body)}, over {body['perts']:,} perturbations and {body['genes']:,} genes."


def _pathway_neighbours(body: Body, first: Symbols) -> str:
    partners = [
        (
            p["symbol"],
            (
                f"{p['symbol']} (score {p['score']}: {p['n']} rows, {p['de']} changed, {p['up']}"
                f" up, {p['down']} down)"
            ),
        )
        for p in body["partners"]
    ]
    n = len(partners)
    return (
        f"pooled over {n} perturbed partner{'s' * (n > 1)}: {_counts(body)}."
        f" {_list(partners, first, MAX_PHRASES, '; ')}."
    )


def _protein_interactions(body: Body, first: Symbols) -> str:
    partners = [(p["symbol"], f"{p['symbol']} {p['score']}") for p in body["partners"]]
    return (
        f"{len(partners):,} partner{'s' * (len(partners) > 1)}, scores out of 1000:"
        f" {_list(partners, first)}."
    )


def _train_lookup(body: Body, first: Symbols) -> str:
    other = "gene" if body["gene"] is None else "pert"
    parts = []
    for label in ("up", "down", "de", "none"):
        symbols = [row[other] for row in body["rows"] if row["label"] == label]
        if symbols:
            parts.append(f"{_LABELS[label]} {len(symbols)}: {_list_symbols(symbols, first)}")
    return f"{_counts(body)}. {'; '.join(parts)}."


_REGULATED = {
    "activators": "activated by",
    "repressors": "repressed by",
    "activated": "activates",
    "repressed": "represses",
}


def _regulation(body: Body, first: Symbols) -> str:
    unknown = (
        "regulated in an unknown direction by"
        if "activators" in body
        else "regulates in an unknown direction"
    )
    kinds = _REGULATED | {"unknown": unknown}
    return (
        "; ".join(
            f"{words} {_list_symbols(body[kind], first)}"
            for kind, words in kinds.items()
            if body.get(kind)
        )
        + "."
    )


def _pathways(body: Body, _: Symbols) -> str:
    return f"{_list([(name, name) for name in body['pathways']], (), MAX_PHRASES, '; ')}."


def _lps_response(body: Body, _: Symbols) -> str:
    means = f"mean expression {body['mean_lps']:.3g} with LPS, {body['mean_ctrl']:.3g} without"
    p_adj = f"{body['p_adj']:.2g}" if body["p_adj"] > 0 else "0 after rounding"
    return f"log fold change {body['logfc']:+.3g} ({means}; adjusted p {p_adj})."


def _literature(body: Body, _: Symbols) -> str:
    """Return every passage with its source; those that name both genes say so, since few do."""
    parts = []
    for passage in body["passages"]:
        year = f", {passage['year']}" if passage["year"] else ""
        both = ", names both genes" if passage["co_mention"] else ""
        title = f"{passage['title']} " if body["mode"] == "keyword" else ""
        text = textwrap.shorten(f"{title}{passage['text']}", MAX_CHARACTERS - 100, placeholder=" …")
        parts.append(f"“{text}” (PMID {passage['pmid']}{year}{both})")
    return "; ".join(parts)


def _write_fields(body: Body, first: Symbols) -> str:
    """Return the fields of any other tool's body, one after the other."""
    parts = []
    for name, value in body.items():
        if isinstance(value, list | tuple):
            items = [
                _write_fields(item, first) if isinstance(item, Mapping) else _plain(item)
                for item in value
            ]
            value = _list([(item, item) for item in items], first, MAX_PHRASES, "; ") or None
        parts.append(f"{name.replace('_', ' ')}: {_plain(value)}")
    return ", ".join(parts)


_LABELS = {"up": "up", "down": "down", "de": "changed, direction unknown", "none": "unchanged"}
_WRITERS: Mapping[str, Callable[[Body, Symbols], str]] = {
    "gene_info": _gene_info,
    "gene_class": _gene_class,
    "base_rates": _base_rates,
    "pathway_neighbours": _pathway_neighbours,
    "protein_interactions": _protein_interactions,
    "train_lookup": _train_lookup,
    "regulators": _regulation,
    "targets": _regulation,
    "pathways": _pathways,
    "lps_response": _lps_response,
    "literature": _literature,
}


def _counts(body: Body) -> str:
    """Return the counts, and the shares P(DE) and P(up | DE) that follow from them."""
    n, de, up, down = (body[name] for name in ("n", "de", "up", "down"))
    text = f"{n:,} labelled row{'s' * (n != 1)}, {de:,} changed (P(DE) {de / n:.2f})"
    return (
        f"{text}, up:down {up:,}:{down:,} (P(up | DE) {up / (up + down):.2f})"
        if up + down
        else text
    )


def _list_symbols(symbols: Iterable[str], first: Symbols) -> str:
    return _list([(symbol, symbol) for symbol in symbols], first)


def _list(
    entries: Sequence[tuple[str, str]],
    first: Symbols,
    max_entries: int = MAX_SYMBOLS,
    separator: str = ", ",
) -> str:
    """Return the texts of (symbol, text) entries, those of the symbols in `first` first; entries
    beyond the limit are counted."""
    leading = {symbol.casefold() for symbol in first}
    # stable: otherwise in the given order
    ordered = sorted(entries, key=lambda entry: entry[0].casefold() not in leading)
    shown = separator.join(text for _, text in ordered[:max_entries])
    return (
        f"{shown} and {len(ordered) - max_entries:,} more" if len(ordered) > max_entries else shown
    )


def _plain(value: object) -> str:
    if value is None:
        return "not known"
    return f"{value:.3g}" if isinstance(value, float) else str(value)


LONGEST_CELL = 60  # characters: longer texts are read as lines, not in a table
Entries = Sequence[Mapping[str, Any]]


def card_title(item: Mapping[str, Any]) -> str:
    """Return the tool and its query. item: the fields of `Evidence`."""
    return f"{item['tool'].replace('_', ' ')} · {item['key'].replace('|', ' ⟶ ')}"


def split_body(body: Mapping[str, Any]) -> tuple[list[str], list[Entries]]:
    """Return the lines of an answer, and the lists of its entries that fit a table."""
    lines: list[str] = []
    lists: list[Entries] = []
    for name, value in body.items():
        if not (
            isinstance(value, list) and value and all(isinstance(entry, dict) for entry in value)
        ):
            lines.append(f"{name.replace('_', ' ')}: {value_text(value)}")
        elif _is_prose(value):
            lines += ["", *("\n".join((*_describe_entry(entry), "")) for entry in value)]
        else:
            lists.append(value)
    return lines, lists


def source_line(item: Mapping[str, Any]) -> str:
    """Return an answer's source, its date, and the labels that the tool saw. item: the fields of
    `Evidence`."""
    date = f", {item['retrieved_at']:%Y-%m-%d}" if item["retrieved_at"] else ""
    labels = f", labels seen: {item['view']}" if item["view"] else ""
    return f"Source: {item['source']}{date}{labels}"


def value_text(value: object) -> str:
    """Return one value of typed evidence as text; an en dash if there is none."""
    if isinstance(value, list):
        return ", ".join(map(value_text, value)) or "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return quantity_text(value)
    return "–" if value in (None, "") else str(value)


def _is_prose(entries: Entries) -> bool:
    """Return whether entries hold texts to read, such as passages of articles."""
    return any(
        isinstance(value, str) and len(value) > LONGEST_CELL
        for entry in entries
        for value in entry.values()
    )


def _describe_entry(entry: Mapping[str, Any]) -> list[str]:
    """Return an entry's short values in one line, and each of its long texts on a separate line."""
    short = {
        name: value
        for name, value in entry.items()
        if not (isinstance(value, str) and len(value) > LONGEST_CELL)
    }
    words = [
        f"PMID {value}" if name == "pmid" else f"{name.replace('_', ' ')}: {value_text(value)}"
        for name, value in short.items()
    ]
    return [" · ".join(words), *(str(value) for name, value in entry.items() if name not in short)]
