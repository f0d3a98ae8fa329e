"""One simulated screen in the conventions of laboratories: layouts, controls, names, scales. docs/cells.md has the table."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anndata
import h5py
import numpy as np
import pandas as pd
from scipy.sparse import csc_matrix, csr_matrix

from core.features.cells.simulator import ScreenSettings, simulate_screen

SETTINGS = ScreenSettings(
    n_cells=900,
    n_genes=60,
    n_perturbations=8,
    n_doubles=2,
    n_programs=4,
    depth=12,
    effect=2,
    share_in_programs=0.95,
    share_failed_guides=0,
    share_control=0.2,
)
CONTROL = "non-targeting"
SCREEN = simulate_screen(SETTINGS, 3)
VALUES = (
    SCREEN.obs["perturbation"].astype(str).to_numpy(dtype=object)
)  # of each cell: CONTROL, A or A+B
COUNTS = SCREEN.counts.toarray().astype(np.float32)
IDS = [f"ENSG{i:011d}" for i in range(SETTINGS.n_genes)]
Cells = dict[str, Any]  # what an AnnData is made of: X, obs, var, and layers or obsm


@dataclass(frozen=True)
class Convention:
    """A way to write the screen. change: makes it of the plain one. refused: what the file alone is refused with; the settings
    that this names make the same dataset. after: changes the file that was written."""

    group: str
    name: str
    change: Callable[[Cells], object] = lambda _: None
    settings: Mapping[str, Any] = field(default_factory=dict)
    refused: str = ""
    after: Callable[[Path], object] = lambda _: None


def as_texts(values: Sequence[str]) -> np.ndarray:
    """A column as anndata can write it, which does not know the texts of pandas 3 yet."""
    return np.array([str(value) for value in values], dtype=object)


def plain() -> Cells:
    """The screen as the simulator has it."""
    index = pd.Index([f"c{i}" for i in range(SETTINGS.n_cells)], dtype=object)
    obs = pd.DataFrame({"perturbation": as_texts(VALUES)}, index=index, dtype=object)
    return {
        "X": csr_matrix(COUNTS),
        "obs": obs,
        "var": pd.DataFrame(index=pd.Index(SCREEN.genes, dtype=object)),
    }


def write(convention: Convention, path: Path) -> Path:
    """Write the screen in a convention; return the path."""
    cells = plain()
    convention.change(cells)
    anndata.AnnData(**cells).write_h5ad(path)
    convention.after(path)
    return path


def named(
    *controls: str,
    rename: Callable[[str, int], str] = lambda gene, _: gene,
    column: str = "perturbation",
) -> Any:
    """Change the values: of controls to these in turn, of others by a function of the value and of the cell's number."""

    def change(cells: Cells) -> None:
        values = [
            (controls[i % len(controls)] if controls else CONTROL)
            if value == CONTROL
            else rename(value, i)
            for i, value in enumerate(VALUES)
        ]
        cells["obs"] = pd.DataFrame(
            {column: as_texts(values)}, index=cells["obs"].index, dtype=object
        )

    return change


def joined(joint: str) -> Any:
    return named(rename=lambda value, _: value.replace("+", joint))


def each(part: Callable[[str, int], str], joint: str = "+") -> Any:
    """Change each gene of a value."""
    return named(rename=lambda value, i: joint.join(part(gene, i) for gene in value.split("+")))


def with_values(values: Any) -> Any:
    return lambda cells: cells.update(X=values)


def with_extra(values: list[str], n: int = 30) -> Any:
    """Add cells of other values, which are copies of the first."""

    def change(cells: Cells) -> None:
        more = np.arange(n)
        index = pd.Index([*cells["obs"].index, *(f"extra{i}" for i in more)], dtype=object)
        texts = [*VALUES, *(values[i % len(values)] for i in more)]
        cells["obs"] = pd.DataFrame({"perturbation": as_texts(texts)}, index=index, dtype=object)
        cells["X"] = csr_matrix(np.vstack([COUNTS, COUNTS[more]]))

    return change


def by_ids(column: str | None, ids: list[str] = IDS, *, values_too: bool = False) -> Any:
    def change(cells: Cells) -> None:
        var = pd.DataFrame(index=pd.Index(ids, dtype=object))
        if column:
            var[column] = pd.Series(list(SCREEN.genes), index=var.index, dtype=object)
        cells["var"] = var
        if values_too:
            id_of = dict(zip(SCREEN.genes, IDS, strict=True))
            each(lambda gene, _: id_of[gene])(cells)

    return change


def ids_beside(cells: Cells) -> None:
    """Symbols as the index, identifiers beside them, and perturbations by identifier."""
    cells["var"]["gene_ids"] = pd.Series(
        [f"{i}.2" for i in IDS], index=cells["var"].index, dtype=object
    )
    id_of = dict(zip(SCREEN.genes, IDS, strict=True))
    each(lambda gene, _: id_of[gene])(cells)


def without_x(path: Path) -> None:
    with h5py.File(path, "a") as file:
        del file["X"]


