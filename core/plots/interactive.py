"""Figures as data that a browser draws with plotly's own script, without a server and in light and dark."""

from __future__ import annotations

import json
from typing import Any, Literal

import plotly.graph_objects as go
from plotly.offline import get_plotlyjs

from core.plots import theme


def as_data(chart: go.Figure) -> dict[str, Any]:
    """A figure's data and layout, plain values only; the template is left out: see `templates`."""
    found: dict[str, Any] = json.loads(chart.to_json(engine="json"))
    found["layout"].pop("template", None)
    return {"data": found["data"], "layout": found["layout"]}


def templates() -> dict[Literal["light", "dark"], Any]:
    """The template of each surface."""
    return {base: theme.template(base).to_plotly_json() for base in ("light", "dark")}


def library() -> str:
    """Plotly's script, of the version that is installed."""
    return str(get_plotlyjs()).replace("\r\n", "\n")
