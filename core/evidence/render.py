"""The one place where evidence becomes text for a prompt.

A failure is never written as evidence: it comes back as a note beside the text, for the run's record and its pages.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from core.types import Evidence, Pair

CHARACTERS = 1_000  # of one answer
LISTED = 20  # entries of a list of symbols; the rest are counted
LISTED_LONG = 10  # the same for pathways and for partners with counts

Body = Mapping[str, Any]
Symbols = Collection[str]


class Rendered(NamedTuple):
    """text: one line of at most the limit's characters, "" where the tool failed; note: one line on the failure, else ""."""

    text: str
    note: str


class Dossier(NamedTuple):
    """text: a line for each answer; notes: a line for each tool that failed."""

    text: str
    notes: tuple[str, ...]


def dossier(items: Iterable[Evidence], pair: Pair, limit: int = CHARACTERS) -> Dossier:
    """All answers about a pair; in long lists the pair's own symbols come first, so that none of them is cut off."""
    rendered = [render(item, (pair.pert, pair.gene), limit) for item in items]
    lines = [f"- {text}" for text, _ in rendered if text]
    return Dossier("\n".join(lines), tuple(note for _, note in rendered if note))


def render(item: Evidence, first: Symbols = (), limit: int = CHARACTERS) -> Rendered:
    """One answer as one line; `first`: symbols that lead any list they stand in."""
    title = f"{item.tool.replace('_', ' ')}, {_subject(item)}"
    if item.status in ("error", "offline"):
        return Rendered("", f"{title}: {item.status}, so this tool gave no evidence either way")
    if item.status == "empty":
        spellings = item.body.get("ambiguous", ())
        unclear = f" (several spellings fit: {', '.join(spellings)})" if spellings else ""
        return Rendered(textwrap.shorten(f"{title}: nothing known{unclear}.", limit, placeholder=" …"), "")
    said = _WRITERS.get(item.tool, _fields)(item.body, first)
    listed = f" (listed as {_spelled(item.body)})" if "asked" in item.body else ""
    abstracts = len(item.body["passages"]) if item.body.get("mode") == "keyword" else 1  # each has the room of an answer
    return Rendered(textwrap.shorten(f"{title}{listed}: {said}", limit * abstracts, placeholder=" …"), "")


def _subject(item: Evidence) -> str:
    key = item.key.removesuffix(f" @ {item.view}") if item.view else item.key
    pert, bar, gene = key.partition("|")
    if not bar:
        return key
    parts = [f"{role} {symbol}" for role, symbol in (("perturbation", pert), ("gene", gene)) if symbol != "*"]
    return " and ".join(parts)


def _spelled(body: Body) -> str:
    """The spelling under which something was found."""
    return " and ".join(body[name] for name in ("symbol", "pert", "gene") if body.get(name))


def _gene_info(body: Body, _: Symbols) -> str:
    parts = [body["name"], f"ortholog {body['ortholog']}" if body["ortholog"] else None]
    for name, said in (("go_bp", "processes"), ("kegg", "KEGG pathways")):
        parts.append(f"{said}: {'; '.join(body[name])}" if body.get(name) else None)
    return ". ".join(part for part in (*parts, body["summary"]) if part)


def _gene_class(body: Body, _: Symbols) -> str:
    kind = f"uncharacterised ({body['naming']})" if body["uncharacterised"] else "a named gene"
    if body["program"] is None:
        return f"{kind}, in no curated program."
    return f"{kind}, of the program {body['program']}, expected to go {body['expected']}."


def _base_rates(body: Body, _: Symbols) -> str:
    return f"{_counted(body)}, over {body['perts']:,} perturbations and {body['genes']:,} genes."


def _pathway_neighbours(body: Body, first: Symbols) -> str:
    partners = [
        (p["symbol"], f"{p['symbol']} (score {p['score']}: {p['n']} rows, {p['de']} changed, {p['up']} up, {p['down']} down)")
        for p in body["partners"]
    ]
    n = len(partners)
    return f"pooled over {n} perturbed partner{'s' * (n > 1)}: {_counted(body)}. {_listed(partners, first, LISTED_LONG, '; ')}."


def _protein_interactions(body: Body, first: Symbols) -> str:
    partners = [(p["symbol"], f"{p['symbol']} {p['score']}") for p in body["partners"]]
    return f"{len(partners):,} partner{'s' * (len(partners) > 1)}, scores out of 1000: {_listed(partners, first)}."


