"""One look: what Streamlit draws and what plotly draws."""

from __future__ import annotations

import tomllib

import pytest

from core.base.config import REPOSITORY
from core.plots import drawing

CONFIG = tomllib.loads((REPOSITORY / ".streamlit" / "config.toml").read_text("utf-8"))["theme"]


@pytest.mark.parametrize("base", drawing.SURFACES)
def test_streamlit_has_the_colours_of_the_theme(base: str) -> None:
    surface = drawing.SURFACES[base]
    assert CONFIG[base] == {
        "primaryColor": drawing.ACCENT[base],
        "backgroundColor": surface["paper"],
        "secondaryBackgroundColor": surface["second"],
        "textColor": surface["text"],
        "borderColor": surface["line"],
    }


def test_tints() -> None:
    assert drawing.tint("#009E73", 1) == "#009E73"
    assert drawing.tint("#009E73", 0) == "#FFFFFF"
    # 255 - 0.5 * (255 - part): 0 -> 127.5, 158 -> 206.5, 115 -> 185; a half goes to the even neighbour
    assert drawing.tint("#009E73", 0.5) == "#80CEB9"


def test_every_label_has_a_colour_and_a_sign_of_its_own() -> None:
    assert drawing.LABEL_COLOURS.keys() == drawing.LABEL_SIGNS.keys()
    for of_label in (drawing.LABEL_COLOURS, drawing.LABEL_SIGNS):
        assert len(set(of_label.values())) == len(of_label)
