"""Larger text: everything below follows, figures too."""

from __future__ import annotations

import json

import pytest
from streamlit.testing.v1 import AppTest

from core.actions.workspace import Workspace
from core.ui.shared import text_size
from tests.ui.conftest import Visit


def sizes_of_text(app: AppTest) -> set[float]:
    """The sizes of the text in a page's figures."""
    return {json.loads(each.proto.spec)["layout"]["template"]["layout"]["font"]["size"] for each in app.get("plotly_chart")}


@pytest.mark.soak
def test_a_browser_with_the_cookie_has_larger_text(visit: Visit, little_demo: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    usual = visit(little_demo, "compare")
    cookies = {text_size.COOKIE: "on"}
    monkeypatch.setattr("streamlit.runtime.context.ContextProxy.cookies", cookies)
    larger = visit(little_demo, "compare")
    [size], [large] = sizes_of_text(usual), sizes_of_text(larger)
    assert large == pytest.approx(text_size.LARGER * size)
    styles = [[each.proto.body for each in app.get("html") if "font-size: 18px" in each.proto.body] for app in (usual, larger)]
    assert list(map(len, styles)) == [0, 1]
    switches = [each.proto for app in (usual, larger) for each in app.sidebar.get("bidi_component")]
    switches = [each for each in switches if each.component_name == "text_size"]
    assert [json.loads(each.json or each.mixed.json)["larger"] for each in switches] == [False, True]
