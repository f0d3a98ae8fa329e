"""What the columns of a table are: the one list of roles for labels, predictions, scores,
differential expression and replies.

A column has at most one role, by its name and by what its cells hold, or because a person says so
(`--column ROLE=NAME`).
"""

from __future__ import annotations

import itertools
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from core.base.errors import InputError, UnknownFormat
from core.base.hashes import sha256_of
from core.base.tables import Table
from core.base.texts import list_some, quote
from core.features.importing.name_kinds import is_p_value_name, kind_of_names, refuse_matrix

if TYPE_CHECKING:
    import pandas as pd

_FEW_REPEATS, _LEAST_REPEATS = 5, 0.05  # rows, of the pairs; fewer are slips
_MOST_VALUES: Final = 50  # of a column that tells repeats apart
_LEAST_OF_KIND: Final = 4  # rows with the same number, where numbers tell repeats apart
_MOST_COLUMNS: Final = 12  # that are looked at for this

Holds = Literal["text", "number", "any"]


class Role(NamedTuple):
    """What a column may be. names: by which it is found, the surest first, with anything between
    words.

    lesser: names that mean it only in a table where no other column does. holds: what most cells
    are.
    """

    meaning: str
    names: tuple[str, ...]
    lesser: tuple[str, ...] = ()
    holds: Holds = "text"


