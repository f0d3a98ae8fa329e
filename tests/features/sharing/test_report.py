"""A report says what the app says, in the same bytes each time, and shows all text as text."""

from __future__ import annotations

import html
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pandas as pd
import pytest

from core.base.errors import InputError, NotFound
from core.base.records import from_json, to_json
from core.base.texts import number_text
from core.features.importing import imported_rows
from core.features.scores.slices import ORDERS, describe_slice
from core.features.sharing.report.build import make_sections
from core.features.sharing.report.document import data, element, table
from core.features.sharing.report.material import Material, load_material
from core.features.sharing.report.question import MOST_FIGURES
from core.features.sharing.report.selection import PARTS, ReportSelection, select
from core.plots.printed import CaptionedFigure
from core.runs.workspace import Workspace
from core.scoring.sentences import interval_text
from core.stats.intervals import Interval
from core.store import traces
from tests.commands import core_json
from tests.features.sharing.built import build_report

LABELLED, COLLAPSED, TEST = (
    "simulated debate",
    "simulated collapsed debate",
    "simulated debate test",
)
RUNS = (LABELLED, COLLAPSED, TEST)


def material_of(workspace: Workspace, selection: ReportSelection) -> Material:
    with workspace.store.read() as db:
        return load_material(db, selection)


@pytest.fixture(scope="module")
def selection(little_demo: Workspace) -> ReportSelection:
    with little_demo.store.read() as db:
        rows = [
            key
            for run in (LABELLED, TEST)
            for (key,) in db.execute(
                "SELECT q.pair_id FROM prediction q JOIN run r ON r.id = q.run WHERE r.name = ? ORDER BY 1 LIMIT 1",
                [run],
            ).fetchall()
        ]
        return select(db, RUNS, [(COLLAPSED, LABELLED)], rows)


@pytest.fixture(scope="module")
def material(little_demo: Workspace, selection: ReportSelection) -> Material:
    return material_of(little_demo, selection)


@pytest.fixture(scope="module")
def report(little_demo: Workspace, selection: ReportSelection) -> str:
    return build_report(little_demo, "ours", selection).content.decode()