def _train_lookup(body: Body, first: Symbols) -> str:
    other = "gene" if body["gene"] is None else "pert"
    said = []
    for label in ("up", "down", "de", "none"):
        symbols = [row[other] for row in body["rows"] if row["label"] == label]
        if symbols:
            said.append(f"{_LABELS[label]} {len(symbols)}: {_symbols(symbols, first)}")
    return f"{_counted(body)}. {'; '.join(said)}."


def _regulators(body: Body, first: Symbols) -> str:
    kinds = (("activators", "activated by"), ("repressors", "repressed by"), ("unknown", "regulated in an unknown direction by"))
    return "; ".join(f"{words} {_symbols(body[kind], first)}" for kind, words in kinds if body[kind]) + "."


def _pathways(body: Body, _: Symbols) -> str:
    return f"{_listed([(name, name) for name in body['pathways']], (), LISTED_LONG, '; ')}."


def _lps_response(body: Body, _: Symbols) -> str:
    means = f"mean expression {body['mean_lps']:.3g} with LPS, {body['mean_ctrl']:.3g} without"
    p_adj = f"{body['p_adj']:.2g}" if body["p_adj"] > 0 else "0 after rounding"
    return f"log fold change {body['logfc']:+.3g} ({means}; adjusted p {p_adj})."


def _literature(body: Body, _: Symbols) -> str:
    """Every passage with where it is from. Those that name both genes say so, since few do."""
    said = []
    for passage in body["passages"]:
        year = f", {passage['year']}" if passage["year"] else ""
        both = ", names both genes" if passage["co_mention"] else ""
        title = f"{passage['title']} " if body["mode"] == "keyword" else ""
        text = textwrap.shorten(f"{title}{passage['text']}", CHARACTERS - 100, placeholder=" …")
        said.append(f"“{text}” (PMID {passage['pmid']}{year}{both})")
    return "; ".join(said)


def _fields(body: Body, first: Symbols) -> str:
    """Any other tool's body: its fields, one after the other."""
    said = []
    for name, value in body.items():
        if isinstance(value, list | tuple):
            items = [_fields(item, first) if isinstance(item, Mapping) else _plain(item) for item in value]
            value = _listed([(item, item) for item in items], first, LISTED_LONG, "; ") or None
        said.append(f"{name.replace('_', ' ')}: {_plain(value)}")
    return ", ".join(said)


_LABELS = {"up": "up", "down": "down", "de": "changed, direction unknown", "none": "unchanged"}
_WRITERS: Mapping[str, Callable[[Body, Symbols], str]] = {
    "gene_info": _gene_info,
    "gene_class": _gene_class,
    "base_rates": _base_rates,
    "pathway_neighbours": _pathway_neighbours,
    "protein_interactions": _protein_interactions,
    "train_lookup": _train_lookup,
    "regulators": _regulators,
    "pathways": _pathways,
    "lps_response": _lps_response,
    "literature": _literature,
}


def _counted(body: Body) -> str:
    """Counts, and what they say of P(DE) and of the direction."""
    n, de, up, down = (body[name] for name in ("n", "de", "up", "down"))
    said = f"{n:,} labelled row{'s' * (n != 1)}, {de:,} changed (P(DE) {de / n:.2f})"
    return f"{said}, up:down {up:,}:{down:,} (P(up | DE) {up / (up + down):.2f})" if up + down else said


def _symbols(symbols: Iterable[str], first: Symbols) -> str:
    return _listed([(symbol, symbol) for symbol in symbols], first)


def _listed(entries: Sequence[tuple[str, str]], first: Symbols, most: int = LISTED, separator: str = ", ") -> str:
    """The texts of (symbol, text) entries, those of `first` before the others; the rest are counted."""
    leading = {symbol.casefold() for symbol in first}
    ordered = sorted(entries, key=lambda entry: entry[0].casefold() not in leading)  # stable: else the order given
    shown = separator.join(text for _, text in ordered[:most])
    return f"{shown} and {len(ordered) - most:,} more" if len(ordered) > most else shown


def _plain(value: object) -> str:
    if value is None:
        return "not known"
    return f"{value:.3g}" if isinstance(value, float) else str(value)
