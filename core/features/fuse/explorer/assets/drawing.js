// The plane of weights: the mean by weight in DE and in DIR, its best, its plateau, and a movable point.

const SVG = "http://www.w3.org/2000/svg";
const BOX = { left: 58, top: 8, width: 372, height: 278 }; // of the plot inside the drawing
const TICKS = [0, 0.25, 0.5, 0.75, 1];
const HALF = 0.025; // of a cell's width
const SPAN = 1 + 2 * HALF; // the plot reaches half a cell beyond 0 and 1
const STEP = 0.01;
const LARGE_STEP = 0.1;
const KEYS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowDown: [0, -1], ArrowUp: [0, 1] };

const toX = (weight) => BOX.left + ((weight + HALF) / SPAN) * BOX.width;
const toY = (weight) => BOX.top + (1 - (weight + HALF) / SPAN) * BOX.height;
const toStep = (weight) => Math.round(Math.min(Math.max(weight, 0), 1) / STEP) / Math.round(1 / STEP);

function draw(parent, tag, attributes, text) {
  const found = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) found.setAttribute(name, value);
  if (text !== undefined) found.textContent = text;
  parent.append(found);
  return found;
}

class Plane {
  // picture, svg: the fixed parts, with the point above them, so that each step redraws only the point. move: called
  // with the weights in DE and DIR at each step, and whether the hand let go; look: with those under the pointer.
  constructor([picture, svg], move, look) {
    this.picture = picture;
    this.svg = svg;
    this.move = move;
    this.look = look;
    this.surface = draw(picture, "g", { class: "surface" });
    this.frame();
    this.ring = [draw(picture, "path", { class: "ring edge" }), draw(picture, "path", { class: "ring" })];
    this.best = draw(picture, "g", { class: "best" });
    this.point = draw(svg, "g", { class: "point", tabindex: 0, role: "slider", "aria-valuemin": 0, "aria-valuemax": 1 });
    for (const kind of ["edge", ""]) draw(this.point, "path", { class: kind, d: "M-9 0H9M0 -9V9" });
    draw(this.point, "circle", { class: "grip", r: 16 });
    svg.addEventListener("pointerdown", (event) => this.grab(event));
    svg.addEventListener("pointermove", (event) => this.follow(event));
    svg.addEventListener("pointerup", (event) => this.release(event));
    svg.addEventListener("pointercancel", (event) => this.release(event));
    svg.addEventListener("pointerleave", () => this.look(null));
    this.point.addEventListener("keydown", (event) => this.press(event));
  }

  frame() {
    const { left, top, width, height } = BOX;
    draw(this.picture, "rect", { class: "border", x: left, y: top, width, height });
    for (const tick of TICKS) {
      draw(this.picture, "text", { class: "tick", x: toX(tick), y: top + height + 15, "text-anchor": "middle" }, String(tick));
      draw(this.picture, "text", { class: "tick", x: left - 7, y: toY(tick) + 4, "text-anchor": "end" }, String(tick));
    }
    const middle = top + height / 2;
    this.titles = [
      draw(this.picture, "text", { class: "axis", x: left + width / 2, y: top + height + 36, "text-anchor": "middle" }),
      draw(this.picture, "text", { class: "axis", x: 14, y: middle, "text-anchor": "middle", transform: `rotate(-90 14 ${middle})` }),
    ];
  }

  name(label, titles) {
    this.titles.forEach((title, i) => (title.textContent = titles[i]));
    this.point.setAttribute("aria-label", label);
  }

  show(de, dir) {
    this.at = [de, dir];
    this.point.setAttribute("transform", `translate(${toX(de)} ${toY(dir)})`);
    this.point.setAttribute("aria-valuenow", de.toFixed(2));
    this.point.setAttribute("aria-valuetext", `P(DE) ${de.toFixed(2)}, P(up | DE) ${dir.toFixed(2)}`);
  }

  // The scores of the whole plane as `Fusion.plane` gives them; null while they are not known.
  fill(found) {
    this.surface.replaceChildren();
    this.best.replaceChildren();
    for (const ring of this.ring) ring.setAttribute("d", found ? outline(found.plateau) : "");
    if (!found) return;
    const least = Math.min(...found.mean.flat());
    const [width, height] = [BOX.width / GRID.length, BOX.height / GRID.length];
    found.mean.forEach((line, i) =>
      line.forEach((mean, j) => {
        const share = found.most > least ? (mean - least) / (found.most - least) : 1;
        const place = { x: BOX.left + i * width, y: BOX.top + (GRID.length - 1 - j) * height, width, height };
        draw(this.surface, "rect", { ...place, "fill-opacity": (0.04 + 0.96 * share).toFixed(3) });
      }),
    );
    const [x, y] = [toX(GRID[found.best[0]]), toY(GRID[found.best[1]])];
    draw(this.best, "circle", { cx: x, cy: y, r: 5 });
    const isRight = x > BOX.left + BOX.width / 2;
    const text = { x: x + (isRight ? -10 : 10), y: y < BOX.top + 20 ? y + 16 : y - 8, "text-anchor": isRight ? "end" : "start" };
    draw(this.best, "text", text, `best ${found.most.toFixed(3)}`);
  }

  // The new point counts at once for the next key, although it is drawn with the next frame.
  go(weights, isReleased) {
    this.at = weights;
    this.move(...weights, isReleased);
  }

  weightsAt(event) {
    const place = new DOMPoint(event.clientX, event.clientY).matrixTransform(this.svg.getScreenCTM().inverse());
    const [across, up] = [(place.x - BOX.left) / BOX.width, 1 - (place.y - BOX.top) / BOX.height];
    return [toStep(across * SPAN - HALF), toStep(up * SPAN - HALF)];
  }

  grab(event) {
    if (event.button) return;
    event.preventDefault();
    this.svg.setPointerCapture(event.pointerId);
    this.point.focus({ preventScroll: true });
    this.held = event.pointerId;
    this.go(this.weightsAt(event), false);
  }

  follow(event) {
    if (this.held === event.pointerId) this.go(this.weightsAt(event), false);
    else if (this.held === undefined) this.look(this.weightsAt(event));
  }

  release(event) {
    if (this.held !== event.pointerId) return;
    this.held = undefined;
    this.go(this.at, true);
  }

  press(event) {
    const step = event.shiftKey ? LARGE_STEP : STEP;
    const way = KEYS[event.key];
    if (!way || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    this.go(this.at.map((weight, i) => toStep(weight + way[i] * step)), true);
  }
}

// The borders between the cells of the plateau and the others.
function outline(plateau) {
  const has = (i, j) => Boolean(plateau[i]?.[j]);
  const x = (i) => BOX.left + (i * BOX.width) / GRID.length;
  const y = (j) => BOX.top + BOX.height - (j * BOX.height) / GRID.length;
  const lines = [];
  for (let i = 0; i <= GRID.length; i++) {
    for (let j = 0; j <= GRID.length; j++) {
      if (has(i, j) !== has(i - 1, j)) lines.push(`M${x(i)} ${y(j)}V${y(j + 1)}`);
      if (has(i, j) !== has(i, j - 1)) lines.push(`M${x(i)} ${y(j)}H${x(i + 1)}`);
    }
  }
  return lines.join("");
}
