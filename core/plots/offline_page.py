"""What HTML files that are opened from disk have in common: colours for both surfaces, and a policy that allows no request."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence

from core.plots import theme

_MUTED = {"light": "#52606D", "dark": "#A9B4C0"}  # second text: 6:1 and more on both surfaces


def policy(scripts: Sequence[str]) -> str:
    """The content-security policy of a file: no request to anywhere, and no script but these, by their hashes.

    Styles may stand in the file: Plotly writes some of its own.
    """
    hashes = " ".join(f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'" for script in scripts)
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
    )


def colours() -> str:
    """The colours of both surfaces as CSS variables; the visitor's own setting decides until a switch sets `data-theme`."""
    light, dark = (_variables(base) for base in ("light", "dark"))
    return (
        f":root{{{light}color-scheme:light}}\n"
        f"@media screen and (prefers-color-scheme:dark){{:root:not([data-theme=light]){{{dark}color-scheme:dark}}}}\n"
        f"@media screen{{:root[data-theme=dark]{{{dark}color-scheme:dark}}}}"
    )


def _variables(base: str) -> str:
    values = {**theme.SURFACES[base], "accent": theme.ACCENT[base], "muted": _MUTED[base], "warning": theme.WARNING}
    roles = {f"role-{role.lower()}": colour for role, colour in theme.ROLE_COLOURS.items()}
    return "".join(f"--{name}:{value};" for name, value in {**values, **roles}.items())
