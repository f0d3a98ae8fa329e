"use strict";
(() => {
  const PRINTED_PX = 680; // the width of an A4 page within its margins
  const MOST_PX = 340; // high, of a figure whose height is free: two fit on a page with what they say
  const places = [...document.querySelectorAll(".chart")];
  // One after the other, so that the page can be read while they are drawn.
  const drawNext = () => {
    const place = places.shift();
    if (!place) {
      document.documentElement.dataset.drawn = "all";
      return;
    }
    REPORT.draw(place);
    setTimeout(drawNext);
  };
  setTimeout(drawNext);
  const printed = (_place, { height, minreducedheight }) => {
    const isFree = height && !minreducedheight; // rows of a forest keep their height
    return { width: PRINTED_PX, autosize: false, ...(isFree && { height: Math.min(height, MOST_PX) }) };
  };
  addEventListener("beforeprint", () => REPORT.print(true, printed));
  addEventListener("afterprint", () => REPORT.print(false));
})();
