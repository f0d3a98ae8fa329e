"""Every widget of the app, found by opening what pages fold away, and the message that each would send."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from streamlit.proto.WidgetStates_pb2 import WidgetState

from core.base.config import REPOSITORY
from tests.ui.page_client import Drawn, PageClient, Widget, state_of

PAGES = (
    "",
    *sorted({file.stem for file in (REPOSITORY / "pages").glob("*.py")} - {"overview"}),
)  # that one lives at /
CHOICES = ("selectbox", "radio")  # what they show depends on what is chosen
MOST_OPTIONS = 12  # of a choice that is walked through: others name runs, rows or genes
TYPED = ("text_input", "text_area")
DOES_SOMETHING = ("button", "bidi_component", "events", "file_uploader", "checkbox", "text_area")


@dataclass(frozen=True)
class Place:
    """A page after these values of its widgets."""

    page: str
    query: str = ""
    states: tuple[WidgetState, ...] = ()

    def after(self, state: WidgetState) -> Place:
        return Place(
            self.page, self.query, (*(each for each in self.states if each.id != state.id), state)
        )


@dataclass(frozen=True)
class Step:
    """A widget where it was found. fields: what can be typed into there."""

    place: Place
    widget: Widget
    fields: tuple[Widget, ...]

    def uses(self, text: str) -> Iterator[list[WidgetState]]:
        """Yield the values that a browser sends when somebody uses the widget: at once, after filling in the fields of its form
        (of none without one), and after filling in all others too. text: what is typed."""
        own = state_of(self.widget, text)
        of_form = [
            each
            for each in self.fields
            if each.form == self.widget.form and not each.proto.query_param_key
        ]
        for filled in {
            tuple(each.id for each in fields): fields for fields in ((), of_form, self.fields)
        }.values():
            before = (*self.place.states, *(state_of(each, text) for each in filled))
            yield [*{each.id: each for each in before if each.id != own.id}.values(), own]


def walk(
    client: PageClient, pages: Iterable[str], query: str = "", *, deep: bool = True
) -> Iterator[Step]:
    """Yield every widget once, in the place where it was first seen. deep: go through choices too.

    Nothing is pressed: tabs and folded parts are opened, and choices made.
    """
    seen = set()
    for page in pages:
        waiting = [Place(page, query)]
        while waiting:
            place = waiting.pop()
            drawn = client.run(page, query, place.states)
            new = [widget for widget in drawn.widgets if widget.id not in seen]
            seen |= {widget.id for widget in new}
            fields = tuple(
                each for each in drawn.widgets if each.kind in TYPED and not each.is_disabled
            )
            yield from (Step(place, widget, fields) for widget in new)
            waiting += [
                place.after(state)
                for widget in new
                for state in _openings(widget, drawn, deep=deep)
            ]


def _openings(widget: Widget, drawn: Drawn, *, deep: bool) -> Iterator[WidgetState]:
    """Yield the values of a widget that may show others."""
    if widget.kind == "tab_container":
        for label in _tabs(drawn):
            yield WidgetState(id=widget.id, string_value=label)
    elif widget.kind in ("expandable", "popover"):
        yield WidgetState(id=widget.id, bool_value=True)
    elif deep and widget.kind == "checkbox":
        yield state_of(widget)
    elif deep and widget.kind in CHOICES and len(widget.proto.options) <= MOST_OPTIONS:
        for option in widget.proto.options[1:]:
            yield WidgetState(id=widget.id, string_value=option)
    elif deep and widget.kind == "button_group":
        for option in widget.proto.options[1:]:
            state = WidgetState(id=widget.id)
            state.string_array_value.data[:] = [option.content]
            yield state


def _tabs(drawn: Drawn) -> list[str]:
    blocks = [each.delta.add_block for each in drawn.messages if each.WhichOneof("type") == "delta"]
    return [block.tab.label for block in blocks if block.WhichOneof("type") == "tab"]
