from __future__ import annotations

import importlib
from dataclasses import replace
from pathlib import Path

import pytest

from core.base.errors import NotFound
from core.base.types import Evidence
from core.evidence import tools as tool_folder
from core.evidence.label_view import all_training
from core.evidence.packs import PACK_NAMES, Packs
from core.evidence.registry import TOOLS, load_tools, packs_read_by, tool_file
from tests.evidence.world import PACKS, PAIRS, TEST, TRAINING, gathered, pair, run

VIEW = all_training(PAIRS)


def test_every_tool_stands_in_a_file_of_its_name() -> None:
    folder = Path(tool_folder.__path__[0])
    with_a_tool = {
        file.stem for file in folder.glob("*.py") if "\nTOOL = Tool(" in file.read_text("utf-8")
    }
    assert set(TOOLS) == with_a_tool
    assert {tool_file(name) for name in TOOLS} == {folder / f"{name}.py" for name in with_a_tool}
    assert {"gene_info", "gene_class", "base_rates", "train_lookup"} < set(TOOLS)


def test_labels_are_seen_by_three_tools() -> None:
    assert {name for name, tool in TOOLS.items() if tool.sees_labels} == {
        "base_rates",
        "pathway_neighbours",
        "train_lookup",
    }


def test_descriptions_are_one_line() -> None:
    for tool in TOOLS.values():
        assert 10 < len(tool.description) <= 100
        assert "\n" not in tool.description


def answers(name: str, packs: Packs) -> list[Evidence]:
    """What a tool says about every pair of the small world."""
    return [item for each in PAIRS for item in gathered(each, packs, VIEW, [name])]


@pytest.mark.parametrize("name", TOOLS)
def test_a_tool_reads_the_packs_that_it_names_and_no_other(name: str) -> None:
    reads = TOOLS[name].reads
    of_these = {pack: PACKS.sources[pack] for pack in reads}
    alone = Packs(**{pack: getattr(PACKS, pack) for pack in reads}, sources=of_these)
    assert answers(name, alone) == answers(name, PACKS)
    for pack in reads:
        assert answers(name, replace(PACKS, **{pack: None})) != answers(name, PACKS)


def test_the_packs_of_several_tools_stand_once_and_in_order() -> None:
    assert packs_read_by(
        [TOOLS["regulators"], TOOLS["gene_info"], TOOLS["gene_info"], TOOLS["train_lookup"]]
    ) == (
        "descriptions",
        "orthologs",
        "signs",
    )
    assert packs_read_by([]) == ()
    # No tool reads signalling: the features of a graph do.
    assert packs_read_by(TOOLS.values()) == tuple(
        name for name in PACK_NAMES if name != "signalling"
    )


def test_a_new_file_is_a_new_tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "some_room"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "helper.py").write_text("TOOLS = 1\n")
    (folder / "length.py").write_text(
        "from core.evidence.tool import Answer, Tool\n"
        "TOOL = Tool('length', 'How long a symbol is.', ('gene',), lambda query: Answer('ok', '', {'n': len(query.symbol)}))\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    tools = load_tools(importlib.import_module("some_room"))
    assert list(tools) == ["length"]
    assert run(tools["length"], None, "Il6", PACKS, VIEW).body == {"n": 3}


def test_a_pair_is_asked_about_by_each_of_its_symbols_and_of_the_literature_as_a_pair() -> None:
    found = gathered(
        TRAINING[0],
        PACKS,
        VIEW,
        ["train_lookup", "gene_info", "base_rates", "lps_response", "literature"],
    )
    assert [(item.tool, item.key.removesuffix(f" @ {VIEW.name}")) for item in found] == [
        ("train_lookup", "Stat1|*"),
        ("train_lookup", "*|Cxcl10"),
        ("gene_info", "Stat1"),
        ("gene_info", "Cxcl10"),
        ("base_rates", "all rows in view"),
        ("lps_response", "Cxcl10"),
        ("literature", "Stat1|Cxcl10"),
    ]


def test_an_answer_stands_there_once() -> None:
    assert len(gathered(pair("Stat1_Stat1", None), PACKS, VIEW, ["gene_info", "gene_info"])) == 1


def test_an_unknown_tool_is_not_found() -> None:
    with pytest.raises(
        NotFound, match="evidence tool 'oracle': not known, expected one of base_rates, gene_class"
    ):
        gathered(TEST, PACKS, VIEW, ["base_rates", "oracle"])
