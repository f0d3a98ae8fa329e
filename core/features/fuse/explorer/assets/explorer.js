// The explorer: verdict, scores, sliders, plane and the rows that move. All of them follow every move.

const SETTLE_MS = 300; // after the last key, before asking the server for results that the browser cannot compute
const LOST_MS = 5000; // weights without an answer count as lost after this time

class Explorer {
  // root: the section of explorer.html. send: called with the weights after the last move, null if nobody listens.
  constructor(root, content, send) {
    this.root = root;
    this.content = content;
    this.others = content.names.slice(1);
    this.send = send;
    this.fusion = new Fusion(content);
    this.position = 0;
    this.which = "de";
    this.planes = new Map(); // by everything that the plane depends on
    this.find = (name) => root.querySelector(`.${name}`);
    this.plane = new Plane(root.querySelectorAll(".plane svg"), (...weights) => this.moveTo(...weights), (at) => this.look(at));
    this.fillHead();
    this.fillSliders();
    this.fillChoices();
    this.movers = new Movers(root.querySelector(".moved"), this.fusion);
  }

  fillHead() {
    const { content } = this;
    if (content.outcome) {
      const titles = ["", "now", `change against ${content.baseline}`];
      this.find("scores thead").append(element("tr", "", ...titles.map((title) => element("th", "", title))));
      this.find("scores tbody").append(...METRICS.map((metric) => this.scoreLine(metric)));
    }
    const effects = content.outcome ? decode(content.outcome, Uint8Array).filter((flags) => flags & EFFECT).length : 0;
    const rows = `${content.rows.toLocaleString("en")} rows`;
    this.find("counts").textContent = content.outcome
      ? `${rows}, ${effects.toLocaleString("en")} with an effect; chance 0.5; 95% intervals ${content.reach.mean.said}, and by rows alone`
      : `${rows}, no labels here: how far the ranks agree with ${content.baseline}, not a score`;
  }

  // A line of the table, whose texts change with the weights.
  scoreLine(metric) {
    const cells = ["after", "change"].map((name) => {
      const texts = ["number", "range", "note"].map((kind) => element("span", kind));
      (this.texts ??= {})[`${metric} ${name}`] = texts;
      return element("td", "", ...texts);
    });
    return element("tr", metric, element("th", "", NAMES[metric]), ...cells);
  }

  fillSliders() {
    this.sliders = { de: [], up: [] };
    this.find("sliders").classList.toggle("several", this.others.length > 1);
    this.left = {};
    for (const key of ["de", "up"]) {
      const column = element("div", "column");
      this.others.forEach((name, i) => {
        const slider = Object.assign(document.createElement("input"), { type: "range", min: 0, max: 1, step: STEP });
        const value = element("output", "");
        const title = `${possessive(name)} share in ${QUESTIONS[key]}`;
        slider.setAttribute("aria-label", title); // without its value, because a screen reader says it anyway
        const label = element("label", "", element("span", "", title), value, slider);
        slider.addEventListener("input", () => this.set(key, i, Number(slider.value), i === this.position ? undefined : true));
        slider.addEventListener("change", () => this.settle());
        slider.dataset.key = `${key === "de" ? "w_de" : "w_dir"}_${this.content.keys[i]}`;
        this.sliders[key].push({ slider, value });
        column.append(label);
      });
      this.left[key] = element("p", "note");
      column.append(this.left[key]);
      this.find("sliders").append(column);
    }
  }

  // Choices: the component that the plane moves, if there are several, and the question whose ranks are listed.
  fillChoices() {
    if (this.others.length > 1) {
      this.find("moves").append(element("span", "", "Move the weights of"));
      const place = this.find("moves").appendChild(element("span", "which"));
      addChoice(place, this.others, this.position, (i) => this.choose(i));
    }
    addChoice(this.find("moved .which"), Object.values(QUESTIONS), 0, (i) => {
      this.which = Object.keys(QUESTIONS)[i];
      this.schedule();
    });
  }