ROLES: Final[Mapping[str, Role]] = {
    "id": Role("the pair, as PERT_GENE", ("id", "pair_id", "row_id", "custom_id"), holds="any"),
    "pert": Role(
        "the perturbed gene",
        (
            "pert",
            "perturbation",
            "target_gene",
            "perturbed_gene",
            "condition",
            "target",
            "grna_target",
            "contrast",
        ),
        ("cluster", "group"),
        "any",
    ),
    "gene": Role(
        "the gene whose expression changes",
        ("gene", "gene_symbol", "symbol", "gene_name", "feature", "response_id"),
        ("names", "name", "variable"),
        "any",
    ),
    "label": Role("up, down or none; or 1 and 0", ("label",), holds="any"),
    "split": Role("train, val or test", ("split",), holds="any"),
    "up": Role(
        "the probability of up",
        ("prediction_up", "p_up", "prob_up", "probability_up"),
        holds="number",
    ),
    "down": Role(
        "the probability of down",
        ("prediction_down", "p_down", "prob_down", "probability_down"),
        holds="number",
    ),
    "none": Role(
        "the probability of no effect",
        (
            "p_none",
            "prediction_none",
            "prob_none",
            "probability_none",
            "p_no_effect",
            "p_unchanged",
        ),
        holds="number",
    ),
    "p_de": Role(
        "the probability of an effect", ("p_de", "prob_de", "probability_de"), holds="number"
    ),
    "p_up_given_de": Role(
        "the probability of up, given an effect",
        ("p_up_given_de", "prob_up_given_de"),
        holds="number",
    ),
    "reasoning": Role(
        "the model's reasoning",
        (
            "reasoning_trace",
            "reasoning",
            "reasoning_content",
            "thinking",
            "rationale",
            "explanation",
            "trace",
        ),
    ),
    "answer": Role(
        "the model's reply",
        (
            "answer",
            "content",
            "response",
            "completion",
            "output",
            "reply",
            "prediction",
            "predicted_label",
            "model_output",
        ),
        ("text",),
    ),
    "model": Role("the model that replied", ("model_name", "model")),
    "tokens": Role(
        "all tokens of a row", ("tokens_used", "total_tokens", "tokens"), holds="number"
    ),
    "prompt_tokens": Role(
        "tokens of its prompts", ("prompt_tokens", "input_tokens"), holds="number"
    ),
    "tool_calls": Role("its calls of tools", ("num_tool_calls", "tool_calls"), holds="number"),
    "log2_fc": Role(
        "log2 of the fold change",
        (
            "log2_fc",
            "log2_fold_change",
            "log2_fold_changes",
            "log_2_fold_change",
            "l2fc",
            "avg_log2fc",
            "logfoldchanges",
            "lfc",
        ),
        holds="number",
    ),
    "ln_fc": Role(
        "natural logarithm of the fold change",
        ("ln_fc", "avg_logfc", "ln_fold_change", "logefc"),
        holds="number",
    ),
    "log10_fc": Role("log10 of the fold change", ("log10_fc", "log10_fold_change"), holds="number"),
    "fold_change": Role(
        "the ratio of the means", ("fold_change", "fc", "fold_changes", "ratio"), holds="number"
    ),
    "log_fc": Role(
        "logarithm of the fold change, of a base that is not stated",
        ("logfc", "log_fold_change", "coef"),
        holds="number",
    ),
    "standard_error": Role(
        "standard error of log2_fc", ("standard_error", "se", "lfcse", "log2_fc_se"), holds="number"
    ),
    "z": Role("a signed statistic", ("z", "z_score"), holds="number"),
    "p": Role("p-value, not adjusted", ("p_value", "p", "pval", "pvals", "p_val"), holds="number"),
    "adjusted_p": Role(
        "p-value adjusted for many tests (FDR)",
        (
            *(
                "padj",
                "p_adj",
                "fdr",
                "p_val_adj",
                "adj_p_val",
                "adj_pval",
                "adj_p_value",
                "p_value_adjusted",
                "pvals_adj",
            ),
            *("qvalue", "q_value", "qval", "q", "adjusted_p", "bh"),
        ),
        holds="number",
    ),
}
# Role → the column of a submission that has it.
COLUMN_OF: Mapping[str, str] = {
    "up": "prediction_up",
    "down": "prediction_down",
    "p_de": "p_de",
    "p_up_given_de": "p_up_given_de",
    "reasoning": "reasoning_trace",
    "model": "model_name",
    "tokens": "tokens_used",
    "prompt_tokens": "prompt_tokens",
    "tool_calls": "num_tool_calls",
}
SEED_COLUMN = re.compile(
    r"(?:reasoning_trace|prediction_up|prediction_down)_seed(\d{1,9})", re.ASCII
)
CHANGES: Final = ("log2_fc", "ln_fc", "log10_fc", "fold_change", "log_fc")
# Columns that tell the base of "logFC": edgeR, limma, DESeq2, glmGamPoi and pertpy write log2,
# presto and nebula the natural one.
_BASES: Final = (
    ("ln_fc", ({"auc", "pctin"}, {"avgexpr", "pctout"}, {"se", "geneid"})),
    (
        "log2_fc",
        (
            {"logcpm"},
            {"adjpval"},
            {"aveexpr"},
            {"basemean"},
            {"lfcse"},
            {"fstatistic", "df1"},
            {"variable", "contrast"},
        ),
    ),
)
# in a name of p-values
_ADJUSTED: Final = re.compile(r"adj|fdr|fwer|lfsr|svalue|corrected|bonferroni|holm|bh\b|^q|q_?val")
# What scanpy says of each group, in columns side by side such as A_names and A_pvals.
_OF_GROUP: Final = ("names", "logfoldchanges", "pvals", "pvals_adj")
# MAGeCK's summaries of genes, by test and by regression: neg|score, day23|beta.
_MAGECK: Final = re.compile(r"(?:neg|pos)\|score.*|.*\|beta")
# Columns of dashboards, counts and other facts of a call, of which none is a score of a pair.
NO_SCORES: Final = frozenset(
    [
        "latency",
        "duration",
        "totalcost",
        "cost",
        "outputtokens",
        "inputtokens",
        "completiontokens",
        "reasoningtokens",
        "timestamp",
        "promptcost",
        "completioncost",
        "inputcost",
        "outputcost",
        "temperature",
        "timetofirsttoken",
        "numdistincttools",
        "level",
    ]
)


@dataclass(frozen=True, slots=True)
class SavedColumns:
    """Columns that a person gave for a file. columns: role → column. date: the day, as
    YYYY-MM-DD."""

    columns: Mapping[str, str]
    file: str
    date: str


@dataclass(frozen=True, slots=True)
class TableOptions:
    """What a person says of a table. columns: role → column. where: column → the value of the rows
    that count.

    saved: what was said of earlier tables, by `header_key`; it counts where `columns` is empty.
    None: nobody looked yet.
    """

    columns: Mapping[str, str] = field(default_factory=dict)
    where: Mapping[str, str] = field(default_factory=dict)
    saved: Mapping[str, SavedColumns] | None = None


AS_GUESSED: Final = TableOptions()


