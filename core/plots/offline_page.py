"""Shared parts of HTML files opened from disk: colours for both surfaces, and a policy that allows
no request.

Figures are data that a browser draws with plotly's script, without a server, in light and dark.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go
from plotly.offline import get_plotlyjs

from core.plots import theme

# secondary text: contrast of 6:1 or more on both surfaces
_MUTED = {"light": "#52606D", "dark": "#A9B4C0"}


def policy(scripts: Sequence[str]) -> str:
    """Return the content-security policy of a file: no requests, and only these scripts, by their
    hashes.

    Inline styles are allowed, because Plotly writes some.
    """
    hashes = " ".join(
        f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"
        for script in scripts
    )
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data:;"
        " base-uri 'none'; form-action 'none'"
    )


def colours() -> str:
    """Return the colours of both surfaces as CSS variables. The visitor's system setting applies
    until a switch sets `data-theme`.
    """
    light, dark = (f"{_variables(base)}color-scheme:{base}" for base in ("light", "dark"))
    return (
        f":root{{{light}}}\n@media screen and (prefers-color-scheme:dark)"
        f"{{:root:not([data-theme=light]){{{dark}}}}}\n"
        f"@media screen{{:root[data-theme=dark]{{{dark}}}}}"
    )


def _variables(base: str) -> str:
    values = {
        **theme.SURFACES[base],
        "accent": theme.ACCENT[base],
        "muted": _MUTED[base],
        "warning": theme.WARNING,
    }
    roles = {f"role-{role.lower()}": colour for role, colour in theme.ROLE_COLOURS.items()}
    return "".join(
        f"--{name}:{value};" for name, value in {**values, **theme.LABEL_COLOURS, **roles}.items()
    )


def as_data(chart: go.Figure) -> dict[str, Any]:
    """Return a figure's data and layout as plain values, without the template."""
    found: dict[str, Any] = json.loads(chart.to_json(engine="json"))
    found["layout"].pop("template", None)
    return {"data": found["data"], "layout": found["layout"]}


def library() -> str:
    """Return the script of the installed version of Plotly."""
    return str(get_plotlyjs()).replace("\r\n", "\n")
