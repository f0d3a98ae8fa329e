"use strict";
(() => {
  const [WIDTH, HEIGHT] = [1280, 720]; // of a slide, as in the style sheet
  const ENLARGED = 1.3; // a figure is drawn smaller by this factor, then enlarged, so that its text is readable from afar
  const slides = [...document.querySelectorAll(".slide")];
  const main = document.querySelector("main");
  let now = Math.min(Math.max(parseInt(location.hash.slice(1), 10) || 1, 1), slides.length) - 1;

  const size = (place) => {
    const stage = place.parentElement;
    const [width, height] = [stage.clientWidth / ENLARGED, stage.clientHeight / ENLARGED];
    Object.assign(place.style, { transform: `scale(${ENLARGED})`, width: `${width}px`, height: `${height}px` });
    return { width, height, autosize: false };
  };
  REPORT.size = size;

  function show(index) {
    now = Math.min(Math.max(index, 0), slides.length - 1);
    main.style.setProperty("--scale", Math.min(innerWidth / WIDTH, innerHeight / HEIGHT));
    slides.forEach((slide, i) => slide.classList.toggle("now", i === now));
    document.getElementById("place").textContent = `${now + 1} / ${slides.length}`;
    if (location.protocol !== "about:") history.replaceState(null, "", `#${now + 1}`); // a frame inside a page has no address
    for (const place of slides[now].querySelectorAll(".chart")) REPORT.draw(place, size(place));
  }

  const MOVES = {
    ArrowRight: () => now + 1, ArrowDown: () => now + 1, PageDown: () => now + 1, " ": () => now + 1,
    ArrowLeft: () => now - 1, ArrowUp: () => now - 1, PageUp: () => now - 1,
    Home: () => 0, End: () => slides.length - 1,
  };
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, .point")) return;
    if (event.key === "t" || event.key === "T") return REPORT.change();
    if (event.key === " " && event.target.closest("button, summary, a")) return;
    if (!(event.key in MOVES)) return;
    event.preventDefault();
    show(MOVES[event.key]());
  });
  document.getElementById("back").addEventListener("click", () => show(now - 1));
  document.getElementById("next").addEventListener("click", () => show(now + 1));
  addEventListener("resize", () => show(now));
  addEventListener("hashchange", () => show((parseInt(location.hash.slice(1), 10) || 1) - 1));
  addEventListener("beforeprint", () => REPORT.print(true, size));
  addEventListener("afterprint", () => { REPORT.print(false, size); show(now); });
  show(now);
})();
