"""Figures as files: their headings, their forms, and what happens where no browser draws them."""

from __future__ import annotations

import io
from xml.etree import ElementTree

import plotly.graph_objects as go
import pytest
from PIL import Image

from core.base.errors import StateError
from core.plots import drawing, printed

CAPTION = "a <b>run</b> · 12 rows · 95% interval by rows"


@pytest.fixture
def chart() -> go.Figure:
    return go.Figure(go.Bar(x=[1, 2], y=["a", "b"])).update_layout(
        height=300, template=drawing.template("dark")
    )


def test_the_heading_stands_above_a_plot_that_keeps_its_height(chart: go.Figure) -> None:
    found = printed.with_heading(chart, "Shares & more", CAPTION)
    above = found.layout.margin.t - drawing.template().layout.margin.t
    assert found.layout.height - above == 300
    assert found.layout.title.text == "<b>Shares &amp; more</b>"
    assert (
        found.layout.title.subtitle.text
        == "a &lt;b&gt;run&lt;/b&gt; · 12 rows · 95% interval by rows"
    )
    assert chart.layout.title.text is None  # the figure on the page stays as it is


@pytest.mark.soak
def test_a_page_of_its_own_asks_for_nothing(chart: go.Figure) -> None:
    page = printed.encode(chart, "html", "Shares", CAPTION).decode()
    assert "<title>Shares</title>" in page
    assert 'src="http' not in page
    assert page == printed.encode(chart, "html", "Shares", CAPTION).decode()


@pytest.mark.soak
@pytest.mark.browser
def test_images_have_the_heading(chart: go.Figure) -> None:
    if printed.why_no_images():
        pytest.skip("needs Chromium on the path")
    drawn = ElementTree.parse(io.BytesIO(printed.encode(chart, "svg", "Shares", CAPTION)))
    assert {"Shares", CAPTION} <= set(drawn.getroot().itertext())


@pytest.mark.soak
@pytest.mark.browser
@pytest.mark.parametrize(("form", "begin"), [("pdf", b"%PDF"), ("png", b"\x89PNG")])
def test_images_are_of_their_form(chart: go.Figure, form: printed.Form, begin: bytes) -> None:
    assert printed.encode(chart, form, "Shares", CAPTION).startswith(begin)


@pytest.mark.soak
@pytest.mark.browser
def test_a_png_has_300_dots_an_inch_and_says_so(chart: go.Figure) -> None:
    if printed.why_no_images():
        pytest.skip("needs Chromium on the path")
    with Image.open(io.BytesIO(printed.encode(chart, "png", "Shares", CAPTION))) as image:
        assert image.info["dpi"] == pytest.approx((300, 300), abs=0.1)
        assert image.width == pytest.approx(printed.WIDTH_PX / 96 * 300, abs=1)


def test_without_a_browser_there_is_html_and_a_reason(
    chart: go.Figure, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("choreographer.browsers.chromium.Chromium.find_browser", lambda **_: None)
    with pytest.raises(StateError, match="Shares: PNG, SVG and PDF need Chromium"):
        printed.encode(chart, "png", "Shares", CAPTION)
    assert printed.encode(chart, "html", "Shares", CAPTION)


@pytest.mark.parametrize(
    ("parts", "name"),
    [
        (("bmdm", "track b/sharp", "ROC curves"), "bmdm_track-b-sharp_ROC-curves"),
        (("", "../x"), "x"),
        (("§",), "figure"),
        (("a" * 200,), "a" * 80),
    ],
)
def test_names_of_files(parts: tuple[str, ...], name: str) -> None:
    assert printed.file_name(*parts) == name
