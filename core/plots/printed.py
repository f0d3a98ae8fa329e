"""A figure with all that has to stand beside it, made once for pages, reports and slides; and as a
file of its own: on white, with its title and a caption."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from io import BytesIO
from typing import TYPE_CHECKING, Any, Final, Literal, get_args

import pandas as pd

from core.base.errors import StateError
from core.base.feature import resolve
from core.base.result import Result
from core.plots import drawing

if TYPE_CHECKING:
    import plotly.graph_objects as go


Form = Literal["png", "svg", "pdf", "html"]
FORMS: Final = get_args(Form)
WIDTH_PX: Final = 900
DPI: Final = 300  # of a PNG, as journals require
_SCREEN_DPI: Final = 96  # CSS pixels per inch
# heights of the title, of a line of the caption, and below both
_TITLE_PX, _CAPTION_PX, _GAP_PX = 34, 17, 14
_LINE_CHARACTERS: Final = 130  # of the caption, at WIDTH_PX
_LONGEST_NAME: Final = 80  # characters of a file name, without its extension


def with_heading(
    chart: go.Figure, title: str, caption: str, width: int | None = WIDTH_PX
) -> go.Figure:
    """Return a copy of a figure with its title and caption above it; the plot keeps its height.

    width: in pixels, None for the width of the page.
    """
    lines = textwrap.wrap(caption, _LINE_CHARACTERS)
    import plotly.graph_objects as go

    above = _TITLE_PX + _CAPTION_PX * len(lines) + _GAP_PX
    printed = go.Figure(chart)
    printed.update_layout(
        template=drawing.template(), paper_bgcolor=drawing.SURFACES["light"]["paper"], width=width
    )
    layout = printed.layout
    margin = layout.margin.t if layout.margin.t is not None else layout.template.layout.margin.t
    printed.update_layout(
        title={
            "text": f"<b>{drawing.escape(title)}</b>",
            "subtitle": {
                "text": "<br>".join(map(drawing.escape, lines)),
                "font": {"size": drawing.SMALL},
            },
            "font": {"size": 17},
            "x": 0,
            "xanchor": "left",
            "yref": "container",
            "y": 1,
            "yanchor": "top",
            "pad": {"l": 8, "t": 10},
        },
        height=(layout.height or drawing.HEIGHT_PX) + above,
        margin={"t": margin + above, "b": 16, "r": max(16, layout.margin.r or 0)},
    )
    return printed


def encode(chart: go.Figure, form: Form, title: str, caption: str) -> bytes:
    """Return the bytes of a file with a figure, its title and its caption.

    HTML is interactive and needs no network. Raise StateError for an image if no browser is
    installed to draw it.
    """
    if form == "html":
        page: str = with_heading(chart, title, caption, width=None).to_html(
            include_plotlyjs=True,
            include_mathjax=False,
            div_id="figure",
            config={"displaylogo": False},
        )
        return page.replace("<head>", f"<head><title>{drawing.escape(title)}</title>", 1).encode()
    if missing := why_no_images():
        raise StateError(f"{title}: {missing}")
    drawn = bytes(
        with_heading(chart, title, caption).to_image(
            form, scale=DPI / _SCREEN_DPI if form == "png" else 1
        )
    )
    return _with_density(drawn) if form == "png" else drawn


def _with_density(png: bytes) -> bytes:
    """Return the PNG with its size on paper, so that a text processor shows it at this size."""
    from PIL import Image

    out = BytesIO()
    with Image.open(BytesIO(png)) as image:
        image.save(out, "png", dpi=(DPI, DPI))
    return out.getvalue()


def find_browser() -> str | None:
    """Return the path of the browser that draws images and prints; None if none is installed."""
    from choreographer.browsers.chromium import Chromium

    return Chromium.find_browser(skip_local=False) or None


def why_no_images() -> str:
    """Return why figures cannot be written as images here; "" if they can."""
    if find_browser():
        return ""
    return (
        "PNG, SVG and PDF need Chromium, which is not installed here. Set BROWSER_PATH, or use HTML"
    )


def file_name(*parts: str) -> str:
    """Return a file name for a figure or a table, without extension: its subject, dataset and
    run."""
    words = (re.sub(r"[^\w.]+", "-", part).strip("-._") for part in parts)
    return "_".join(filter(None, words))[:_LONGEST_NAME] or "figure"


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
        **drawing.SURFACES[base],
        "accent": drawing.ACCENT[base],
        "muted": _MUTED[base],
        "warning": drawing.WARNING,
    }
    roles = {f"role-{role.lower()}": colour for role, colour in drawing.ROLE_COLOURS.items()}
    return "".join(
        f"--{name}:{value};" for name, value in {**values, **drawing.LABEL_COLOURS, **roles}.items()
    )


def as_data(chart: go.Figure) -> dict[str, Any]:
    """Return a figure's data and layout as plain values, without the template."""
    figure: dict[str, Any] = json.loads(chart.to_json(engine="json"))
    figure["layout"].pop("template", None)
    return {"data": figure["data"], "layout": figure["layout"]}


