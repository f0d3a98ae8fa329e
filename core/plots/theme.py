"""Colours, signs and the plotly template, used by every figure, by the pages and by the report.

The colours are Okabe–Ito's, which colour-blind readers can tell apart. Each means the same
everywhere, in light and dark, and comes with a sign or a word. `.streamlit/config.toml` repeats the
few that Streamlit needs; a test compares them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from core.base.texts import NO_LABEL

if TYPE_CHECKING:
    import plotly.graph_objects as go

UP: Final = "#D55E00"
DOWN: Final = "#0072B2"
NONE: Final = "#8C8C8C"
EFFECT: Final = "#CC79A7"
NULL: Final = "#5F6B7A"
CHOSEN: Final = "#009E73"
BASELINE: Final = NONE
WARNING: Final = "#E69F00"
# The chosen run's colour, also used for controls; as text it has a contrast of 4.5:1 on each
# surface.
ACCENT: Final = {"light": "#007556", "dark": CHOSEN}

LABEL_COLOURS: Final = {"up": UP, "down": DOWN, "none": NONE, "de": EFFECT, "unknown": NULL}
LABEL_SIGNS: Final = {"up": "▲", "down": "▼", "none": "●", "de": "◆", "unknown": "○"}
LABEL_WORDS: Final = {**{name: name for name in LABEL_SIGNS}, "unknown": NO_LABEL}
OUTCOME_SIGNS: Final = {"hit": "✓", "miss": "✗"}
ROLE_COLOURS: Final = {"EFFECT": EFFECT, "NULL": NULL, "UP": UP, "DOWN": DOWN, "JUDGE": CHOSEN}

SURFACES: Final = {
    "light": {"paper": "#FFFFFF", "second": "#F5F6F8", "text": "#1F2933", "line": "#DDE1E6"},
    "dark": {"paper": "#14171C", "second": "#1D2229", "text": "#E6EAEF", "line": "#39414C"},
}
FONT: Final = '"Source Sans", sans-serif'
TEXT: Final = 14  # font size in figures
ROW_PX: Final = 26  # one bar, with its gap
HEIGHT_PX: Final = 260  # figures on a page are one or two of these high


# text on a strong colour, on a tint
INK_ON: Final = {True: "#FFFFFF", False: SURFACES["light"]["text"]}


def tint(colour: str, strength: float) -> str:
    """Return a "#RRGGBB" colour mixed with white; strength 1 is the colour itself, 0 is white."""
    parts = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return "#" + "".join(f"{round(255 - strength * (255 - part)):02X}" for part in parts)


def template(base: str = "light") -> go.layout.Template:
    """Return the plotly template of a surface: grid on the value axis only, no legend, room for
    direct labels."""
    import plotly.graph_objects as go

    colours = SURFACES[base]
    axis = {
        "gridcolor": colours["line"],
        "zerolinecolor": colours["line"],
        "linecolor": colours["line"],
        "automargin": True,
        "ticklabelstandoff": 4,
        "title": {"standoff": 8, "font": {"size": TEXT}},
    }
    return go.layout.Template(
        layout={
            "font": {"family": FONT, "size": TEXT, "color": colours["text"]},
            "paper_bgcolor": "rgba(0,0,0,0)",
            "plot_bgcolor": "rgba(0,0,0,0)",
            "colorway": [CHOSEN, BASELINE, EFFECT, DOWN, UP, WARNING],
            "xaxis": axis,
            "yaxis": {**axis, "showgrid": False},
            "margin": {"l": 8, "r": 8, "t": 8, "b": 8},
            "height": HEIGHT_PX,
            "showlegend": False,
            "hoverlabel": {"font": {"family": FONT}},
            "bargap": 0.3,
        }
    )
