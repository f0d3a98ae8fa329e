"""Texts of models and papers as Markdown that can do no harm."""

from __future__ import annotations

import pytest

from core.features.reading.rows.marked_text import Marks, to_lines, to_markdown
from core.runs.workspace import Workspace
from core.ui import links
from tests.ui.conftest import OpenTab, Visit, settle
from tests.ui.serving import serving

PLAIN = Marks()
PDIA6 = "./gene?dataset=d&name=Pdia6"
OF_PAIR = Marks(pages={"SLC35B1": "./perturbation?dataset=d&name=Slc35b1", "PDIA6": PDIA6})


@pytest.mark.parametrize(
    ("text", "markdown"),
    [
        ("**Pdia6** is *not* up", "**Pdia6** is *not* up"),
        ("# Why\nIt is.", "**Why**\n\nIt is\\."),
        ("one\ntwo\n\nthree", "one\\\ntwo\n\nthree"),
        ("So\n- a\n  - b\n2) c", "So\n\n- a\n  - b\n2) c"),
        ("2 * 3 * 4 **", "2 \\* 3 \\* 4 \\*\\*"),
        ("<prob>18</prob>", ":gray[probability given:] 18"),
        ("so <answer> B</answer>.", "so :gray[answer given:] B\\."),
        ("<prob></prob>", ":gray[probability given:] –"),
        ("<think>hm</think>", ":gray[thinking:]hm:gray[end of thinking]"),
    ],
)
def test_marks_and_tags_are_shown_as_what_they_mean(text: str, markdown: str) -> None:
    assert to_markdown(text, PLAIN) == markdown


@pytest.mark.parametrize(
    ("text", "markdown"),
    [
        ("18</prob>", r"18\<\/prob\>".replace(r"\/", "/")),
        ("<Context>x", r"\<Context\>x"),
        ("<b onclick=x>", r"\<b onclick=x\>"),
        ("![x](http://a.b/c.png)", "\\!\\[x\\]\\(http\\:\u2060//a\\.b/c\\.png\\)"),
        ("[x](javascript:alert)", "\\[x\\]\\(javascript\\:\u2060alert\\)"),
        ("title\n====", "title\\\n\\===="),
        ("> `a` | b", r"\> \`a\` \| b"),
        ("    code", "code"),
    ],
)
def test_all_else_stays_as_it_was_written(text: str, markdown: str) -> None:
    assert to_markdown(text, PLAIN) == markdown


@pytest.mark.parametrize("start", ["<prob>", "# ", "# x", "**a", "*a", "- x", "PMID"])
def test_long_texts_end_what_they_begin(start: str) -> None:
    """Patterns that try every way to cut a run of blanks would take hours for these."""
    assert to_markdown(start + " " * 50_000 + "x", OF_PAIR).endswith(
        "x" if start[0] != "#" else "x**"
    )


def test_what_was_searched_for_is_marked_in_any_case_and_inside_of_marks() -> None:
    marks = Marks(sought="pdi")
    assert (
        to_markdown("**Pdia6**: pdi", marks)
        == "**:orange-background[Pdi]a6**\\: :orange-background[pdi]"
    )
    assert to_lines("a PDI\n  b", marks) == "a :orange-background[PDI]\\\n\u00a0\u00a0b"
    assert (
        to_markdown("PDI\tA6", Marks(sought="pdi  a6")) == ":orange-background[PDI\tA6]"
    )  # any white space, as the search
    assert (
        to_markdown("a.b", Marks(sought=".")) == "a:orange-background[\\.]b"
    )  # a point is no pattern
    assert (marks.count_hits("Pdia6, PDI"), PLAIN.count_hits("Pdia6")) == (2, 0)


