"use strict";
// Draws the figures of the page from the data in it. No request is made.
const REPORT = (() => {
  const read = (id) => JSON.parse(document.getElementById(id).textContent);
  const figures = read("figure-data");
  const templates = read("figure-templates");
  const media = matchMedia("(prefers-color-scheme: dark)");
  const drawn = new Set();
  let isPrinting = false;

  const theme = () => (isPrinting ? "light" : document.documentElement.dataset.theme || (media.matches ? "dark" : "light"));

  function draw(place, size) {
    const figure = figures[place.id];
    if (!figure) return;
    const layout = { ...figure.layout, ...size, template: templates[theme()] };
    const config = { responsive: !size, displaylogo: false, displayModeBar: false };
    Plotly.react(place, figure.data, layout, config);
    drawn.add(place);
  }

  function redraw(size) {
    for (const place of drawn) draw(place, size && size(place));
  }

  function change() {
    document.documentElement.dataset.theme = theme() === "dark" ? "light" : "dark";
    redraw(REPORT.size);
  }

  function print(is, size) {
    isPrinting = is;
    for (const place of document.querySelectorAll(".chart")) draw(place, size && size(place, figures[place.id]?.layout ?? {}));
  }

  document.getElementById("theme").addEventListener("click", change);
  media.addEventListener("change", () => redraw(REPORT.size));
  return { draw, print, change, size: null };
})();