  choose(position) {
    this.position = position;
    this.schedule();
    this.settle();
  }

  // From the server: weights chosen elsewhere, the noise of cuts, the optimism, mixes, links.
  update(state) {
    const weights = JSON.stringify([state.de, state.up]);
    const isLate = this.sent && this.sent.weights !== weights && performance.now() - this.sent.at < LOST_MS;
    this.state = state;
    if (!isLate && !this.resting && this.plane.held === undefined) {
      this.weights = { de: state.de, up: state.up };
      this.setPosition(state.position);
      this.sent = null;
    }
    this.find("caution").textContent = state.caution;
    this.find("remark").textContent = state.note ?? "";
    this.fillMixes(state.mixes);
    this.schedule();
    this.announcing = true;
  }

  setPosition(position) {
    this.position = position;
    [...(this.find("moves .which")?.children ?? [])].forEach((each, i) => each.setAttribute("aria-pressed", String(i === position)));
  }

  fillMixes(mixes) {
    const best = this.found && { name: "best on the plane", ...this.bestWeights() };
    const key = JSON.stringify([mixes, best]);
    if (key === this.mixes) return;
    this.mixes = key;
    const buttons = [...mixes, ...(best ? [best] : [])].map((mix) => {
      const button = element("button", "", mix.name);
      button.type = "button";
      button.addEventListener("click", () => {
        this.weights = { de: mix.de.slice(), up: mix.up.slice() };
        if (mix.noise !== undefined) this.state = { ...this.state, noise: mix.noise }; // if there is no server
        this.schedule();
        this.settle();
      });
      return button;
    });
    this.find("mixes").replaceChildren(...buttons);
  }

  bestWeights() {
    const at = (key, k) => this.weights[key].with(this.position, GRID[this.found.best[k]]);
    return { de: at("de", 0), up: at("up", 1) };
  }

  set(key, position, value) {
    this.weights = { ...this.weights, [key]: this.weights[key].with(position, value) };
    this.schedule();
  }

  moveTo(de, up, isReleased) {
    this.set("de", this.position, de);
    this.set("up", this.position, up);
    if (isReleased) this.settle();
  }

  // Asks the server for its results after the last move.
  settle() {
    clearTimeout(this.resting);
    this.resting = setTimeout(() => {
      this.resting = 0;
      this.announcing = true;
      this.schedule();
      if (!this.send) return;
      const { de, up } = this.weights;
      this.sent = { weights: JSON.stringify([de, up]), at: performance.now() };
      this.send({ de, up, position: this.position });
    }, SETTLE_MS);
  }

  schedule() {
    this.frame ??= requestAnimationFrame(() => {
      this.frame = undefined;
      if (this.weights) this.draw();
    });
  }

  leave() {
    this.forget?.();
    clearTimeout(this.resting);
    cancelAnimationFrame(this.frame);
    this.gone = true;
  }

  draw() {
    const { fusion, weights } = this;
    fusion.fuse(toShares(weights.de), toShares(weights.up));
    this.drawHands();
    this.drawScores();
    this.movers.draw(this.which, this.state.links);
    this.root.dataset.frames = Number(this.root.dataset.frames ?? 0) + 1;
    this.showPlane();
    if (this.announcing) {
      this.announcing = false;
      this.find("unseen").textContent = this.find("words").textContent;
    }
  }

  drawHands() {
    for (const key of ["de", "up"]) {
      const total = sumOf(this.weights[key]);
      this.sliders[key].forEach(({ slider, value }, i) => {
        slider.value = this.weights[key][i];
        value.textContent = this.weights[key][i].toFixed(2);
      });
      const [base] = this.content.names;
      const more = this.state.rest ? `, ${this.state.rest}` : "";
      this.left[key].textContent =
        total > 1 ? `sum to ${total.toFixed(2)}: scaled to 1, so ${base} has none` : `${base} keeps ${(1 - total).toFixed(2)}${more}`;
    }
    const name = this.others[this.position];
    const titles = Object.values(QUESTIONS).map((question) => `${shorten(possessive(name), 34)} share in ${question}`);
    this.plane.name(`${possessive(name)} share in P(DE) and P(up | DE); arrow keys move it, with Shift by ten times as much`, titles);
    this.plane.show(this.weights.de[this.position], this.weights.up[this.position]);
  }