def library() -> str:
    """Return the script of the installed version of Plotly."""
    from plotly.offline import get_plotlyjs

    return str(get_plotlyjs()).replace("\r\n", "\n")


@dataclass(frozen=True, slots=True, eq=False)
class CaptionedFigure:
    """One figure, or a sentence instead of it. title: its topic. subject: its run or runs.

    finding: its message as a headline, "" if the sentence is one. sentence: its message, with
    numbers. caption: dataset or run, n, and the interval or why there is none. drawn: None where
    there is nothing to draw; the sentence then says why. table: its numbers.
    """

    title: str
    subject: str
    sentence: str
    caption: str = ""
    drawn: drawing.PageFigure | go.Figure | None = None
    table: pd.DataFrame = field(default_factory=pd.DataFrame)
    finding: str = ""

    @property
    def chart(self) -> go.Figure | None:
        """The figure as plotly draws it."""
        return self.drawn.chart if isinstance(self.drawn, drawing.PageFigure) else self.drawn

    @property
    def headline(self) -> str:
        """What the figure says, without the full stop of a sentence."""
        return (self.finding or self.sentence).removesuffix(".")


def together(
    made: Sequence[CaptionedFigure], draw: Callable[[pd.DataFrame], drawing.PageFigure | go.Figure]
) -> CaptionedFigure:
    """Return the figures of several runs, in order, as one; of one run, it alone.

    draw: draws their tables, which have the column `run` then.
    """
    if len(made) == 1:
        return made[0]
    drawn = [one for one in made if one.drawn is not None]
    title, subject = made[0].title, f"{len(made)} runs"
    sentence = " ".join(one.sentence for one in made)
    if not drawn:
        return CaptionedFigure(title, subject, sentence)
    table = pd.concat([one.table.assign(run=one.subject) for one in drawn], ignore_index=True)
    caption = f"{subject} · {_join_captions([one.caption for one in drawn])}"
    return CaptionedFigure(
        title, subject, sentence, caption, draw(table), table, f"{title}, {subject}"
    )


def _join_captions(captions: Sequence[str]) -> str:
    """Return the facts of each caption, then those that all share."""
    facts = [caption.split(" · ") for caption in captions]
    shared = [fact for fact in facts[0] if all(fact in other for other in facts)]
    own_facts = (", ".join(fact for fact in each if fact not in shared) for each in facts)
    return " · ".join(("; ".join(own_facts), *shared))


def captioned(result: Result, subject: str) -> CaptionedFigure:
    """Return a result with the table that its figure draws, or its first one. subject: the run or
    runs that it is about.

    The caption holds scope and caveats.
    """
    figure, [first, *_] = result.figure(), result.tables() or (None,)
    drawn = figure.values.get("table") if figure is not None else None
    return CaptionedFigure(
        title=result.title,
        subject=subject,
        sentence=result.sentence,
        caption=" · ".join(filter(None, (result.scope, *result.caveats))),
        drawn=None if figure is None else resolve(figure.draw)(**figure.values),
        table=drawn
        if drawn is not None
        else pd.DataFrame()
        if first is None
        else pd.DataFrame(first.texts()),
    )


def captioned_runs(results: Sequence[tuple[str, Result]], **changes: Any) -> CaptionedFigure:
    """Return the same result of runs, each with its name, in one figure.

    changes: what its function takes where it draws several runs, such as the column of headings.
    """
    figures = [figure for _, result in results if (figure := result.figure()) is not None]

    def draw(table: pd.DataFrame) -> Any:
        return resolve(figures[0].draw)(**{**figures[0].values, **changes, "table": table})

    return together([captioned(result, run) for run, result in results], draw)
