"""Tables: each column is as wide as its text. A hint above a table that is too wide names the hidden columns."""

from __future__ import annotations

import html
import math
import re
import zlib
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from typing import Any, cast

import pandas as pd
import streamlit as st
from pandas.io.formats.style import Styler

from core.ui.shared import figure_menu

Column = Mapping[str, Any]  # as st.column_config makes it
TEXT_PX = 13.2  # size of the text in a cell: 0.875rem of the theme's 15 px
MARGINS_PX = 18  # of a cell: Streamlit's 8 on both sides, the line between columns, and rounding
LEAST_PX, MOST_PX = 46, 400  # of a column; longer text wraps
MARKERS_PX = 34  # the column in which rows are ticked
TALL_PX = 62  # a row of three lines; Streamlit breaks lines in rows above 4rem alone
SPARE_PX = 6  # of the last column's margin, which may be hidden before its text is
MEASURED_ROWS = 500  # rows that are measured of a longer table, whose texts are much alike
BAR_PX = 110
# Widths of characters in Source Sans, the theme's font, in hundredths of the text's size. The rest are as wide as OTHER.
_WIDTHS = {
    **dict.fromkeys(" ", 20),
    **dict.fromkeys("ijl,.:;'|I·", 25),
    **dict.fromkeys("f()[]{}!-", 30),
    **dict.fromkeys("rt/", 35),
    **dict.fromkeys("csz*?", 44),
    **dict.fromkeys("kvxyFJLY–", 49),
    **dict.fromkeys("0123456789aegXV_+−=±×<>~$#", 50),
    **dict.fromkeys("bdhnopquATSEPZ✗", 55),
    **dict.fromkeys("MWw", 79),
    **dict.fromkeys("m%@⚠", 88),
    **{"‰": 119, "⟶": 143},
}
OTHER = 65
OPEN = st.column_config.LinkColumn(display_text="open")


def show_table(
    table: pd.DataFrame | Styler,
    name: str | None,
    columns: Mapping[str, Column | str | None] | None = None,
    *,
    key: str | None = None,
    **options: Any,
) -> Any:
    """Show a table without its index, with downloads as CSV and Parquet; return the value of `st.dataframe`.

    name: of the table on its page, and in its file name; None if it has other downloads or is part of a dossier. columns: its
    column_config, with a width in pixels only for bars and texts that may be cut. Further options are those of `st.dataframe`. In
    a wider container, the columns share the remaining width.
    """
    frame: pd.DataFrame = cast(Any, table).data if isinstance(table, Styler) else table
    settings = {str(name): _settings_of((columns or {}).get(str(name), {})) for name in frame}
    shown = [name for name, found in settings.items() if found is not None]
    widths = {name: column_width(frame[name], name, settings[name] or {}) for name in shown}
    is_tall = any(wants_lines(frame[name], settings[name] or {}) for name in shown)
    markers = MARKERS_PX if options.get("on_select", "ignore") != "ignore" else 0
    if is_tall:
        options = {"row_height": TALL_PX} | options
    configured: dict[str, Any] = {
        name: None if found is None else {**found, "width": widths[name]} for name, found in settings.items()
    }
    with st.container(gap=None, key=f"table-{name}" if name else None):
        titles = [str((settings[name] or {}).get("label") or name) for name in shown]
        st.html(scroll_hint(titles, [widths[name] for name in shown], markers))
        shown_table = st.dataframe(
            table,
            hide_index=True,
            key=key,
            column_config=configured,
            **{"height": "content", "placeholder": "–"} | options,
        )
        if name:
            figure_menu.show_parquet_button(frame, f"table-{name}", figure_menu.file_name_of(name))
    return shown_table


def _settings_of(column: Column | str | None) -> dict[str, Any] | None:
    """Return the settings of a column, where a text means only a title; None for a hidden column."""
    if isinstance(column, str):
        return {"label": column}
    return None if column is None else dict(column)


def column_width(values: pd.Series, name: str, settings: Column) -> int:
    """Return the width of a column in pixels: the one that is set, else that of its title or its widest text."""
    if isinstance(settings.get("width"), int):
        return int(settings["width"])
    if _type_of(settings).get("type") == "progress":
        return BAR_PX
    widest = max(map(text_width, (str(settings.get("label") or name), *_cell_texts(values, settings))))
    return math.ceil(min(max(widest, LEAST_PX), MOST_PX))


def wants_lines(values: pd.Series, settings: Column) -> bool:
    """Return whether a column has text wider than the limit, so that rows need several lines."""
    if pd.api.types.is_numeric_dtype(values):
        return False
    limit = settings["width"] if isinstance(settings.get("width"), int) else MOST_PX
    return any(text_width(text) > limit for text in _cell_texts(values, settings))


def text_width(text: str) -> float:
    """Return the width of a cell with this text, in pixels."""
    return MARGINS_PX + TEXT_PX * sum(_WIDTHS.get(character, OTHER) for character in text) / 100


def _cell_texts(values: pd.Series, settings: Column) -> Iterable[str]:
    """Return the displayed texts of a column's cells that may be the widest."""
    kind = _type_of(settings)
    known = values.head(MEASURED_ROWS).dropna()
    if kind.get("type") == "link" and kind.get("display_text"):
        display_text = str(kind["display_text"])
        if "(" not in display_text:
            return [display_text]
        found = (re.search(display_text, str(address)) for address in known.tolist())
        return {match[1] for match in found if match}
    if pd.api.types.is_bool_dtype(known):
        return []
    if pd.api.types.is_numeric_dtype(known):
        return {_number_text(value, kind.get("format")) for value in known.tolist()}
    if pd.api.types.is_datetime64_any_dtype(known):
        return ["2000-00-00 00:00:00"]
    texts = {str(value) for value in known.tolist()}
    return sorted(texts, key=len)[-20:]


def _type_of(settings: Column) -> Mapping[str, Any]:
    return settings.get("type_config") or {}


def _number_text(value: float, form: str | None) -> str:
    """Return a number as Streamlit formats it, by its own format or one of printf."""
    if form is not None and "%" in form:
        return form % value
    if form == "percent":
        return f"{100 * value:.2f}%"
    return f"{value:,}" if form == "localized" else f"{round(value, 4)}"


def scroll_hint(titles: Sequence[str], widths: Sequence[int], markers: int = 0) -> str:
    """Return HTML that names the hidden columns if the container is narrower than the table.

    widths: of the columns, in pixels; markers: of the elements before them.
    """
    ends = list(accumulate(widths, initial=markers + 2))[1:]  # 2: the table's frame
    if not ends:
        return ""
    # A rule applies to the whole page, so tables of other widths have rules with other names.
    own = f"hint-{zlib.crc32(repr(ends).encode()):x}"
    rules = "".join(
        f"@container (min-width: {end - SPARE_PX}px) {{ .{own}-{at} {{ display: none; }} }}" for at, end in enumerate(ends)
    )
    # Only the last columns are ever hidden, so each but the last is followed by a comma.
    last = len(ends) - 1
    names = "".join(
        f'<span class="{own}-{at}">{html.escape(title)}{"." if at == last else ", "}</span>' for at, title in enumerate(titles)
    )
    return (
        f'<div class="scroll-hint"><style>{rules}</style>'
        f'<div class="{own}-{last}">Scroll the table sideways to see: {names}</div></div>'
    )
