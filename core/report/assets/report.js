"use strict";
(() => {
  const PRINTED_PX = 680; // the width of an A4 page within its margins
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
  addEventListener("beforeprint", () => REPORT.print(true, () => ({ width: PRINTED_PX, autosize: false })));
  addEventListener("afterprint", () => REPORT.print(false));
})();
