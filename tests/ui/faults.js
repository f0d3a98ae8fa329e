// What is wrong with the sizes on the page as it is now, in words; nothing is right.
() => {
  const OFF_PX = 1.5, INTO_PX = 3; // less than this is rounding, or a letter's tail
  const faults = [];
  const main = document.querySelector('[data-testid=stMain]');
  for (const [name, box, room] of [['page', document.scrollingElement, innerWidth], ['main part', main, main.clientWidth]])
    if (box.scrollWidth > room) faults.push(`the ${name} is ${box.scrollWidth} px wide, with room for ${room}`);
  const up = (element) => element.parentElement ?? element.getRootNode().host;
  const words = (text) => `"${text.node.textContent.trim().slice(0, 50)}"`;

  // Whether all of the text is seen; says so where an element cuts through it. What lies wholly outside is scrolled away.
  const isSeen = (text) => {
    let scrolls = false; // then what is further out cuts nothing: it can be scrolled into sight
    for (let element = text.element; element && element !== document.body; element = up(element)) {
      const style = getComputedStyle(element), box = element.getBoundingClientRect();
      if (style.textOverflow === 'ellipsis' && element.title) return false; // cut on purpose: pointing at it shows the whole
      if (style.display === 'contents' || (style.overflowX === 'visible' && style.overflowY === 'visible')) continue;
      const [across, below] = [Math.max(text.box.right - box.right, box.left - text.box.left), Math.max(text.box.bottom - box.bottom, box.top - text.box.top)];
      if (across <= OFF_PX && below <= INTO_PX) {
        scrolls ||= /auto|scroll/.test(style.overflowY);
        continue;
      }
      const touches = box.width > OFF_PX && text.box.left < box.right && text.box.right > box.left && text.box.top < box.bottom && text.box.bottom > box.top;
      const cut = (across > OFF_PX && /hidden|clip/.test(style.overflowX)) || (below > INTO_PX && !scrolls && /hidden|clip/.test(style.overflowY));
      if (touches && cut) faults.push(`cut: ${words(text)} by ${Math.round(Math.max(across, below))} px`);
      return false;
    }
    return true;
  };

  const roots = [document.body, ...[...document.querySelectorAll('*')].map((each) => each.shadowRoot).filter(Boolean)];
  const texts = roots.flatMap((root) => {
    const found = [], walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      const node = walker.currentNode, element = node.parentElement, range = document.createRange();
      range.selectNodeContents(node);
      const box = range.getBoundingClientRect();
      if (!node.textContent.trim() || !element || !box.width || !box.height) continue;
      if (element.closest('style, script, noscript, canvas') || !element.checkVisibility({ visibilityProperty: true, opacityProperty: true })) continue;
      found.push({ node, element, box, lines: [...range.getClientRects()] });
    }
    return found;
  }).filter(isSeen);

  const overlap = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > INTO_PX && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 2 * INTO_PX;
  texts.forEach((one, i) => texts.slice(i + 1).forEach((other) => {
    if (overlap(one.box, other.box) && one.lines.some((a) => other.lines.some((b) => overlap(a, b))))
      faults.push(`over one another: ${words(one)} and ${words(other)}`);
  }));
  return [...new Set(faults)];
}
