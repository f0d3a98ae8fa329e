"""A copied link shows the same screen elsewhere: every control of a page is changed, and the link opened by somebody else."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from core.ui.shared.linked import NOT_CARRIED
from tests.ui.conftest import OpenTab, settle, then
from tests.ui.serving import Server
from tests.ui.test_apptest import VIEWS, tab_of

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

pytestmark = pytest.mark.browser

PAGES = ("breakdown",)  # of which every control was given another value and found again
WALKED = [(page, tab) for page, tab in VIEWS if page in PAGES]
KINDS = ("stSelectbox", "stMultiSelect", "stSlider", "stNumberInput", "stTextInput", "stTextArea", "stCheckbox", "stRadio")
FOUND = (*KINDS, "stButtonGroup", "stDateInput", "stTimeInput", "stColorPicker", "stSelectSlider", "stFeedback", "stDataFrame")
# Every control in sight with its key, name and value; a table is one if it has a key, by which its rows can be selected.
READ = """kinds => [...document.querySelectorAll('[data-testid=stMain] [data-testid], [data-testid=stPopoverBody] [data-testid]')]
  .filter(e => kinds.includes(e.dataset.testid) && e.checkVisibility() && !e.closest('[inert]'))
  .map(e => {
    const box = e.closest('[data-testid=stElementContainer]');
    const key = [...(box?.classList ?? [])].find(name => name.startsWith('st-key-'))?.slice(7) ?? '';
    const all = (what, read) => [...e.querySelectorAll(what)].map(read).join(' ');
    const label = e.querySelector('[data-testid=stWidgetLabel]')?.innerText.trim() || e.querySelector('[aria-label]')?.ariaLabel;
    const value = {
      stSlider: () => all('input[type=range]', i => i.value),
      stCheckbox: () => all('input', i => i.checked),
      stRadio: () => all('input:checked', i => i.value),
      stButtonGroup: () => all('[data-selected=true]', i => i.innerText),
      stMultiSelect: () => e.innerText,
      stDataFrame: () => '',
    }[e.dataset.testid] ?? (() => all('input, textarea', i => i.value));
    return {kind: e.dataset.testid, key, label: label ?? '', value: value()};
  }).filter(c => c.kind !== 'stDataFrame' || c.key)"""
# What is to be read, and which tab is open. Figures and tables are drawn from the same values.
TEXT = """() => [...document.querySelectorAll(['stMarkdownContainer', 'stText', 'stHtml', 'stMetricValue', 'stMetricDelta']
    .map(name => `[data-testid=stMain] [data-testid=${name}]`).join(', ') + ', [data-testid=stMain] [aria-selected=true]')]
  .filter(e => e.checkVisibility() && !e.closest('[inert]') && !e.parentElement.closest('[data-testid=stMarkdownContainer]'))
  .map(e => e.innerText.trim()).filter(Boolean)"""
ALIKE_MS, LOOK_MS = 15_000, 200


@dataclass(frozen=True)
class Control:
    """A control on screen. popover: the place of the popover that it is in, among the page's; -1 outside of any."""

    kind: str
    key: str
    label: str
    value: str
    popover: int = -1

    @property
    def name(self) -> tuple[str, str, int]:
        """What it is called in two browsers: keys may name the row."""
        return (self.kind, self.label or self.key, self.popover)


def popovers(page: Page) -> Locator:
    """The buttons that open something with controls, which figures' tables and the copied link are not."""
    return page.get_by_test_id("stMain").get_by_test_id("stPopoverButton").filter(has_not_text=re.compile("Table$|Copy link"))


def unfold(page: Page) -> None:
    """Open what is folded."""
    page.evaluate("document.querySelectorAll('[data-testid=stMain] details:not([open]) > summary').forEach(each => each.click())")


def controls(page: Page) -> list[Control]:
    """Every control of a page, those in popovers too."""
    unfold(page)
    found = [Control(**each) for each in page.evaluate(READ, FOUND)]
    for place, opener in enumerate(popovers(page).all()):
        if opener.is_visible() and opener.is_enabled():
            outside = len(page.evaluate(READ, FOUND))
            opener.click()
            page.get_by_test_id("stPopoverBody").wait_for()
            found += [Control(**each, popover=place) for each in page.evaluate(READ, FOUND)[outside:]]
            close_popover(page)
    return found


def close_popover(page: Page) -> None:
    page.keyboard.press("Escape")
    page.get_by_test_id("stPopoverBody").wait_for(state="detached")


def screen(page: Page) -> dict[str, Any]:
    """What a page shows: its text, and the value of each control that a link carries."""
    shown = [control for control in controls(page) if not control.key.startswith(tuple(NOT_CARRIED))]
    return {"text": page.evaluate(TEXT), "controls": {control.name: control.value for control in shown}}


