"""What each input of a dataset holds, and whether it reveals labels: its rows and names, gene
spaces, the texts of knowledge packs, and runs.

Further kinds of input need only say which values of symbols or which scores of rows they hold.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from math import log

import numpy as np
from scipy.sparse import csr_array

from core.base.texts import NO_BIOLOGY, list_some, number_text
from core.features.leakage.label_statements import find_statements
from core.features.leakage.probe import (
    AXES,
    LEAST_ROWS,
    QUESTIONS,
    UNITS,
    LabelledRows,
    Question,
    ScoreProbe,
    ShareProbe,
    has_values,
    labelled_rows,
    place_scores,
    probe_score,
    probe_shares,
    probe_within,
)
from core.scoring.controls import COUNT_ONLY, RARER_GENE
from core.scoring.run_scores import RunRows, count_rows
from core.stats.arrays import Floats
from core.stats.row_changes import agreement
from core.stats.scores_and_labels import scores_from_probabilities
from core.stats.within_axis import Axis
from core.transfer.row_index import RowIndex

SEED = 0  # of the probes' random draws
DISGUISE = 0.9  # |Spearman| above which a run ranks rows as a count control does
# words that are counted: how many, and in how many (share of) texts
MOST_WORDS, LEAST_TEXTS, MOST_TEXTS = 400, 8, 0.6
_WORD, _NUMBER = re.compile(r"\w+"), re.compile(r"[-+−]?\b\d+(?:\.\d+)?\b")
_PART = re.compile(r"[\n;|]+|(?<=[.!?])\s+")  # a sentence, or a line
# Copies of a name: the number and share of common rows, the log odds against chance, and those that
# a label gives which differs
LEAST_ALIKE, ALIKE, SURE, NEARLY, SHOWN = 2, 0.8, log(1000), 2.0, 3
_MOST_PAIRS = 4_000_000  # of names, that are compared at once
_DOUBT = {
    "labels": "It has seen labels, or is better than any published run: its scores cannot decide",
    "inverted labels": "It has seen inverted labels, or a sign is wrong",
}


def reveal_by_values(index: RowIndex, values: Floats, *, within: bool = False) -> Iterator[str]:
    """Yield what values of the index's symbols, of shape (n_symbols, n_columns), reveal about
    labels: on all labelled rows, else on those of a split.

    within: ask, too, which rows of a unit have the label.
    """
    present = has_values(values).astype(np.float64)[:, None]
    for question in QUESTIONS:
        for axis in AXES:
            for where, rows in _by_split(index, labelled_rows(index, question, axis)):
                rng = np.random.default_rng(SEED)
                shares = [
                    (_shares_text(what, question, axis), probe)
                    for what, table in (("their values", values), ("which have one", present))
                    if (probe := probe_shares(rows, table, rng)).has_seen_labels
                ]
                rest = probe_within(question, rows, values, rng) if within else []
                found = [
                    *(f"{text} {_strength(probe)}" for text, probe in shares),
                    *(
                        f"they tell the rows of one of {UNITS[axis]} apart: {question}"
                        f" {number_text(probe.same)} by {probe.what}"
                        for probe in rest
                        if probe.tail
                    ),
                ]
                if found:
                    yield f"of {UNITS[axis]}{where}: {'; '.join(found)}"
                    break


def _shares_text(what: str, question: Question, axis: Axis) -> str:
    return f"{what} predict{'s' * (what != 'their values')} {question} shares of {UNITS[axis]}"


def _strength(probe: ShareProbe) -> str:
    if probe.fixed:
        return f"at a correlation of {probe.correlation:.2f}, although sampling fixed them"
    return (
        f"at a correlation of {probe.correlation:.2f}, {probe.excess:.0f} standard errors above the"
        f" noise ceiling of {probe.ceiling:.2f}"
    )


def _by_split(index: RowIndex, rows: LabelledRows) -> Iterator[tuple[str, LabelledRows]]:
    """Yield all rows, then, where the labels of several splits are known, those of training and the
    others."""
    yield "", rows
    training = np.isin(rows.at, index.known_positions)
    if training.any() and not training.all():
        yield " in training", rows.take(training)
        yield " outside training", rows.take(~training)


def reveal_by_scores(
    index: RowIndex, scores: Mapping[str, Floats]
) -> Iterator[tuple[Question, ScoreProbe]]:
    """Yield the scores of all rows, each of shape (n_rows,), that know labels, upright or
    inverted."""
    for question in QUESTIONS:
        rows = labelled_rows(index, question)
        for what, values in scores.items():
            probe = probe_score(what, rows, values[rows.at])
            if probe.tail:
                yield question, probe


def check_space(index: RowIndex, vectors: Floats) -> list[str]:
    """Return what the vectors of a space reveal, of shape (n_symbols, n_columns): each alone, and
    how alike those of a row's two symbols are."""
    known = np.nan_to_num(vectors.astype(np.float64))
    pert, gene = index.rows.pert, index.rows.gene
    product = np.einsum("ij,ij->i", known[pert], known[gene])
    lengths = np.linalg.norm(known, axis=1)
    scale = lengths[pert] * lengths[gene]
    scores = {
        "the product of both vectors": np.where(scale > 0, product, np.nan),
        "the cosine of both vectors": np.where(
            scale > 0, product / np.maximum(scale, 1e-12), np.nan
        ),
    }
    return [
        *(f"vectors {found}" for found in reveal_by_values(index, vectors, within=True)),
        *(_score_text(*found) for found in reveal_by_scores(index, scores)),
    ]