def layered(name: str) -> Any:
    def change(cells: Cells) -> None:
        cells["layers"] = {name: cells["X"]}
        cells["X"] = csr_matrix(np.log1p(COUNTS / COUNTS.sum(axis=1, keepdims=True) * 1e4))

    return change


def lines(cells: Cells) -> None:
    """A second cell line, whose cells are noise."""
    noise = np.random.default_rng(0).permutation(COUNTS.ravel()).reshape(COUNTS.shape)
    index = pd.Index([f"c{i}" for i in range(2 * len(VALUES))], dtype=object)
    line = ["K562"] * len(VALUES) + ["RPE1"] * len(VALUES)
    values = as_texts([*VALUES, *VALUES])
    cells["obs"] = pd.DataFrame(
        {"perturbation": values, "cell_line": as_texts(line)}, index=index, dtype=object
    )
    cells["X"] = csr_matrix(np.vstack([COUNTS, noise]))


def second_column(cells: Cells) -> None:
    """The genes of a combination in two columns."""
    parts = [(*value.split("+"), CONTROL)[:2] for value in VALUES]
    columns = {
        name: as_texts([part[i] for part in parts])
        for i, name in enumerate(("perturbation", "perturbation_2"))
    }
    cells["obs"] = pd.DataFrame(columns, index=cells["obs"].index, dtype=object)


def beside_stimuli(cells: Cells) -> None:
    """A column of what cells were treated with, which is called as that of perturbations is, and has controls."""
    stimuli = as_texts(["ctrl" if i % 2 else "IFNg" for i in range(len(VALUES))])
    columns = {"condition": stimuli, "guide": as_texts(VALUES)}
    cells["obs"] = pd.DataFrame(columns, index=cells["obs"].index, dtype=object)