class Roles(NamedTuple):
    """The roles of a table's columns. of: role → column. unused: columns without a role."""

    of: Mapping[str, str]
    unused: tuple[str, ...]

    @property
    def name_pairs(self) -> bool:
        """Whether each row says which pair it is about."""
        return "id" in self.of or {"pert", "gene"} <= self.of.keys()


def fold(name: str) -> str:
    """Return a column's name without case and separators; a leading minus and signs of an absolute
    value stay."""
    return re.sub(r"[\s_.()]|(?<=\w)-", "", name.lower())


def header_key(header: Sequence[str]) -> str:
    """Return the key of the tables that have these columns, in whatever order and spelling."""
    return sha256_of("\n".join(sorted(map(fold, header))))


def named_columns(table: Table, options: TableOptions) -> Mapping[str, str]:
    """Return role → column as a person says it for a table, or said it earlier for one with the
    same columns.

    The latter is noted in the table's notes.
    """
    saved = (
        options.saved.get(header_key(table.header))
        if options.saved and not options.columns
        else None
    )
    if saved is None:
        return options.columns
    spelled = {fold(name): name for name in table.header}
    columns = {
        role: name if name in table.header else spelled[fold(name)]
        for role, name in saved.columns.items()
    }
    listed = ", ".join(f"{role} = {quote(name)}" for role, name in columns.items())
    table.notes.append(
        f"columns as you said for {saved.file} on {saved.date}: {listed}; --column overrides"
    )
    return columns


def choose_roles(table: Table, named: Mapping[str, str] | None = None) -> Roles:
    """Return the roles of a table's columns.

    named: role → column, which a person says. Raise InputError for a role that is none, a column
    that is not there, and a matrix (see `refuse_matrix`).
    """
    named = named or {}
    for role, name in named.items():
        if role not in ROLES:
            raise InputError(
                f"{table.name}: --column {role}={name}: no such role, expected one of"
                f" {', '.join(ROLES)}"
            )
        if name not in table.header:
            raise InputError(
                f"{table.name}: --column {role}={name}: not in the file; its columns are"
                f" {_names(table)}"
            )
    if not named and any(map(_MAGECK.fullmatch, table.header)):
        raise UnknownFormat(
            f"{table.name}: a summary of MAGeCK, of the perturbed genes alone; expected a row for"
            " each perturbed and each measured gene"
        )
    of = dict(named)
    holds, free = dict[str, Holds](), list[str]()
    for at, name in enumerate(table.header):
        is_number = table.looks_numeric(at)
        holds[name] = "any" if is_number is None else "number" if is_number else "text"
        if name and name not in named.values():
            free.append(name)
    for role in ROLES:
        column = None if role in of else _find(table, role, free, holds)
        if column is not None:
            of[role] = column
            free.remove(column)
    if {"id", "pert", "gene"} <= of.keys() and "id" not in named and not _names_pairs(table, of):
        free.append(of.pop("id"))  # of rows or traces
    alone = [role for role in ("pert", "gene") if role in of and role not in named]
    if "id" in of and len(alone) == 1 and not {"pert", "gene"} <= of.keys():
        free.append(of.pop(alone[0]))
    for role in {"p", "adjusted_p"} - of.keys():
        others = (name for name in free if is_p_value_name(name) and holds[name] != "text")
        other = next(
            (
                name
                for name in others
                if bool(_ADJUSTED.search(name.lower())) == (role == "adjusted_p")
            ),
            None,
        )
        if other is not None:
            of[role] = other
    if "log_fc" in of and "log_fc" not in named:
        beside = {*map(fold, table.header)}
        base = next(
            (role for role, columns in _BASES if any(names <= beside for names in columns)),
            "log_fc",
        )
        of[base] = of.pop("log_fc")
    if "id" not in of and not {"pert", "gene"} <= of.keys():
        names = next((i for i, name in enumerate(table.header) if holds[name] == "text"), 0)
        columns = [*table.header[:names], *table.header[names + 1 :]]
        refuse_matrix([cells[names] for cells in table.sample()], columns, table.name)
    unused = [name for name in table.header if name not in of.values()]
    return Roles({role: of[role] for role in ROLES if role in of}, tuple(unused))


