"""The walk over a page's controls: each gets another value, and the link is opened in a second browser, which shows the same.

Left out, since they change no value: what is folded or opened (popovers, expanders), a figure's zoom, the order and the width
of a table's columns. Hints that were dismissed belong to a person's browser.
"""

from __future__ import annotations

import re
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from core.ui.linked import NOT_CARRIED
from tests.ui.conftest import settle, then

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

FIELDS = (
    "stSelectbox",
    "stMultiSelect",
    "stSlider",
    "stNumberInput",
    "stTextInput",
    "stTextArea",
    "stCheckbox",
    "stRadio",
)
OTHERS = (
    "stTabs",
    "stButtonGroup",
    "stDataFrame",
    "stDateInput",
    "stTimeInput",
    "stColorPicker",
    "stSelectSlider",
    "stFeedback",
)
KINDS = (*FIELDS, *OTHERS)
MENU = "[role=listbox]:not(.rows):not(#found)"  # of a field, not the list of rows or what a search has found
# Every control in sight with its key, name and value; a table is one if it has a key, by which its rows can be selected.
READ = """([where, kinds]) => [...document.querySelectorAll(`[data-testid=${where}] [data-testid]`)]
  .filter(e => kinds.includes(e.dataset.testid) && e.checkVisibility() && !e.closest('[inert]'))
  .map(e => {
    const box = e.closest(e.dataset.testid === 'stTabs' ? '[class*=st-key-]' : '[data-testid=stElementContainer]');
    const key = [...(box?.classList ?? [])].find(name => name.startsWith('st-key-'))?.slice(7) ?? '';
    const all = (what, read) => [...e.querySelectorAll(what)].map(read).join(' ');
    const own = what => ['stTabs', 'stDataFrame'].includes(e.dataset.testid) ? null : e.querySelector(what);
    const label = own('[data-testid=stWidgetLabel]')?.innerText.trim() || own('[aria-label]')?.ariaLabel;
    const value = {
      stSlider: () => all('input[type=range]', i => i.value),
      stCheckbox: () => all('input', i => i.checked),
      stRadio: () => all('input:checked', i => i.value),
      stButtonGroup: () => all('[data-selected=true]', i => i.innerText),
      stTabs: () => all('[aria-selected=true]', i => i.innerText),
      stMultiSelect: () => e.innerText,
      stDataFrame: () => all('[role=row][aria-selected=true]', i => i.ariaRowIndex),
    }[e.dataset.testid] ?? (() => all('input, textarea', i => i.value));
    return {kind: e.dataset.testid, key, label: label ?? '', value: value()};
  }).filter(c => c.kind !== 'stDataFrame' || c.key)"""
# What is to be read, which tab is open, and what figures draw; tables are drawn from the same values.
SHOWN = """() => {
  const seen = [...document.querySelectorAll(['stMarkdownContainer', 'stText', 'stHtml', 'stMetricValue', 'stMetricDelta']
      .map(name => `[data-testid=stMain] [data-testid=${name}]`).join(', ') + ', [data-testid=stMain] [aria-selected=true]')]
    .filter(e => e.checkVisibility() && !e.closest('[inert]') && !e.parentElement.closest('[data-testid=stMarkdownContainer]'))
    .map(e => e.innerText.trim()).filter(Boolean);
  const own = (key, value) => key.startsWith('_') ? undefined : value;
  const drawn = [...document.querySelectorAll('[data-testid=stMain] .js-plotly-plot')]
    .filter(e => e.checkVisibility()).map(e => JSON.stringify(e.data, own));
  return [...seen, ...drawn];
}"""
ALIKE_MS, LOOK_MS = 15_000, 100


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

    @property
    def is_carried(self) -> bool:
        """Whether a link has to carry its value."""
        assert self.key, f"{self.name} has no key"
        return not self.key.startswith(tuple(NOT_CARRIED))


UNFOLD = """async () => {
  document.querySelectorAll("[data-testid=stMain] details:not([open]) > summary").forEach(each => each.click());
  await new Promise(requestAnimationFrame);
  const moving = document.getAnimations().filter(each => each.effect.target?.closest("details"));
  await Promise.allSettled(moving.map(each => each.finished));
}"""


def controls(page: Page) -> list[Control]:
    """Every control of a page, those in popovers too."""
    unfold(page)
    found = read_controls(page, "stMain")
    for place, opener in enumerate(popovers(page).all()):
        if opener.is_visible() and opener.is_enabled():
            open_popover(page, opener)
            found += [replace(each, popover=place) for each in read_controls(page, "stPopoverBody")]
            close_popover(page)
    return found


def read_controls(page: Page, where: str) -> list[Control]:
    return [Control(**each) for each in page.evaluate(READ, [where, KINDS])]


def unfold(page: Page) -> None:
    """Open what is folded, and wait until it stands still: a menu closes when what it is in moves."""
    page.evaluate(UNFOLD)


def popovers(page: Page) -> Locator:
    """The buttons that open something with controls, which figures' tables and the copied link are not."""
    return (
        page.get_by_test_id("stMain")
        .get_by_test_id("stPopoverButton")
        .filter(has_not_text=re.compile("Table$|Copy link"))
    )