TOTALS = COUNTS.sum(axis=1, keepdims=True)
CONTROLS = {
    **{
        name: (name,)
        for name in (
            "NT",
            "ctrl",
            "control",
            "NTC",
            "non_targeting",
            "Non-Targeting Control",
            "negctrl",
            "safe-targeting",
            "scramble",
            "unperturbed",
            "WT",
            "NO-TARGET",
            "AAVS1",
        )
    },
    "numbered: non-targeting_00012": [f"non-targeting_{i:05d}" for i in range(40)],
    "numbered: NegCtrl0": ("NegCtrl0", "NegCtrl10", "NegCtrl11"),
    "numbered: NonTargeting_Human_0001": [f"NonTargeting_Human_{i:04d}" for i in range(9)],
    "two words: neg_ctrl_non-targeting_00001": (
        "neg_ctrl_non-targeting_00001",
        "NT_NT",
        "siControl",
    ),
    "another hyphen: non‑targeting": ("non\u2011targeting",),
    "several kinds": ("non-targeting", "safe-targeting", "NTC", "unperturbed"),
}
GUIDES = {
    "A_+_123.45-P1P2 (Horlbeck)": each(
        lambda gene, i: f"{gene}_{'+-'[i % 2]}_{1000 + i % 2}.23-P1P2", "|"
    ),
    "A_sg2": each(lambda gene, i: f"{gene}_sg{i % 3}"),
    "A-1": each(lambda gene, i: f"{gene}-{i % 3}"),
    "sgA_1": each(lambda gene, i: f"sg{gene}_{i % 3}"),
    "p_sgA_3 (Dixit)": each(lambda gene, i: f"p_sg{gene}_{i % 3}"),
    "Ag1 (Papalexi)": each(lambda gene, i: f"{gene}g{i % 3}"),
    "A_A, A_B": each(lambda gene, i: f"{gene}_{'AB'[i % 2]}"),
    "A|g1": each(lambda gene, i: f"{gene}|g{i % 3}", "|"),
    "shA, A_KO": each(lambda gene, i: (f"sh{gene}", f"{gene}_KO")[i % 2]),
    "A_ protospacer": each(lambda gene, i: f"{gene}_{'ACGT'[i % 4] * 19}"),
}
SHARES = COUNTS / TOTALS
SCALED = {
    "counts per 10,000": SHARES * 1e4,
    "counts per million": SHARES * 1e6,
    "shares of a cell's counts": SHARES,
    "per cent of a cell's counts": SHARES * 100,
    "counts by size factors": COUNTS / (0.3 + TOTALS / TOTALS.mean()) ** 0.9,
}
LOGS = {
    "log1p of 10,000": np.log1p(SHARES * 1e4),
    "log1p of a million": np.log1p(SHARES * 1e6),
    "log1p of the median": np.log1p(SHARES * np.median(TOTALS)),
}
LOG = "--values log1p"
CONVENTIONS = [
    Convention("layout", "CSR, float32"),
    Convention("layout", "dense", with_values(COUNTS)),
    Convention("layout", "CSC", with_values(csc_matrix(COUNTS))),
    Convention("layout", "float64", with_values(csr_matrix(COUNTS.astype(np.float64)))),
    Convention("layout", "int32", with_values(csr_matrix(COUNTS.astype(np.int32)))),
    Convention(
        "layout",
        "no X, counts in a layer",
        layered("counts"),
        {"layer": "counts"},
        "--layer NAME: counts",
        without_x,
    ),
    Convention(
        "layout",
        "log1p in X, counts in a layer",
        layered("counts"),
        {"layer": "counts"},
        "--layer counts",
    ),
    Convention(
        "layout",
        "counts in a layer called raw_counts",
        layered("raw_counts"),
        {"layer": "raw_counts"},
        "--layer raw_counts",
    ),
    *(
        Convention("column", name, named(column=name))
        for name in (
            "gene",
            "target_gene",
            "condition",
            "guide_identity",
            "Perturbation",
            "pert",
            "sgRNA",
        )
    ),
    Convention(
        "column",
        "another name",
        named(column="knocked_down"),
        {"perturbation": "knocked_down"},
        "say which with --perturbation",
    ),
    Convention(
        "column",
        "a second one of genes",
        second_column,
        {"where": {"perturbation_2": CONTROL}},
        "--where perturbation_2=",
    ),
    Convention(
        "column",
        "guide beside condition (ctrl, IFNg)",
        beside_stimuli,
        {"perturbation": "guide", "across": ("condition",)},
        "--perturbation COLUMN",
    ),
    *(Convention("controls", name, named(*controls)) for name, controls in CONTROLS.items()),
    Convention(
        "controls",
        "others beside those named",
        with_extra(["control", "ctrl"]),
        {"control": ("non-targeting",)},
    ),
    Convention(
        "controls",
        "named by a pattern",
        named("mine_1", "mine_2"),
        {"control": ("mine_*",)},
        "say with --control",
    ),
    *(
        Convention("combinations", f"A{joint}B", joined(joint))
        for joint in ("+", "_", ";", ",", "|", "-", " + ", "__", "&", ":")
    ),
    Convention(
        "combinations",
        "A+ctrl",
        named("ctrl", rename=lambda value, _: value if "+" in value else f"{value}+ctrl"),
    ),
    Convention(
        "combinations",
        "NTC+A",
        named("NTC", rename=lambda value, _: value if "+" in value else f"NTC+{value}"),
    ),
    Convention(
        "combinations",
        "A_NegCtrl0__A_NegCtrl0 (Norman)",
        named(
            "NegCtrl0_NegCtrl0__NegCtrl0_NegCtrl0",
            rename=lambda value, _: "__".join(
                [value.replace("+", "_") if "+" in value else f"{value}_NegCtrl0"] * 2
            ),
        ),
    ),
    *(Convention("guides", name, change) for name, change in GUIDES.items()),
    Convention(
        "spelling",
        "as Python shows lists: ['A', 'B']",
        named(rename=lambda value, _: str(value.split("+"))),
    ),
    Convention(
        "spelling",
        "as Python shows bytes: b'A'",
        named("b'NT'", rename=lambda value, _: str(value.encode())),
    ),
    Convention("spelling", "blanks", each(lambda gene, _: f" {gene} ")),
    Convention("spelling", "no-break spaces", each(lambda gene, _: f"\u00a0{gene}")),
    Convention("spelling", "small letters", each(lambda gene, _: gene.lower())),
    Convention("missing", "nan, None and NA as texts", with_extra(["nan", "None", "NA", ""])),
    Convention("missing", "unassigned", with_extra(["unassigned", "no guide", "multiplet"])),
    Convention("gene names", "Ensembl ids, symbols in gene_name", by_ids("gene_name")),
    Convention(
        "gene names",
        "Ensembl ids with a version, symbols in feature_name",
        by_ids("feature_name", [f"{i}.4" for i in IDS]),
    ),
    Convention("gene names", "symbols, perturbations by Ensembl id", ids_beside),
    Convention(
        "gene names",
        "Ensembl ids for both, symbols in gene_symbol",
        by_ids("gene_symbol", values_too=True),
    ),
    Convention(
        "gene names",
        "symbols in a column of another name",
        by_ids("hugo"),
        {"gene_names": "hugo"},
        "--gene-names COLUMN",
    ),
    *(Convention("scale", name, with_values(csr_matrix(of))) for name, of in SCALED.items()),
    *(
        Convention("scale", name, with_values(csr_matrix(of)), {"values": "log1p"}, LOG)
        for name, of in LOGS.items()
    ),
    Convention(
        "cell lines",
        "a second line",
        lines,
        {"where": {"cell_line": "K562"}},
        "--where cell_line=K562",
    ),
]


def table() -> str:
    """The conventions as the table of docs/cells.md."""
    rows = ["| | convention | what has to be given |", "|---|---|---|"]
    rows += [f"| {one.group} | {_escape(one.name)} | {_asked(one)} |" for one in CONVENTIONS]
    return "\n".join(rows)


def _escape(text: str) -> str:
    return re.sub(r"([|*_])", r"\\\1", text.replace("  ", " "))


def _asked(one: Convention) -> str:
    given = [
        f"`--{name.replace('_', '-')} {_value(value)}`" for name, value in one.settings.items()
    ]
    return ", ".join(given)


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key}={content}" for key, content in value.items())
    return value[0] if isinstance(value, tuple) else str(value)
