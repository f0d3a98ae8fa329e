"""What the columns of a table of predicted changes are: found by their names, or named."""

from __future__ import annotations

from collections.abc import Mapping

from core.errors import InputError
from core.symbols.p_values import is_p_value_name

# What a column is → the names by which it is found, in any case.
COLUMN_NAMES: Mapping[str, tuple[str, ...]] = {
    "pert": ("pert", "perturbation", "target", "target_gene", "condition"),
    "gene": ("gene", "feature", "gene_name", "symbol"),
    "log2_fc": (
        *("log2_fc", "log2fc", "log2_fold_change", "log2foldchange", "lfc", "logfoldchanges", "avg_log2fc", "logfc"),
        *("log_fold_change", "log2_fold_changes"),
    ),
    "fold_change": ("fold_change", "foldchange", "fc", "fold_changes"),
    "standard_error": ("standard_error", "se", "lfcse", "log2_fc_se"),
    "z": ("z", "z_score", "zscore"),
    "p": ("p", "p_value", "pvalue", "pval", "pvals", "p_val", "p.value"),
}
KEYS = ("pert", "gene")


def choose_columns(file: str, header: tuple[str, ...], named: Mapping[str, str]) -> dict[str, str]:
    """Returns role → column of those that are there. Raises InputError; see `read_predicted_table`."""
    for role, name in named.items():
        if role not in COLUMN_NAMES:
            raise InputError(f"{file}: --column {role}={name}: no such role, expected one of {', '.join(COLUMN_NAMES)}")
        if name not in header:
            raise InputError(f"{file}: --column {role}={name}: not in the file; its columns are {', '.join(header)[:200]}")
    chosen = dict(named)
    for role, names in COLUMN_NAMES.items():
        matching = [name for name in header if name.lower() in names and name not in named.values()]
        if role in chosen or not matching:
            continue
        if len(matching) > 1:
            raise InputError(f"{file}: columns {', '.join(matching)} may each be {role}; say which with --column {role}=NAME")
        chosen[role] = matching[0]
    adjusted = [name for name in header if is_p_value_name(name) and name not in chosen.values()]
    if "p" not in chosen and adjusted:
        chosen["p"] = adjusted[0]
    missing = [role for role in KEYS if role not in chosen]
    if missing or not {"log2_fc", "fold_change", "z"} & set(chosen):
        raise InputError(
            f"{file}: columns {', '.join(header)[:200]}; expected pert, gene, and log2_fc or z (or fold_change; with "
            "standard_error or p if there is one); say which is which with --column ROLE=NAME"
        )
    change = "log2_fc" if "log2_fc" in chosen else "fold_change"
    used = ("z",) if "z" in chosen else (change, "standard_error") if "standard_error" in chosen else (change, "p")
    return {role: chosen[role] for role in (*KEYS, *dict.fromkeys((*used, change))) if role in chosen}