def _score_text(question: Question, probe: ScoreProbe) -> str:
    return f"{probe.what} reveals {probe.tail}: {_auroc_text(question, probe)}"


def _auroc_text(question: Question, probe: ScoreProbe) -> str:
    where = f" {probe.part}" if probe.part else ""
    return f"{question} {probe.auroc:.3f} on {probe.n:,} labelled rows{where}"


def check_texts(index: RowIndex, texts: Mapping[str, str]) -> list[str]:
    """Return what the texts of a pack, by gene, reveal: labels that they state, their words,
    numbers, lengths and repeats, what the texts of a row's two genes share, and mentions."""
    place = {symbol.casefold(): row for row, symbol in enumerate(index.symbols)}
    known = {
        row: text for gene, text in texts.items() if (row := place.get(gene.casefold())) is not None
    }
    if len(known) < LEAST_TEXTS:
        return find_statements(texts, _labels_by_pair(index))
    words = {row: set(_WORD.findall(text.casefold())) for row, text in known.items()}
    counts = Counter(word for some in words.values() for word in some)
    common = [w for w, n in counts.most_common() if LEAST_TEXTS <= n <= MOST_TEXTS * len(known)]
    column = {word: k for k, word in enumerate(common[:MOST_WORDS])}
    table = np.full((len(index.symbols), len(column) + 9), np.nan)
    for row, text in known.items():
        table[row] = 0.0
        table[row, [column[word] for word in words[row] if word in column]] = 1.0
        table[row, len(column) :] = _counts(text)
    shared = _incidence(words, {word: k for k, word in enumerate(counts)}, len(table))
    rarity = np.log(len(known) / np.array(list(counts.values())))
    named = _incidence(words, place, len(table))
    pert, gene = index.rows.pert, index.rows.gene
    has_both = np.isin(pert, list(known)) & np.isin(gene, list(known))
    scores = {
        "what both texts share": np.where(
            has_both, np.asarray((shared[pert].multiply(shared[gene])) @ rarity).ravel(), np.nan
        ),
        "a text's mention of the other gene": np.asarray(
            named[pert, gene] + named[gene, pert]
        ).ravel(),
    }
    return [
        *find_statements(texts, _labels_by_pair(index)),
        *(f"words or numbers {found}" for found in reveal_by_values(index, table)),
        *(_score_text(*found) for found in reveal_by_scores(index, scores)),
    ]


def _labels_by_pair(index: RowIndex) -> dict[tuple[str, str], tuple[str, str]]:
    """Return id and label of each labelled row by its casefolded symbols."""
    at = index.labelled_positions
    symbols = [symbol.casefold() for symbol in index.symbols]
    pairs = zip(index.rows.pert[at].tolist(), index.rows.gene[at].tolist(), strict=True)
    known = zip([index.pair_ids[row] for row in at.tolist()], index.labels[at], strict=True)
    return {(symbols[p], symbols[g]): each for (p, g), each in zip(pairs, known, strict=True)}


def _counts(text: str) -> tuple[float, ...]:
    """Return a text's length, words, distinct words, parts, repeated parts, digits, capitals and
    other signs, and the first and the last number (NaN without one)."""
    parts = [part.strip() for part in _PART.split(text) if part.strip()]
    words = text.split()
    numbers = [float(each.replace("−", "-")) for each in _NUMBER.findall(text)] or [np.nan]
    return (
        len(text),
        len(words),
        len(parts),
        len(parts) - len(set(parts)),
        sum(map(str.isdigit, text)),
        sum(map(str.isupper, text)),
        sum(not (sign.isalnum() or sign.isspace()) for sign in text),
        numbers[0],
        numbers[-1],
    )


def _incidence(words: Mapping[int, set[str]], column: Mapping[str, int], n: int) -> csr_array:
    at = [(row, column[word]) for row, some in words.items() for word in some if word in column]
    rows, columns = np.array(at, dtype=np.intp).reshape(-1, 2).T
    return csr_array((np.ones(len(at)), (rows, columns)), shape=(n, len(column)))