def change(page: Page, control: Control) -> bool:
    """Give a control another value; False if it has no other."""
    if control.popover >= 0:
        popovers(page).nth(control.popover).click()
    place = page.locator(f".st-key-{control.key}").get_by_test_id(control.kind)
    changed = CHANGES[control.kind](place)
    if control.popover >= 0:
        close_popover(page)
    return changed


def choose_another(place: Locator) -> bool:
    box = place.get_by_role("combobox")
    if box.is_disabled():
        return False
    before = box.input_value()
    box.click()
    options = place.page.locator("[role=listbox]:not(.rows):not([data-empty=true]) [role=option]")
    place.page.wait_for_timeout(LOOK_MS)
    others = [option for option in options.all()[:3] if option.inner_text().strip() != before]
    if others:
        others[-1].click()
    else:
        box.press("Escape")
    return bool(others)


def choose_more(place: Locator) -> bool:
    chosen = choose_another(place)
    place.page.keyboard.press("Escape")
    return chosen


def step(place: Locator) -> bool:
    for thumb, key in zip(place.locator("input[type=range]").all(), ("ArrowRight", "ArrowLeft"), strict=False):
        value = thumb.input_value()
        thumb.press(key)
        if thumb.input_value() == value:
            thumb.press("ArrowLeft")
    return True


def write(place: Locator) -> bool:
    field = place.locator("input, textarea").first
    if field.is_disabled():
        return False
    field.fill("a")
    field.press("Control+Enter" if place.locator("textarea").count() else "Enter")
    return True


def count(place: Locator) -> bool:
    field = place.locator("input")
    if field.is_disabled():
        return False
    least, wide = (float(field.get_attribute(name) or 0) for name in ("min", "step"))
    field.fill(f"{float(field.input_value() or least) + (wide or 1):g}")
    field.press("Enter")
    return True


def press_another(place: Locator) -> bool:
    others = place.locator("button:not([data-selected=true])")
    if not others.count():
        return False
    others.first.click()
    return True


def switch(place: Locator) -> bool:
    place.locator("label").first.click()
    return True


def select_a_row(place: Locator) -> bool:
    place.locator("canvas").first.click(position={"x": 16, "y": 52})
    return True


CHANGES: dict[str, Callable[[Locator], bool]] = {
    **{"stSelectbox": choose_another, "stMultiSelect": choose_more, "stSlider": step, "stNumberInput": count},
    **{"stTextInput": write, "stTextArea": write, "stCheckbox": switch, "stRadio": switch, "stButtonGroup": press_another},
    "stDataFrame": select_a_row,
}


def assert_same_elsewhere(here: Page, there: Page) -> None:
    """Open the address of one page in another browser, and wait until both show the same."""
    there.goto(here.url)
    settle(there)
    for _ in range(ALIKE_MS // LOOK_MS):
        if there.url == here.url and screen(there) == screen(here):
            return
        there.wait_for_timeout(LOOK_MS)
    assert there.url == here.url
    assert screen(there) == screen(here)


@pytest.mark.parametrize(("page", "tab"), WALKED)
def test_a_link_shows_the_same_screen_elsewhere(open_tab: OpenTab, demo_server: Server, page: str, tab: str) -> None:
    here, there = open_tab(), open_tab()
    here.goto(demo_server.url("" if page == "overview" else page, **tab_of(page, tab)))
    settle(here)
    done: set[tuple[str, str, int]] = set()
    now = controls(here)
    while remaining := [each for each in now if each.name not in done and is_carried(each)]:
        before, address = {each.name for each in remaining}, here.url
        control = remaining[0]
        done.add(control.name)
        if not change_in_address(here, control):
            continue
        now = controls(here)
        if before - done - {each.name for each in now}:  # it hides others, as a filter that leaves no row does
            assert_same_elsewhere(here, there)
            here.goto(address)
            settle(here)
            now = controls(here)
    assert_same_elsewhere(here, there)


def change_in_address(page: Page, control: Control) -> bool:
    """Give a control another value, and wait until the address holds it; False if it has no other."""
    address = page.url
    changed: list[bool] = []
    then(page, lambda: changed.append(change(page, control)))
    for _ in range(ALIKE_MS // LOOK_MS):
        if page.url != address or not changed[0]:
            return changed[0]
        page.wait_for_timeout(LOOK_MS)
    raise AssertionError(f"{control.name} is not in the address")


def is_carried(control: Control) -> bool:
    assert control.key, f"{control.name} has no key"
    return not control.key.startswith((*NOT_CARRIED, "runs"))
