"""Tables and matrices of the field are read as their README says is right, or refused with a line that says why."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from core.base.errors import InputError
from core.base.tables import open_table
from core.features.cells.anndata_file import open_cells
from core.features.cells.scales import measure_values
from core.features.cells.screen import LabelSettings, describe_cells, label_screen
from core.features.importing.external_scores import ScoreTable
from core.features.importing.files import PackFile, SpaceFile, recognise
from core.features.importing.pairs import PairTable
from core.features.importing.reader import read_path
from core.features.importing.roles import choose_roles
from core.features.importing.spaces.load import load_space
from core.features.importing.submissions import SubmissionTable
from tests.real.conftest import FIELD, needs_field

pytestmark = needs_field
KINDS = FIELD / "data"


def read_run(path: Path) -> SubmissionTable:
    table = read_path(path)
    assert isinstance(table, SubmissionTable)
    assert table.rejected == ()
    return table


@pytest.mark.parametrize(
    "name", ["scperturb_underscore", "mixed_controls", "replogle_ensembl", "horlbeck_guides"]
)
def test_perturbations_are_read_without_keep_unknown(name: str) -> None:
    found = describe_cells(KINDS / "08_keep_unknown_advice" / f"{name}.h5ad")
    assert not found.groups.unknown
    assert len(found.groups.targets) == 15
    assert all(re.fullmatch(r"G\d{3}", gene) for gene in found.groups.targets)
    assert len(found.conditions.names.multiple) == (
        4 if name in ("scperturb_underscore", "mixed_controls") else 0
    )


def test_a_matrix_stored_by_column_is_read() -> None:
    with open_cells(KINDS / "09_csc_advice" / "p_csc.h5ad") as file:
        assert sum(block.shape[0] for _, block in file.blocks()) == file.n_cells


def test_small_negatives_are_read_as_0_if_that_is_asked_for() -> None:
    with open_cells(KINDS / "10_small_negatives" / "p_smallneg.h5ad") as file:
        genes = np.arange(file.n_genes)
        with pytest.raises(InputError, match=r"log1p.*--clip-negative"):
            measure_values(file, genes, None)
        assert measure_values(file, genes, None, clip_negative=True).negative


@pytest.mark.parametrize(
    "name", ["11_embedding_without_header/noheader.csv", "11_embedding_without_header/noheader.tsv"]
)
def test_a_space_without_a_header_keeps_its_first_gene(name: str) -> None:
    space = load_space(KINDS / name, "x")
    assert (len(space.symbols), space.columns, space.symbols[0]) == (12, 5, "STAT1")


def test_a_column_of_another_scale_is_no_dimension() -> None:
    space = load_space(KINDS / "12_extra_numeric_column" / "entrez_col.csv", "x")
    assert (len(space.symbols), space.columns) == (12, 5)
    assert "n_cells" in space.notes[0]


@pytest.mark.parametrize(("name", "words"), [("transposed", "transposed"), ("entrez", "Entrez")])
def test_what_names_no_genes_is_no_space(name: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        load_space(KINDS / "13_transposed_or_ids" / f"{name}.csv", "x")


def test_symbols_that_excel_made_are_named() -> None:
    space = load_space(KINDS / "13_transposed_or_ids" / "excel.csv", "x")
    assert "1-Mar" not in space.symbols
    assert "1-Mar" in space.notes[0]
    table = recognise(KINDS / "13_transposed_or_ids" / "b4-de.csv")
    assert isinstance(table, PairTable)
    assert (len(table.pairs), [row.reason for row in table.rejected]) == (
        26,
        ["no gene symbol"] * 4,
    )


@pytest.mark.parametrize("name", ["a9", "b3b"])
def test_blanks_and_capitals_do_not_matter(name: str) -> None:
    table = recognise(KINDS / "14_blanks_in_symbols" / f"{name}-de.csv")
    assert isinstance(table, PairTable)
    assert (len(table.pairs), table.rejected) == (30, ())
    assert {pair.split for pair in table.pairs} == {"train", "val", "test"}
    assert all(
        symbol == symbol.strip() for pair in table.pairs for symbol in (pair.pert, pair.gene)
    )


def test_p_values_are_turned_round_and_an_index_is_no_score() -> None:
    table = recognise(KINDS / "15_p_values_as_scores" / "s_p.csv")
    assert isinstance(table, ScoreTable)
    assert (table.columns.keys(), table.turned.keys()) == ({"p_value"}, {"p_value"})
    indexed = recognise(KINDS / "15_p_values_as_scores" / "s_idx.csv")
    assert isinstance(indexed, ScoreTable)
    assert indexed.columns.keys() == {"score"}
    assert "without a name" in indexed.notes[0]


def test_cell_lines_are_asked_about() -> None:
    with pytest.raises(InputError, match=r"K562 .* RPE1 .*--where cell_line=K562"):
        label_screen(
            KINDS / "16_two_cell_lines" / "two_lines_unbalanced.h5ad",
            LabelSettings(),
            lambda _: None,
        )


MISLEADING = KINDS / "17_formats_with_a_misleading_line"
REFUSED = {
    "9606.protein.links.txt": "STRING",
    "fake.xlsx": "Excel",
    "go.obo": "ontology",
    "nan.csv": "Row #11: CSV conversion error to double: invalid value ''",
    "norman_simulation_1_0.75.pkl": "GEARS",
    "prediction.prep.vcc": "archive",
}
READ = {
    "Reactome.gmt": 8,
    "a6-de.txt": 30,
    "c1-de.csv.gz": 30,
    "goa.gaf": 1,
    "pq-de.parquet": 30,
    "tr_extra_semicolon.csv": 30,
}


@pytest.mark.parametrize("name", REFUSED)
def test_formats_are_named(name: str) -> None:
    with pytest.raises(InputError, match=REFUSED[name]):
        recognise(MISLEADING / name)


@pytest.mark.parametrize(
    "name", [*READ, "GenePT_gene_embedding_ada_text.pickle", "listcol.parquet"]
)
def test_formats_are_read(name: str) -> None:
    content = recognise(MISLEADING / name)
    if isinstance(content, SpaceFile):
        assert (len(content.space.symbols), content.space.columns) == (12, 5)
    elif isinstance(content, PackFile):
        assert len(content.pack) == READ[name]
    else:
        assert isinstance(content, PairTable)
        assert (len(content.pairs), content.rejected) == (READ[name], ())


def test_three_probabilities_are_one_run() -> None:
    rows = read_run(KINDS / "b06_p_down_read_as_up" / "three_classes.csv").rows
    assert len(rows) == 1200
    assert all(
        row.prediction.prediction_up + row.prediction.prediction_down <= 1 + 1e-6 for row in rows
    )


@pytest.mark.parametrize(
    ("name", "kind"),
    [("log2fc_pert_by_gene", "perturbations by genes"), ("counts_gene_by_cell", "genes by cells")],
)
def test_matrices_are_said_to_be_matrices(name: str, kind: str) -> None:
    path = KINDS / "b07_matrices_taken_for_gene_spaces" / f"{name}.csv"
    for read in (recognise, lambda path: load_space(path, "x")):
        with pytest.raises(InputError, match=f"a matrix of {kind}"):
            read(path)
    with open_table(path) as table, pytest.raises(InputError, match=f"a matrix of {kind}"):
        choose_roles(table)


def test_entrez_numbers_are_translated() -> None:
    path = KINDS / "b09_entrez_numbers_as_symbols" / "entrez.h5ad"
    found = describe_cells(path)
    assert (found.gene_names.column, found.groups.unknown, len(found.groups.targets)) == (
        "gene_name",
        (),
        10,
    )
    assert not any(gene.isdecimal() for gene in (*found.groups.targets, *found.gene_names.names))
    with pytest.raises(InputError, match="--gene-names gene_name"):
        describe_cells(path, LabelSettings(gene_names="entrez"))


def test_gene_sets_are_read_or_named() -> None:
    content = recognise(KINDS / "b13_gene_sets" / "regulons.gmt")
    assert (content.kind, isinstance(content, PackFile)) == ("pathways", True)
    with pytest.raises(InputError, match="Entrez"):
        recognise(KINDS / "b13_gene_sets" / "entrez.gmt")


VECTORS = KINDS / "b16_gene_vectors_with_a_misleading_line"


@pytest.mark.parametrize(
    "name",
    [
        "comment_header.csv",
        "gene_embeddings.json",
        "r_write_table.tsv",
        "sym_then_ens.csv",
        "utf16.csv",
    ],
)
def test_gene_vectors_are_read(name: str) -> None:
    space = load_space(VECTORS / name, "x")
    assert (len(space.symbols), space.columns, space.symbols[0]) == (160, 16, "NCBP2")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("Homo_sapiens.GRCh38.gene_symbol_to_embedding_ESM2.pt", "PyTorch"),
        ("gene_embedding.h5ad", "vectors of genes are read from"),
        ("genes_embeddings.pkl", r"numpy.*array\.tolist\(\)"),
        ("lincs_1.3.gct", "GCT"),
    ],
)
def test_gene_vectors_that_are_not_read_are_named(name: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        recognise(VECTORS / name)


@pytest.mark.parametrize(
    ("name", "is_reasoned"),
    [
        ("content_reasoning.csv", True),
        ("kit_responses_cache.json", False),
        ("plain_id_response.jsonl", False),
        ("pred_only.csv", True),
    ],
)
def test_replies_are_read_as_an_own_run(name: str, is_reasoned: bool) -> None:
    rows = read_run(FIELD / "llm" / "answers_with_reasoning_csv" / name).rows
    answers = [(row.prediction.prediction_up, row.prediction.prediction_down) for row in rows]
    assert answers == [(1, 0), (0, 0), (0, 1), (0, 0), (0, 1)]
    assert any(event.kind == "thought" for event in rows[0].events) == is_reasoned


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_reasoning_model_and_tokens_stay(kind: str) -> None:
    table = read_run(
        FIELD / "llm" / "json_rows_lose_their_reasoning" / f"numbers_and_reasoning.{kind}"
    )
    assert table.model_name == "gpt-oss-120b"
    assert [(row.prediction.tokens, len(row.events)) for row in table.rows] == [(123, 1)] * 5


def test_dashboards_bring_replies_and_no_scores() -> None:
    for name in ("langfuse_traces_ui", "langfuse_traces_ui_pairid"):
        table = read_run(FIELD / "llm" / "dashboard_columns_become_scores" / f"{name}.csv")
        assert (table.kind, len(table.rows)) == ("submission", 5)
        assert any("latency" in note and "totalCost" in note for note in table.notes)


def test_the_kits_cache_is_a_run_with_traces() -> None:
    rows = read_run(FIELD / "challenge" / "kit_cache_unread" / "responses_cache.json").rows
    assert (len(rows), all(row.events for row in rows)) == (40, True)


@pytest.mark.parametrize("name", ["check_semicolon/semicolon.csv", "check_utf16/utf16.csv"])
def test_a_submission_in_another_form_is_read(name: str) -> None:
    assert len(read_run(FIELD / "llm" / name).rows) == 1813


@pytest.mark.soak
def test_answers_that_differ_from_their_numbers_are_named() -> None:
    table = read_run(FIELD / "llm" / "published_letters_differ" / "a.zip")
    assert "11 (" in table.remark
    assert "Tnfrsf1b_Arhgap25 seed 42" in table.remark