  drawScores() {
    if (!this.content.outcome) {
      this.drawAgreement();
      return;
    }
    const found = this.fusion.score(this.state.noise);
    for (const metric of METRICS) {
      const { after, change } = found[metric];
      const better = Number.isNaN(change.better) ? "" : ` · P(better) ${change.better.toFixed(2)}`;
      this.writeScore(`${metric} after`, after, false, "");
      this.writeScore(`${metric} change`, change, true, better);
    }
    const { baseline, names } = this.content;
    const isNothing = !sumOf(this.weights.de) && !sumOf(this.weights.up);
    this.find("words").textContent = verdictText(found.mean.change, baseline, baseline === names[0], isNothing);
  }

  writeScore(place, part, isSigned, more) {
    const [number, range, note] = this.texts[place];
    number.textContent = numberText(part.value, isSigned);
    range.textContent = rangeText(part.shown, isSigned);
    note.textContent = `by rows ${rangeText(part.row, isSigned)}${more}`;
  }

  drawAgreement() {
    const [de, dir] = this.fusion.agreement();
    this.find("words").textContent = `No labels here. Rank correlation with ${this.content.baseline}: DE ${numberText(de)}, DIR ${numberText(dir)}.`;
  }

  // The plane depends on the other components' weights. It is computed after their last change, a few columns in each frame.
  showPlane() {
    const held = JSON.stringify([this.position, ...["de", "up"].map((key) => this.weights[key].with(this.position, 0))]);
    if (held === this.shownPlane) return;
    this.shownPlane = held;
    if (!this.content.outcome) {
      this.look(null);
      return;
    }
    if (this.planes.has(held)) {
      this.showFound(this.planes.get(held));
      return;
    }
    this.showFound(null);
    const { position, weights } = this;
    const [de, dir] = [[], []];
    const next = () => {
      if (this.gone || this.shownPlane !== held) return;
      const until = performance.now() + 6;
      do {
        const values = this.fusion.gridValues(position, weights, de.length);
        de.push(values[0]);
        dir.push(values[1]);
      } while (de.length < GRID.length && performance.now() < until);
      if (de.length < GRID.length) {
        setTimeout(next);
        return;
      }
      this.planes.set(held, this.fusion.plane(position, weights, de, dir));
      this.showFound(this.planes.get(held));
    };
    setTimeout(next);
  }

  showFound(found) {
    this.found = found;
    this.plane.fill(found);
    this.fillMixes(this.state.mixes);
    this.look(null);
  }

  // Describes the plane, and the mean under the pointer.
  look(at) {
    const { found } = this;
    const caption = this.find("plane figcaption");
    if (!this.content.outcome) caption.textContent = "Drag the cross, click, or use the arrow keys.";
    else if (!found) caption.textContent = "The mean of DE and DIR at all weights is being computed …";
    else if (at) {
      const [i, j] = at.map((weight) => Math.round(weight * (GRID.length - 1)));
      caption.textContent = `mean ${numberText(found.mean[i][j])} at ${GRID[i]}, ${GRID[j]}${found.plateau[i][j] ? ": as good as the best, within one standard error" : ""}`;
    } else {
      const least = Math.min(...found.mean.flat());
      caption.textContent = `Mean of DE and DIR, ${numberText(least)} (pale) to ${numberText(found.most)} (full). ✚ now: drag, click, or arrow keys. Outline: within one standard error of the best (${numberText(found.se)}).`;
    }
  }
}

// Puts an explorer into a place; content and state are made by core/features/fuse/explorer/content.py and its callers.
function mountExplorer(place, content, send) {
  place.innerHTML = PAGE;
  return new Explorer(place.firstElementChild, content, send);
}