def open_popover(page: Page, opener: Locator) -> None:
    """Open a popover, and wait until it does not grow any more."""
    opener.click()
    body = page.get_by_test_id("stPopoverBody")
    body.wait_for()
    size = None
    for _ in range(ALIKE_MS // LOOK_MS):
        if size == (size := body.bounding_box()):
            break
        page.wait_for_timeout(LOOK_MS)


def close_popover(page: Page) -> None:
    page.keyboard.press("Escape")
    page.get_by_test_id("stPopoverBody").wait_for(state="detached")


def values(page: Page) -> dict[tuple[str, str, int], str]:
    """The value of each control that a link carries."""
    return {control.name: control.value for control in controls(page) if control.is_carried}


def change(page: Page, control: Control) -> bool:
    """Give a control another value; False if it has no other."""
    unfold(page)
    if control.popover >= 0:
        open_popover(page, popovers(page).nth(control.popover))
    keyed, kind = f".st-key-{control.key}", f"[data-testid={control.kind}]"
    changed = CHANGES[control.kind](
        page.locator(f"{keyed}{kind}, {keyed} {kind}").first
    )  # tabs bear their key themselves
    if control.popover >= 0:
        close_popover(page)
    return changed


def choose_another(place: Locator) -> bool:
    box = place.get_by_role("combobox")
    if box.is_disabled():
        return False
    before = box.input_value()
    box.scroll_into_view_if_needed()
    place.page.wait_for_timeout(LOOK_MS)  # a menu closes when what it is in scrolls
    box.click()
    place.page.locator(MENU).wait_for()
    options = place.page.locator(f"{MENU}:not([data-empty=true]) [role=option]")
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
    for thumb, key in zip(
        place.locator("input[type=range]").all(), ("ArrowRight", "ArrowLeft"), strict=False
    ):
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
    least, most, wide = (
        float(field.get_attribute(name) or default)
        for name, default in (("min", 0), ("max", "inf"), ("step", 1))
    )
    value = float(field.input_value() or least)
    field.fill(f"{value + wide if value + wide <= most else value - wide:g}")
    field.press("Enter")
    return True


def press_another(place: Locator) -> bool:
    return press_first(place.locator("button[data-variant]:not([data-selected=true])"))


def switch(place: Locator) -> bool:
    place.locator("label").first.click()
    return True


def choose_other(place: Locator) -> bool:
    return press_first(place.locator("label:has(input[type=radio]:not(:checked):not(:disabled))"))


def press_first(others: Locator) -> bool:
    if not others.count():
        return False
    others.first.click()
    return True


def open_another(place: Locator) -> bool:
    place.locator("[role=tab][aria-selected=false]").last.click()
    return True


def select_a_row(place: Locator) -> bool:
    place.page.wait_for_timeout(5 * LOOK_MS)  # what a canvas tells of its rows comes late
    selected = place.locator("[role=row][aria-selected=true]")
    before = [row.get_attribute("aria-rowindex") for row in selected.all()]
    for y in (86, 130) if before else (52,):  # the second, if one is: of one line, or of three
        place.click(position={"x": 16, "y": y})
        place.page.wait_for_timeout(5 * LOOK_MS)
        if [row.get_attribute("aria-rowindex") for row in selected.all()] != before:
            break
    return True


CHANGES = {
    **{
        "stSelectbox": choose_another,
        "stMultiSelect": choose_more,
        "stSlider": step,
        "stNumberInput": count,
    },
    **{
        "stTextInput": write,
        "stTextArea": write,
        "stCheckbox": switch,
        "stRadio": choose_other,
        "stButtonGroup": press_another,
    },
    **{"stTabs": open_another, "stDataFrame": select_a_row},
}


def change_in_address(page: Page, control: Control) -> bool:
    """Give a control another value, and wait until the address holds it; False if it has no other."""
    address = page.url
    changed = []
    then(page, lambda: changed.append(change(page, control)))
    for _ in range(ALIKE_MS // LOOK_MS):
        if page.url != address or not changed[0]:
            return changed[0]
        page.wait_for_timeout(LOOK_MS)
    raise AssertionError(f"{control.name} is not in the address")


def shown(page: Page) -> list[str]:
    """What there is to read on a page, and what its figures draw."""
    unfold(page)
    return page.evaluate(SHOWN)


def visit(page: Page, address: str) -> None:
    """Open an address as one that was copied is opened, and wait until all of it is drawn."""
    page.goto(address)
    settle(page)


def assert_same_elsewhere(here: Page, there: Page) -> None:
    """Open the address of one page in another browser, and wait until both show the same."""
    visit(there, here.url)
    until = time.monotonic() + ALIKE_MS / 1000
    while time.monotonic() < until:
        if there.url == here.url and shown(there) == shown(here) and values(there) == values(here):
            return
        there.wait_for_timeout(LOOK_MS)
    assert there.url == here.url, (here.url, there.url)
    assert [each for each in shown(there) if each not in shown(here)] == [
        each for each in shown(here) if each not in shown(there)
    ]
    assert values(there).items() ^ values(here).items() == set()


def change_each(here: Page, there: Page, address: str) -> int:
    """Change every control of the page at an address by itself, and open each link elsewhere; how many were changed."""
    visit(here, address)
    n = 0
    for control in [each for each in controls(here) if each.is_carried]:
        visit(here, address)
        if change_in_address(here, control):
            assert_same_elsewhere(here, there)
            n += 1
    return n


def change_together(here: Page, there: Page, address: str) -> int:
    """Change the controls of the page at an address one upon the other; how many were changed.

    The link is opened elsewhere at the end, and when a change hides other controls, after which the page is as before: a filter
    that leaves no row.
    """
    visit(here, address)
    done = set()
    now, n = controls(here), 0
    while remaining := [
        c for c in now if c.name not in done and c.is_carried and c.kind != "stTabs"
    ]:
        before, control = here.url, remaining[0]
        done.add(control.name)
        if not change_in_address(here, control):
            continue
        n += 1
        now = controls(here)
        if {each.name for each in remaining} - done - {each.name for each in now}:
            assert_same_elsewhere(here, there)
            visit(here, before)
            now = controls(here)
    assert_same_elsewhere(here, there)
    return n