def _names_pairs(table: Table, of: Mapping[str, str]) -> bool:
    """Return whether some id has a part of its pair."""
    key, pert, gene = (table.header.index(of[role]) for role in ("id", "pert", "gene"))
    rows = table.sample()
    for row in rows:
        if row[pert] in row[key] or row[gene] in row[key]:
            return True
    return not rows


def stack(table: Table) -> Table:
    """Return scanpy's table with the columns of each group side by side as one with a row for each
    group and gene."""
    place = {name: at for at, name in enumerate(table.header)}
    end = "_logfoldchanges"
    groups = [name.removesuffix(end) for name in table.header if name.endswith(end)]
    columns = [name for name in _OF_GROUP if all(f"{group}_{name}" in place for group in groups)]
    if not groups or "names" not in columns:
        return table
    places = {group: [place[f"{group}_{name}"] for name in columns] for group in groups}
    note = f"a table of scanpy with {len(groups):,} groups side by side"
    rows = _stacked(table, places)
    return Table(table.name, ("group", *columns), rows, table.rejected, [*table.notes, note])


def _stacked(table: Table, places: Mapping[str, Sequence[int]]) -> Iterator[tuple[int, list[str]]]:
    for line, cells in table.records():
        for group, columns in places.items():
            yield line, [group, *(cells[i] for i in columns)]


def _names(table: Table) -> str:
    return quote(", ".join(table.header), 200)


def _find(table: Table, role: str, free: Sequence[str], holds: Mapping[str, Holds]) -> str | None:
    """Return the column that is most surely this; less specific names count only if no other is
    there.

    Of columns of genes, one of symbols counts before one of identifiers.
    """
    kind, by_name = ROLES[role], dict[str, list[str]]()
    for name in free:
        if kind.holds in ("any", holds[name]) or holds[name] == "any":
            by_name.setdefault(fold(name), []).append(name)
    matching = [*filter(None, map(by_name.get, map(fold, (*kind.names, *kind.lesser))))]
    if role == "gene" and len(matching) > 1:
        matching.sort(
            key=lambda same: bool(
                kind_of_names([row[table.header.index(same[0])] for row in table.sample()])
            )
        )
    if matching and len(matching[0]) > 1:
        raise InputError(
            f"{table.name}: columns {', '.join(matching[0])} may each be {role}; say which with"
            f" --column {role}=NAME"
        )
    return matching[0][0] if matching else None


def is_often(n_repeats: int, n_rows: int) -> bool:
    """Return whether repeated rows are more than slips."""
    return n_repeats >= max(_FEW_REPEATS, _LEAST_REPEATS * n_rows)


def explain_repeats(file: str, keys: pd.Series, others: pd.DataFrame) -> None:
    """Raise InputError if one to three columns, of few values, tell the rows with the same key
    apart.

    keys: of the rows that repeat one; others: further columns, with the same index.
    """
    few = [
        str(name)
        for name in others
        if 1 < others[name].nunique() <= _MOST_VALUES and _are_kinds(others[name])
    ]
    for columns in (
        columns for n in (1, 2, 3) for columns in itertools.combinations(few[:_MOST_COLUMNS], n)
    ):
        by = [others[name] for name in columns]
        n_pairs = keys.groupby(by, sort=False).nunique()
        chosen = n_pairs.index[int(n_pairs.argmax())]
        is_told = others[[*columns]].assign(key=keys).duplicated().mean() <= _LEAST_REPEATS
        # a value of all pairs, as a cell line is, but no guide
        if is_told and 2 * n_pairs.max() >= keys.nunique():
            values = "; ".join(f"{name}: {list_some([*others[name].unique()])}" for name in columns)
            wheres = zip(columns, (chosen,) if len(columns) == 1 else chosen, strict=True)
            raise InputError(
                f"{file}: {int(keys.duplicated().sum()):,} rows name a pair that an earlier row"
                f" names, with another {' or '.join(columns)} ({values}); say which counts, as in "
                + " ".join(f"--where {shlex.quote(f'{name}={value}')}" for name, value in wheres)
            )


def _are_kinds(values: pd.Series) -> bool:
    """Return whether values are texts, or numbers of which each stands in several rows."""
    import pandas as pd

    is_number = pd.to_numeric(values, errors="coerce").notna().all()
    return not is_number or _LEAST_OF_KIND * values.nunique() <= len(values)
