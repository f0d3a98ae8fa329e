"""A person who reads texts in a browser: shared by tests/ui/arguments and soak/test_labelling.py."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.features.arguments import rubric_tables
from core.features.arguments.rubric import Rubric
from core.features.arguments.rubric_tables import TextLabel
from core.runs.workspace import Workspace
from core.store import runs

if TYPE_CHECKING:
    from playwright.sync_api import Page

RUBRIC = Rubric("names-a-program", "Does the text name a program?")
# Notes the milliseconds from each key that changed the text to the moment after the next one was drawn.
STOPWATCH = """
  window.waits = [];
  const readerIn = (root) => {
    for (const each of root.querySelectorAll('*')) {
      const found = each.classList.contains('reader') ? each : each.shadowRoot && readerIn(each.shadowRoot);
      if (found) return found;
    }
  };
  let reader;
  const shown = () => {
    if (!reader?.isConnected) reader = readerIn(document);
    return reader && reader.querySelector('.about').textContent + reader.querySelector('.text').textContent;
  };
  window.addEventListener('keydown', () => {
    const at = performance.now(), before = shown();
    (function look() {
      if (shown() !== before) setTimeout(() => window.waits.push(performance.now() - at));
      else if (performance.now() - at < 5000) requestAnimationFrame(look);
    })();
  }, true);
"""
# Everything that a page holds: the text of every element, its attributes and value, in shadow roots too, address and title.
# Left out are names that a browser makes anew at every visit.
CONTENT = r"""() => {
  const parts = [location.href, document.title], own = new Set(['id', 'for', 'href', 'src', 'nonce']);
  const walk = (root) => {
    for (const each of root.querySelectorAll('*')) {
      if (['SCRIPT', 'STYLE', 'LINK', 'META'].includes(each.tagName)) continue;
      for (const { name, value } of each.attributes) {
        if (own.has(name) || /^aria-(controls|labelledby|describedby|owns)$/.test(name)) continue;
        parts.push(`${name}=${value.replace(/(stAppEmbeddingId-|react-aria)\w+/, '')}`);
      }
      if ('value' in each) parts.push(String(each.value));
      for (const node of each.childNodes) if (node.nodeType === Node.TEXT_NODE) parts.push(node.data);
      if (each.shadowRoot) walk(each.shadowRoot);
    }
  };
  walk(document.documentElement);
  return parts.filter(Boolean);
}"""


def stored(workspace: Workspace, run: str) -> list[TextLabel]:
    """What was answered so far."""
    with workspace.store.read() as db:
        return rubric_tables.labels(db, RUBRIC, runs.find(db, run).id)


def wait_until_stored(page: Page) -> None:
    page.locator(".reader .state").get_by_text("all stored", exact=True).wait_for()


def wait_for_text(page: Page) -> None:
    page.locator(".reader .about .role").wait_for()