@pytest.mark.parametrize(
    ("text", "passages", "markdown"),
    [
        ("Pa acts. So C.", ("Pa acts.",), ":violet-background[Pa acts\\.] So C\\."),
        (
            "Pa\n- acts\n- so",
            ("Pa\n- acts",),
            ":violet-background[Pa]\n\n- :violet-background[acts]\n- so",
        ),
        ("Pa **acts** on.", ("**acts** on.",), "Pa :violet-background[**acts** on\\.]"),
        (
            "Pa acts.",
            ("Pa acts.", "acts."),
            ":violet-background[Pa acts\\.]",
        ),  # the longer of two that overlap
        ("Pa acts.", (), "Pa acts\\."),
    ],
)
def test_a_passage_that_decided_a_reading_is_marked_line_by_line(
    text: str, passages: tuple[str, ...], markdown: str
) -> None:
    assert to_markdown(text, Marks(passages={text: passages})) == markdown
    assert ":violet" not in to_markdown(text, Marks(passages={"another text": passages}))


def test_a_gene_leads_to_its_page_here_once_a_text() -> None:
    assert (
        to_markdown("Pdia6 and Pdia61, PDIA6, Pdia6-x", OF_PAIR)
        == f"[Pdia6]({PDIA6}) and Pdia61, PDIA6, Pdia6\\-x"
    )
    assert to_markdown("Pdia6", PLAIN) == "Pdia6"


def test_the_number_of_an_article_leads_to_pubmed() -> None:
    link = "[PMID\\: 0123](https://pubmed.ncbi.nlm.nih.gov/123/)"
    assert to_lines("seen (PMID: 0123, 2019)", PLAIN) == f"seen \\({link}, 2019\\)"
    assert to_lines("PMID: 123456789", PLAIN) == "PMID\\: 123456789"  # no such number
    assert (
        to_lines("PMID 7", Marks(sought="pm"))
        == "[:orange-background[PM]ID 7](https://pubmed.ncbi.nlm.nih.gov/7/)"
    )


def test_a_hostile_symbol_makes_no_other_address() -> None:
    name = "x](http://a.b)"
    hostile = Marks(pages={name.upper(): links.page_address("gene", name=name)})
    assert (
        to_lines(name, hostile)
        == "[x\\]\\(http\\:\u2060//a\\.b\\)](./gene?name=x%5D%28http%3A%2F%2Fa.b%29)"
    )


BRIEF = "**Sure**: seen (PMID 123).\n- <b id=pwned>Pa</b> does it\n\n<prob>18</prob>"


def write_brief(workspace: Workspace) -> None:
    with workspace.store.write() as db:
        db.execute(
            "UPDATE trace_event SET content = ? WHERE pair_id = 'Pa_Ga' AND kind = 'brief'", [BRIEF]
        )


@pytest.mark.soak
def test_a_row_shows_texts_with_what_was_searched_for(
    visit: Visit, small_workspace: Workspace
) -> None:
    write_brief(small_workspace)
    app = visit(small_workspace, "rows", run="debate", row="Pa_Ga", q="SURE")
    assert any("\n\n**:orange-background[Sure]**" in text.value for text in app.markdown)


@pytest.mark.soak
@pytest.mark.browser
def test_links_leave_the_machine_on_a_click_only(
    open_tab: OpenTab, small_workspace: Workspace
) -> None:
    write_brief(small_workspace)
    page, asked = open_tab(), list[str]()
    page.context.route(
        "https://**",
        lambda route: (asked.append(route.request.url), route.fulfill(body="an article")),
    )
    with serving(small_workspace.settings.workspace) as server:
        page.goto(server.url("rows", run="debate", row="Pa_Ga", q="does it"))
        settle(page)
        brief = page.get_by_test_id("stMarkdown").filter(has_text="probability given: 18").first
        assert brief.locator("strong").all_inner_texts() == ["EFFECT", "Sure"]
        assert brief.locator("li").inner_text() == "<b id=pwned>Pa</b> does it"
        assert brief.locator(".stMarkdownColoredBackground").inner_text() == "does it"
        assert page.locator("#pwned").count() == 0
        article = brief.get_by_role("link", name="PMID 123")
        assert article.get_attribute("target") == "_blank"
        assert "noopener" in (article.get_attribute("rel") or "")
        assert asked == []
        with page.expect_popup() as opened:
            article.click()
        opened.value.wait_for_load_state()
        assert asked[0] == opened.value.url == "https://pubmed.ncbi.nlm.nih.gov/123/"
