"""What files are: those that are read by another command or not at all are named, and what publishers write is read."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tarfile
import zipfile
from pathlib import Path

import h5py
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

from core.base.errors import InputError, UnknownFormat, UnsafeFile
from core.features.importing.external_scores import ScoreTable
from core.features.importing.files import PackFile, recognise
from core.features.importing.pairs import PairTable

ROWS = "pert,gene,label,split\nStat1,Irf1,1,train\nStat1,Myd88,0,val\nIrf1,Tlr4,1,test\n"
GMT = "HALLMARK_X\thttp://x\tSTAT1\tIRF1\nREACTOME Y\thttp://y\tIRF1\tMYD88,1.0\n"
GAF = "!gaf-version: 2.2\n" + "\n".join(
    "\t".join(["UniProtKB", f"P{i}", gene, qualifier, term, *["x"] * 10])
    for i, (gene, qualifier, term) in enumerate(
        [
            ("STAT1", "involved_in", "GO:0006955"),
            ("STAT1", "NOT|involved_in", "GO:1"),
            ("IRF1", "enables", "GO:0003677"),
        ]
    )
)
LINKS = "protein1 protein2 combined_score\n9606.P1 9606.P2 900\n9606.P2 9606.P3 150\n9606.P1 9606.P9 400\n"
INFO = "#string_protein_id\tpreferred_name\tsize\n9606.P1\tSTAT1\t1\n9606.P2\tIRF1\t1\n9606.P3\tMYD88\t1\n"


def hdf5(path: Path, *groups: str) -> None:
    with h5py.File(path, "w") as file:
        for group in groups:
            file.create_group(group)


def zipped(path: Path, *names: str) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        for name in names:
            archive.writestr(name, "<x/>")


def tar(path: Path, **members: bytes) -> None:
    with tarfile.open(path, "w") as archive:
        for name, content in members.items():
            info = tarfile.TarInfo(name.replace("__", "."))
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))


OTHERS = {
    "cells.h5ad": (
        lambda path: hdf5(path, "obs", "var"),
        "AnnData .* `cells labels FILE --name D`",
    ),
    "rna.h5mu": (lambda path: hdf5(path, "mod", "obs", "var2"), "MuData"),
    "x.loom": (lambda path: hdf5(path, "row_attrs", "col_attrs", "matrix"), "loom"),
    "filtered.h5": (
        lambda path: hdf5(path, "matrix/barcodes", "matrix/indptr"),
        "a matrix of 10x Genomics.*scanpy",
    ),
    "odd.h5": (lambda path: hdf5(path, "weights"), "HDF5 with weights in it"),
    "table.xlsx": (
        lambda path: zipped(path, "[Content_Types].xml", "xl/workbook.xml"),
        "damaged workbook",
    ),
    "sheet.xlsx": (
        lambda path: zipped(path, "[Content_Types].xml", "xl/worksheets/sheet1.xml"),
        "damaged workbook",
    ),
    "x.tar": (lambda path: tar(path, a__csv=b"1"), "an archive"),
    "matrix.mtx": (
        lambda path: path.write_text("%%MatrixMarket matrix coordinate\n1 1 1\n"),
        "a matrix of 10x Genomics",
    ),
    "matrix.mtx.gz": (
        lambda path: path.write_bytes(gzip.compress(b"%%MatrixMarket matrix\n")),
        "a matrix of 10x Genomics",
    ),
    "go.obo": (lambda path: path.write_text("format-version: 1.2\n[Term]\nid: GO:1\n"), "ontology"),
    "x.fa": (lambda path: path.write_text(">STAT1\nACGT\n"), "FASTA"),
    "x.rds": (lambda path: path.write_bytes(gzip.compress(b"X\n\0\0\0\x03")), "R data"),
    "lfs.csv": (
        lambda path: path.write_text("version https://git-lfs.github.com/spec/v1\noid sha256:aa\n"),
        "Git LFS",
    ),
    "page.csv": (lambda path: path.write_text("<!DOCTYPE html>\n<html></html>\n"), "a web page"),
    "x.gct": (lambda path: path.write_text("#1.2\n2\t2\nName\tDescription\ta\n"), "GCT"),
    "x.feather": (lambda path: pd.DataFrame({"a": [1]}).to_feather(path), "Feather"),
    "x.csv.xz": (lambda path: path.write_bytes(lzma.compress(ROWS.encode())), "compressed with xz"),
    "twice-de.csv": (
        lambda path: path.write_text(ROWS.replace("pert,gene", "PERT,Pert")),
        "PERT, Pert may each be pert",
    ),
    "split.pkl": (
        lambda path: path.write_bytes(b"\x80\x04}\x94\x8c\x05train\x94]\x94s."),
        "a split of conditions, as saved by GEARS",
    ),
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_formats_are_named(tmp_path: Path, name: str) -> None:
    write, words = OTHERS[name]
    write(tmp_path / name)
    with pytest.raises(
        InputError if "damaged" in words or "may each" in words else UnknownFormat, match=words
    ):
        recognise(tmp_path / name)


def test_folders_of_matrices_are_named(tmp_path: Path) -> None:
    for folder, file, words in (
        ("x.zarr", ".zgroup", "cells as Zarr"),
        ("filtered", "matrix.mtx.gz", "a matrix of 10x Genomics"),
    ):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / file).write_text("{}")
        with pytest.raises(UnknownFormat, match=words):
            recognise(tmp_path / folder)


def test_a_file_of_cells_that_is_hostile_is_refused_by_its_walk(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "x.h5ad", "w") as file:
        file["obs"] = h5py.ExternalLink("/etc/passwd", "/x")
    with pytest.raises(UnsafeFile, match="a link to another file"):
        recognise(tmp_path / "x.h5ad")


def zstd(content: bytes) -> bytes:
    return pa.Codec("zstd").compress(content, asbytes=True)


PACK = {"gz": gzip.compress, "bz2": bz2.compress, "zst": zstd}


@pytest.mark.parametrize(
    "suffix", ["csv", "txt", "tsv", "semicolon.csv", "parquet", "csv.gz", "csv.bz2", "csv.zst"]
)
def test_labels_in_every_form_of_a_table(tmp_path: Path, suffix: str) -> None:
    name = "k562-de." + suffix.removeprefix("semicolon.")
    path, frame = tmp_path / name, pd.read_csv(io.StringIO(ROWS))
    if suffix == "parquet":
        frame.to_parquet(path, index=False)
    elif suffix.split(".")[-1] in ("gz", "bz2", "zst"):
        path.write_bytes(PACK[suffix.split(".")[-1]](ROWS.encode()))
    else:
        frame.to_csv(path, index=False, sep={"csv": ",", "semicolon.csv": ";"}.get(suffix, "\t"))
    found = recognise(path)
    assert isinstance(found, PairTable)
    assert [(pair.pair_id, pair.split) for pair in found.pairs] == [
        ("Stat1_Irf1", "train"),
        ("Stat1_Myd88", "val"),
        ("Irf1_Tlr4", "test"),
    ]
    assert (found.cell_line, found.rejected) == ("k562", ())


@pytest.mark.soak
def test_a_packed_table_that_unpacks_to_too_much_is_refused(tmp_path: Path) -> None:
    (tmp_path / "k562-de.csv.gz").write_bytes(gzip.compress(ROWS.encode() + b"," * (80 << 20)))
    with pytest.raises(UnsafeFile, match="unpacks to more than"):
        recognise(tmp_path / "k562-de.csv.gz")


@pytest.mark.parametrize(("one", "zero"), [("1.0", "0.0"), ("True", "False"), ("TRUE", "FALSE")])
def test_labels_as_pandas_and_spreadsheets_write_them(tmp_path: Path, one: str, zero: str) -> None:
    (tmp_path / "k562-de.csv").write_text(
        ROWS.replace(",1,", f",{one},").replace(",0,", f",{zero},")
    )
    found = recognise(tmp_path / "k562-de.csv")
    assert isinstance(found, PairTable)
    assert [str(pair.label) for pair in found.pairs] == ["de", "none", "de"]
    assert found.rejected == ()


def test_lists_in_parquet_are_no_table(tmp_path: Path) -> None:
    parquet.write_table(
        pa.table({"pert": ["A"], "gene": ["B"], "label": [[1]], "split": ["train"]}),
        tmp_path / "x-de.parquet",
    )
    with pytest.raises(InputError, match="column label of type list"):
        recognise(tmp_path / "x-de.parquet")


@pytest.mark.parametrize("suffix", [".gmt", ".gmt.gz", ".txt"])
def test_gene_sets_are_pathways(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"sets{suffix}"
    path.write_bytes(gzip.compress(GMT.encode()) if suffix.endswith("gz") else GMT.encode())
    found = recognise(path)
    assert isinstance(found, PackFile)
    assert found.pack.entries == {
        "STAT1": ("HALLMARK_X",),
        "IRF1": ("HALLMARK_X", "REACTOME Y"),
        "MYD88": ("REACTOME Y",),
    }


def test_annotations_are_pathways_without_those_that_are_denied(tmp_path: Path) -> None:
    (tmp_path / "goa.gaf").write_text(GAF)
    found = recognise(tmp_path / "goa.gaf")
    assert isinstance(found, PackFile)
    assert found.pack.entries == {"STAT1": ("GO:0006955",), "IRF1": ("GO:0003677",)}


def test_links_are_a_network_beside_the_names_of_their_proteins(tmp_path: Path) -> None:
    links = tmp_path / "9606.protein.links.v12.0.txt"
    links.write_text(LINKS)
    with pytest.raises(InputError, match=r"put 9606.protein.info…txt.gz of that version beside it"):
        recognise(links)
    (tmp_path / "9606.protein.info.v12.0.txt").write_text(INFO)
    found = recognise(links)
    assert isinstance(found, PackFile)
    assert [tuple(edge) for edge in found.pack.entries] == [
        ("IRF1", "STAT1", 900),
        ("IRF1", "MYD88", 150),
    ]


@pytest.mark.parametrize("content", ["A\thttp://x\tB\nonly\n", "A\thttp://x\tB\nC\thttp://y\n"])
def test_gene_sets_that_break_off_name_the_line(tmp_path: Path, content: str) -> None:
    (tmp_path / "x.gmt").write_text(content)
    with pytest.raises(InputError, match=r"x.gmt, line 2: . columns"):
        recognise(tmp_path / "x.gmt")


def test_scores_read_names_as_labels_do(tmp_path: Path) -> None:
    text = "pert;gene;score\n Stat1+ctrl;Irf1 ;1\nctrl;Irf1;2\nA+B;Irf1;3\n1-Mar;Irf1;4\n"
    (tmp_path / "s.csv").write_text(text)
    found = recognise(tmp_path / "s.csv")
    assert isinstance(found, ScoreTable)
    assert found.ids == ("Stat1_Irf1",)
    assert [(bad.line, bad.reason) for bad in found.rejected] == [
        (3, "no single gene"),
        (4, "no single gene"),
        (5, "no gene symbol"),
    ]


def test_a_number_that_is_missing_is_named(tmp_path: Path) -> None:
    (tmp_path / "space.csv").write_text("gene,d0,d1\nSTAT1,0.1,0.2\nIRF1,,0.4\n")
    with pytest.raises(InputError, match=r"Row #3: .* invalid value ''"):
        recognise(tmp_path / "space.csv")