class Words(HTMLParser):
    """The text of a page, without its scripts and styles; and what its elements would load."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.words, self.loads, self.hidden = [], [], False
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.hidden = tag in ("script", "style")
        self.loads += [
            f"{tag} {name}={value}"
            for name, value in attrs
            if name in ("src", "srcset", "action", "data")
        ]
        self.loads += [
            f"{tag} href={value}"
            for name, value in attrs
            if name == "href" and not str(value).startswith("#")
        ]
        assert not [name for name, _ in attrs if name.startswith("on")]

    def handle_endtag(self, _: str) -> None:
        self.hidden = False

    def handle_data(self, data: str) -> None:
        if not self.hidden:
            self.words.append(data)


@pytest.mark.soak
def test_every_score_is_what_the_command_prints(little_demo: Workspace, report: str) -> None:
    text = " ".join(Words(report).words)
    for run in (LABELLED, COLLAPSED):
        printed = core_json(little_demo, "score", run)
        for part in ("de", "dir", "mean"):
            shown = printed[part]
            said = interval_text(
                Interval(shown["estimate"], shown["low"], shown["high"], shown["se"], 1, "row", "")
            )
            assert said in text, (run, part)
    compared = core_json(little_demo, "compare", COLLAPSED, LABELLED)
    mean = compared["delta_mean"]
    assert (
        interval_text(
            Interval(mean["estimate"], mean["low"], mean["high"], 0, 1, "row", ""), signed=True
        )
        in text
    )
    assert number_text(compared["p_gt_0"], ".2f") in text
    audited = core_json(little_demo, "audit", "debate", COLLAPSED)
    answers = sum(role["answers"] for role in audited["roles"].values())
    assert f"{answers:,} of {sum(role['n'] for role in audited['roles'].values()):,} briefs" in text


@pytest.mark.soak
def test_figures_hold_the_numbers_of_the_commands(little_demo: Workspace) -> None:
    place = little_demo.settings.workspace
    controls = {each["name"]: each for each in core_json(place, "controls", LABELLED)["controls"]}
    with little_demo.store.read() as db:
        alone = {run: material_of(little_demo, select(db, [run])) for run in (LABELLED, COLLAPSED)}
    baselines = next(
        one
        for one in PARTS["baselines"].make(little_demo, alone[LABELLED])
        if one.title.startswith("DE")
    )
    drawn = baselines.table.set_index("name")["estimate"]
    assert drawn["count-only"] == pytest.approx(controls["count-only"]["de"], abs=1e-12)
    slices = {
        each["name"]: each
        for each in core_json(place, "score", LABELLED, "--by", "gene's rows")["slices"]
    }
    found = PARTS["slices"].make(little_demo, alone[LABELLED])[0].table.set_index("slice")
    shown = {
        name: describe_slice("gene's rows", name)
        for name in ORDERS["gene's rows"]
        if name in slices
    }
    assert list(found.index) == [*shown.values()]  # in their own order
    for name, part in slices.items():
        assert found.loc[shown[name], "n"] == part["n"]
        if part["mean"]:
            assert found.loc[shown[name], "estimate"] == pytest.approx(
                part["mean"]["estimate"], abs=1e-12
            )
            assert found.loc[shown[name], "cost"] == pytest.approx(part["cost"], abs=1e-12)
    means = PARTS["macro_scores"].make(little_demo, alone[LABELLED])[0].table
    assert {"name", "estimate", "low", "high", "n"} < set(means.columns)
    assert means["estimate"].iloc[0] == pytest.approx(
        core_json(place, "score", LABELLED)["de"]["estimate"], abs=1e-12
    )
    lengths = PARTS["brief_lengths"].make(little_demo, alone[COLLAPSED])[0].table
    roles = core_json(place, "audit", "debate", COLLAPSED)["roles"]
    assert dict(zip(lengths["role"], lengths["a letter"].astype(int), strict=True)) == {
        role: each["bare"] for role, each in roles.items()
    }


@pytest.mark.few(3)
@pytest.mark.parametrize("kind", PARTS)
def test_every_figure_says_what_it_is_of(
    little_demo: Workspace, material: Material, kind: str
) -> None:
    figures = PARTS[kind].make(little_demo, material)
    assert figures
    for one in figures:
        assert one.title
        assert one.sentence.endswith(".")
        if one.chart is not None:
            assert len(one.table)
            assert re.search(r"\d", one.caption)
            assert re.search("interval|errors?", one.caption), one.caption
            assert (
                one.subject in one.caption or " and " in one.subject or " against " in one.subject
            ), one.caption


@pytest.mark.soak
def test_a_run_without_labels_has_sentences_instead_of_empty_axes(little_demo: Workspace) -> None:
    with little_demo.store.read() as db:
        alone = select(db, [TEST])
    sections = make_sections(little_demo, material_of(little_demo, alone), alone)
    drawn = {
        kind for kind, figures in sections.items() for _, one in figures if one.chart is not None
    }
    assert drawn == {"labels", "brief_lengths"}  # of the dataset, and of what was said
    assert all(
        "o labels here" in figures[0][1].sentence
        for kind, figures in sections.items()
        if kind in ("ladder", "slices")
    )
    text = " ".join(Words(build_report(little_demo, "x", alone).content.decode()).words)
    assert "no labels" in text
    assert not re.search(r"\bnan\b", text)


@pytest.mark.soak
def test_the_same_input_gives_the_same_bytes(
    little_demo: Workspace, selection: ReportSelection, report: str
) -> None:
    again = build_report(
        little_demo, "ours", from_json(ReportSelection, to_json(selection), "report")
    )
    assert again.content.decode() == report
    slides = [build_report(little_demo, "ours", selection, slides=True).content for _ in range(2)]
    assert slides[0] == slides[1]
    assert again.rows == 2
    assert (
        again.figures
        == report.count('class="chart"')
        > slides[0].count(b'class="chart"')
        == MOST_FIGURES
    )


@pytest.mark.soak
def test_a_report_loads_nothing_and_names_its_sources(
    little_demo: Workspace, selection: ReportSelection, report: str
) -> None:
    page = Words(report)
    assert page.loads == []
    policy = html.unescape(report[:1000]).partition('content="')[2].partition('"')[0]
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy.partition("style-src")[0]
    text = " ".join(page.words)
    assert all(run in text for run in RUNS)
    assert all(run in text for run in selection.runs)  # ids
    with little_demo.store.read() as db:
        for (sha256,) in db.execute("SELECT sha256 FROM import WHERE run IS NULL").fetchall():
            assert sha256 in text
        events = traces.of_row(db, selection.runs[0], selection.rows[0])
    brief = next(event["content"] for event in events if event["kind"] == "brief")
    assert brief.split("\n")[0] in text


def test_what_cannot_be_shown_is_refused(little_demo: Workspace) -> None:
    with little_demo.store.read() as db:
        for arguments, words in (
            (([],), "got no run"),
            (([LABELLED], [], ["Pz_Gz"]), "1 of 1 rows are in none of the chosen runs"),
            (([LABELLED], [[LABELLED]]), "expected two runs"),
        ):
            with pytest.raises(InputError, match=words):
                select(db, *arguments)
        with pytest.raises(NotFound, match="figure 'pie'"):
            select(db, [LABELLED], figures=["pie"])
        with pytest.raises(NotFound, match="run 'nobody'"):
            select(db, ["nobody"])
    with pytest.raises(InputError, match="cannot be read"):
        from_json(ReportSelection, {"runs": 3}, "report")
    assert PARTS["ladder"].name == "ladder"


def test_text_stays_text() -> None:
    hostile = '</script><img src=x onerror="alert(1)">'
    assert str(element("p", hostile, title=hostile)).count("<") == 2
    assert (
        "<"
        not in data("x", {hostile: hostile})[
            len('<script type="application/json" id="x">') : -len("</script>")
        ]
    )
    assert json.loads(re.sub("<.*?>", "", data("x", [hostile]))) == [hostile]
    shown = table(pd.DataFrame({hostile: [hostile, "plain\x00"]}))
    assert "<img" not in shown
    assert "plain�" in shown


def test_tables_line_up_numbers_and_say_what_is_left_out() -> None:
    shown = table(
        pd.DataFrame(
            {"n": range(1000), "share": [0.5] * 1000, "cost": [-0.25] * 1000, "run": ["a"] * 1000}
        )
    )
    assert shown.count("<tr>") == 201  # and the head
    assert "The first 200 of 1,000 lines" in shown
    assert '<td class="number">0.5000</td><td class="number">−0.2500</td><td>a</td>' in shown
    assert '<td class="number">999</td>' not in shown
    assert "–" in table(pd.DataFrame({"x": [float("nan")]}))


@pytest.mark.soak
def test_a_run_that_was_deleted_is_named(small_workspace: Workspace, tmp_path: Path) -> None:
    del tmp_path
    with small_workspace.store.read() as db:
        found = select(db, ["debate"], rows=["Pa_Gb"])
    built = build_report(small_workspace, "x", found)
    text = " ".join(Words(built.content.decode()).words)
    assert "3 of 4 advocates argued" in text
    assert "against its own side" in text
    assert "This file has no dossier" in text
    imported_rows.undo(small_workspace, "debate.csv")
    with pytest.raises(NotFound, match="not in this workspace"):
        build_report(small_workspace, "x", found)


def test_a_figure_may_be_a_sentence() -> None:
    assert CaptionedFigure("title", "run", "Nothing to draw.").chart is None