def check_rows(index: RowIndex) -> list[str]:
    """Return what the rows of a dataset reveal: their places in the file, the names of genes in
    alphabetical order or in that of the file, and two names of one gene."""
    found = []
    for question in QUESTIONS:
        rows = labelled_rows(index, question)
        for what, values in place_scores(rows).items():
            # families of genes stand together in a list by name, and respond alike to some
            name = f"the order of rows in the file ({what})"
            probe = probe_score(name, rows, values, in_part=False)
            if probe.tail == "labels":
                found.append(_score_text(question, probe))
                break
    n = len(index.symbols)
    first = np.full((n, 2), float(len(index.labels)))
    for column, codes in enumerate((index.rows.gene, index.rows.pert)):
        symbols, at = np.unique(codes, return_index=True)
        first[symbols, column] = at
    length = [len(symbol) for symbol in index.symbols]
    names = np.column_stack([np.arange(n), first, length]).astype(np.float64)
    found += [f"names and their order {each}" for each in reveal_by_values(index, names)]
    return [*found, *_copies(index)]


def _copies(index: RowIndex) -> Iterator[str]:
    """By axis, the names that share most of their rows and every label there, less likely by chance
    than one in 1,000 among all pairs of names.

    Where half as many are nearly alike, with one other label, biology makes them so, as in a
    complex.
    """
    at = index.labelled_positions
    labels, code = np.unique(index.labels[at].astype(str), return_inverse=True)
    n = len(index.symbols)
    measured = len(at) / max(1, len(set(index.rows.pert[at])) * len(set(index.rows.gene[at])))
    # the log odds that a common row with a label gives for a copy
    weights = -np.log(np.bincount(code, minlength=len(labels)) / max(1, len(at))) + max(
        0.0, -log(max(measured, 1e-12))
    )
    for axis in AXES:
        unit, other = (index.rows.gene[at], index.rows.pert[at])[:: 1 if axis == "gene" else -1]
        with_label = csr_array(
            (np.ones(len(at)), (unit, other * len(labels) + code)), (n, n * len(labels))
        )
        rows = csr_array((np.ones(len(at)), (unit, other)), (n, n))
        weighted = csr_array((weights[code], (unit, other * len(labels) + code)), with_label.shape)
        counts = np.bincount(unit, minlength=n)
        sure = SURE + log(max(1, len(set(unit)) ** 2 / 2))  # among as many pairs of names
        copies, nearly = list[str](), 0
        # in parts: where everything was measured, all names share their rows
        most = max(1, _MOST_PAIRS // n)
        for begin in range(0, n, most):
            part = slice(begin, begin + most)
            common = (rows[part] @ rows.T).tocoo()
            a, b = common.coords
            least = ALIKE * (counts[begin + a] + counts[b] - common.data)
            near = (begin + a < b) & (common.data >= np.maximum(LEAST_ALIKE, least))
            a, b, both = a[near], b[near], common.data[near]
            if not len(a):
                continue
            equal, odds = ((each[part] @ with_label.T)[a, b] for each in (with_label, weighted))
            nearly += int(((odds >= sure - NEARLY) & (equal == both - 1)).sum())
            copies += [
                f"{index.symbols[begin + a[k]]} = {index.symbols[b[k]]}"
                for k in np.flatnonzero((odds >= sure) & (equal == both))
            ]
        if len(copies) > 2 * nearly:
            yield (
                f"renamed duplicates among {UNITS[axis]}, with the same rows and labels:"
                f" {list_some(sorted(copies), SHOWN)}"
            )


def check_run(rows: RunRows) -> list[str]:
    """Return whether a run knows labels, and whether it ranks rows as counts of rows do.

    A high score never proves that labels were seen, since a model may be that good.
    """
    found = []
    full = {"DE": rows.scores.p_de, "DIR": rows.scores.p_up}
    for question, values in full.items():
        all_rows = np.full(len(rows.index.labels), np.nan)
        all_rows[rows.positions] = values
        for asked, probe in reveal_by_scores(rows.index, {"run": all_rows}):
            if asked == question:
                good = "good" if probe.tail == "labels" else "wrong"
                found.append(
                    f"suspiciously {good}: {_auroc_text(asked, probe)}, and among genes and"
                    f" perturbations of equal rates too. {_DOUBT[probe.tail]}"
                )
    known = rows.frame["p_de"].notna().to_numpy()
    run = scores_from_probabilities(rows.frame["p_de"].fillna(0.0), rows.frame["p_up_given_de"])
    counts, split = count_rows(rows).scores, rows.frame["split"].to_numpy()
    for name in dict.fromkeys(split):
        some = known & (split == name)
        alike = agreement(run.take(some), counts.take(some))
        for control, number, n, value in (
            (COUNT_ONLY, "P(DE)", alike.n, alike.de),
            (RARER_GENE, "P(up | DE)", alike.n_up, alike.up),
        ):
            if n >= LEAST_ROWS and abs(value) > DISGUISE:
                found.append(
                    f"the {NO_BIOLOGY} ({control}) posing as a model: {number} ranks the {n:,} rows"
                    f" of {name} by how often their genes were measured (rank correlation"
                    f" {value:+.2f})"
                )
    return found
