"use strict";
(() => {
  const PRINTED_PX = 680; // the width of an A4 page within its margins
  const MOST_PX = 340; // height of a figure with a free height: two fit on a page with their text
  const places = [...document.querySelectorAll(".chart")];
  // One after the other, so that people can read the page meanwhile.
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
  // Rows of a forest keep their height.
  const isTall = ({ height, minreducedheight }) => height > MOST_PX && !minreducedheight;
  const printed = (place, layout) => {
    if (isTall(layout)) place.style.height = `${MOST_PX}px`;
    return { width: PRINTED_PX, autosize: false, ...(isTall(layout) && { height: MOST_PX }) };
  };
  const shown = (place, layout) => {
    if (isTall(layout)) place.style.height = `${layout.height}px`;
  };
  addEventListener("beforeprint", () => REPORT.print(true, printed));
  addEventListener("afterprint", () => REPORT.print(false, shown));
})();
