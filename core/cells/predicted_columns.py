"""What the columns of a table of predicted changes are: found by their names, or named."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from core.errors import InputError
from core.symbols.p_values import is_p_value_name

# What a column is → the names by which it is found, in any case, with anything between words.
COLUMN_NAMES: Mapping[str, tuple[str, ...]] = {
    "pert": ("pert", "perturbation", "target", "target_gene", "condition"),
    "gene": ("gene", "feature", "gene_name", "symbol"),
    "log2_fc": (
        *("log2_fc", "log2_fold_change", "lfc", "logfoldchanges", "avg_log2fc", "logfc"),
        *("log_fold_change", "log2_fold_changes", "log_2_fold_change", "l2fc"),
    ),
    "fold_change": ("fold_change", "fc", "fold_changes"),
    "standard_error": ("standard_error", "se", "lfcse", "log2_fc_se"),
    "z": ("z", "z_score"),
    "p": ("p", "p_value", "pval", "pvals"),
}
# Names that mean this in tables of scanpy (group, names) and SCEPTRE.
_LESSER_NAMES: Mapping[str, tuple[str, ...]] = {"pert": ("group", "grna_target"), "gene": ("names", "response_id")}
KEYS = ("pert", "gene")


def choose_columns(file: str, header: tuple[str, ...], named: Mapping[str, str], *, labels: bool = False) -> dict[str, str]:
    """Return role → column for the existing columns.

    labels: whether p also counts beside a standard error, without options for columns. Raise InputError; see
    `read_predicted_table`.
    """
    for role, name in named.items():
        if role not in COLUMN_NAMES:
            raise InputError(f"{file}: --column {role}={name}: no such role, expected one of {', '.join(COLUMN_NAMES)}")
        if name not in header:
            raise InputError(f"{file}: --column {role}={name}: not in the file; its columns are {', '.join(header)[:200]}")
    chosen = dict(named)
    for role in COLUMN_NAMES:
        matching = _find_columns(role, [name for name in header if name not in named.values()])
        if role in chosen or not matching:
            continue
        if len(matching) > 1:
            how = "leave all but one out of the table" if labels else f"say which with --column {role}=NAME"
            raise InputError(f"{file}: columns {', '.join(matching)} may each be {role}; {how}")
        chosen[role] = matching[0]
    adjusted = [name for name in header if is_p_value_name(name) and name not in chosen.values()]
    if "p" not in chosen and adjusted:
        chosen["p"] = adjusted[0]
    missing = [role for role in KEYS if role not in chosen]
    if missing or not {"log2_fc", "fold_change", "z"} & set(chosen):
        how = "rename the columns so" if labels else "say which is which with --column ROLE=NAME"
        raise InputError(
            f"{file}: columns {', '.join(header)[:200]}; expected pert, gene, and log2_fc or z (or fold_change; with "
            f"standard_error or p if there is one); {how}"
        )
    change = "log2_fc" if "log2_fc" in chosen else "fold_change"
    used = ("z",) if "z" in chosen else (change, "standard_error") if "standard_error" in chosen else (change, "p")
    used = (change, "p") if labels else used
    return {role: chosen[role] for role in (*KEYS, *dict.fromkeys((*used, change))) if role in chosen}


def _find_columns(role: str, header: Sequence[str]) -> list[str]:
    """Return the columns with a name for a role; less specific names count only if there are no others."""
    for names in (COLUMN_NAMES[role], _LESSER_NAMES.get(role, ())):
        known = set(map(_fold, names))
        if found := [name for name in header if _fold(name) in known]:
            return found
    return []


def _fold(name: str) -> str:
    """Return a name without separators between words; a leading minus and signs of an absolute value stay."""
    return re.sub(r"[\s_.()]|(?<=\w)-", "", name.lower())
