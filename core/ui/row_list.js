// The list of rows. Only the visible rows are drawn, so that ten thousand scroll smoothly. The rows come once; the open
// row comes by an event, so that a step to the next row does not send them all again.

const ROW_PX = 30;
const SPARE = 10; // rows drawn above and below those in sight
const LEAST_PX = 240;
const BELOW_PX = 24; // between the list and the window's lower edge
const REST_MS = 120; // of moves that follow faster than this, only the last opens its row
const LOST_MS = 5000; // a row that has not arrived by then is requested again
const SETTLE_MS = 1000; // time after the last move until the list and the page are synchronised
const HASH_BYTES = 64; // before the rows' JSON
const KEYS = [
  ["← →", "previous, next row"],
  ["↑ ↓ or k j", "the same, in the list"],
  ["Page ↑ ↓", "a screen of the list"],
  ["Home End", "first, last row"],
  ["/", "search"],
  ["n", "write a note"],
  ["c", "copy the link to this row"],
  ["?", "these keys"],
];

const lists = new WeakMap();

export default function ({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".row-list");
  let list = lists.get(root);
  if (!list) {
    list = new RowList(root);
    lists.set(root, list);
  }
  list.send = (id) => setTriggerValue("row", id);
  list.setRows(data);
  return () => list.leave();
}

class RowList {
  constructor(root) {
    this.root = root;
    this.box = root.querySelector(".rows");
    this.space = root.querySelector(".space");
    this.keys = root.querySelector(".keys");
    this.drawn = "";
    this.at = -1;
    this.sentAt = 0;
    this.movedAt = -SETTLE_MS;
    this.fillKeys();
    this.box.addEventListener("scroll", () => this.draw());
    this.box.addEventListener("click", (event) => {
      const row = event.target.closest("[role=option]");
      if (row) this.open(Number(row.dataset.place));
    });
    this.onOpen = (event) => this.follow(event.detail);
    this.onKey = (event) => this.press(event);
    this.onClick = (event) => event.target.closest?.(MOVERS) && this.forget();
    this.onResize = () => this.fit();
    document.addEventListener("row-opened", this.onOpen);
    document.addEventListener("keydown", this.onKey);
    document.addEventListener("click", this.onClick, true);
    window.addEventListener("resize", this.onResize);
  }

  leave() {
    document.removeEventListener("row-opened", this.onOpen);
    document.removeEventListener("keydown", this.onKey);
    document.removeEventListener("click", this.onClick, true);
    window.removeEventListener("resize", this.onResize);
    clearTimeout(this.timer);
    clearTimeout(this.settling);
    lists.delete(this.root);
  }

  setRows(packed) {
    const version = textOf(packed.subarray(0, HASH_BYTES));
    if (version !== this.version) {
      this.version = version;
      this.data = JSON.parse(textOf(packed.subarray(HASH_BYTES)));
      this.root.querySelector(".count").textContent = this.data.count;
      const title = this.root.querySelector(".titles .value");
      title.textContent = this.data.name;
      title.title = this.data.meaning;
      this.places = new Map(this.data.ids.map((id, place) => [id, place]));
      this.space.style.height = `${this.data.ids.length * ROW_PX}px`;
      this.drawn = "";
      this.waiting = null;
      clearTimeout(this.timer);
      clearTimeout(this.settling);
      this.movedAt = -SETTLE_MS;
      this.at = -1;
      this.box.scrollTop = 0;
    }
    this.fit();
    this.follow(globalThis.openedRow);
  }

  // The list and the row beside it end at the window's lower edge.
  fit() {
    const height = Math.min(this.data.ids.length * ROW_PX, Math.max(LEAST_PX, window.innerHeight - topOf(this.box) - BELOW_PX));
    this.box.style.height = `${height}px`;
    const pane = rowPane();
    if (pane) document.documentElement.style.setProperty("--row-pane-top", `${topOf(pane)}px`);
    this.draw();
  }

  // Marks the row shown on the page, but not just after a move, because the page may still show an earlier row.
  follow(id) {
    if (this.waiting === id) this.waiting = null;
    this.beginAtTop(id);
    if (performance.now() - this.movedAt < SETTLE_MS) return;
    const place = this.places?.get(id);
    if (place !== undefined && !this.waiting) this.mark(place);
  }

  // Another row starts at its top.
  beginAtTop(id) {
    const pane = rowPane();
    if (pane && this.read !== id) pane.scrollTop = 0;
    this.read = id;
  }

  // After the last move: requests a missing row again, and marks a row that somebody opened elsewhere.
  settle() {
    if (this.waiting) {
      if (performance.now() - this.sentAt > LOST_MS) this.ask();
      this.settling = setTimeout(() => this.settle(), SETTLE_MS);
    } else {
      this.movedAt = -SETTLE_MS;
      this.follow(globalThis.openedRow);
    }
  }

  // Another row is opened by a button of the page, which then may never report the one requested here.
  forget() {
    if (this.sentAt >= this.movedAt) this.waiting = null;
  }

  ask() {
    this.sentAt = performance.now();
    this.send(this.waiting);
  }

  open(place) {
    if (place < 0 || place >= this.data.ids.length || place === this.at) return;
    this.mark(place);
    this.waiting = this.data.ids[place];
    this.movedAt = performance.now();
    clearTimeout(this.timer);
    clearTimeout(this.settling);
    this.settling = setTimeout(() => this.settle(), SETTLE_MS);
    const since = performance.now() - this.sentAt;
    if (since > REST_MS) this.ask();
    else this.timer = setTimeout(() => this.ask(), REST_MS - since);
  }

  mark(place) {
    this.at = place;
    const top = place * ROW_PX;
    const shown = this.box.clientHeight;
    if (top < this.box.scrollTop || top + ROW_PX > this.box.scrollTop + shown) {
      this.box.scrollTop = Math.max(0, top - (shown - ROW_PX) / 2);
    }
    this.draw();
  }

  draw() {
    if (!this.data) return;
    const first = Math.max(0, Math.floor(this.box.scrollTop / ROW_PX) - SPARE);
    const last = Math.min(this.data.ids.length, Math.ceil((this.box.scrollTop + this.box.clientHeight) / ROW_PX) + SPARE);
    const now = `${first}-${last}-${this.at}`;
    if (now === this.drawn) return;
    this.drawn = now;
    const rows = [];
    for (let place = first; place < last; place++) rows.push(this.row(place));
    this.space.replaceChildren(...rows);
    this.box.setAttribute("aria-activedescendant", this.at >= first && this.at < last ? `row-${this.at}` : "");
  }

  row(place) {
    const { perts, genes, values, labels, marks, says, kinds } = this.data;
    const row = element("div", "row");
    row.id = `row-${place}`;
    row.dataset.place = place;
    row.setAttribute("role", "option");
    row.setAttribute("aria-selected", String(place === this.at));
    row.setAttribute("aria-posinset", place + 1);
    row.setAttribute("aria-setsize", this.data.ids.length);
    row.style.top = `${place * ROW_PX}px`;
    const pair = element("span", "pair");
    pair.append(element("i", "", perts[place]), " ⟶ ", element("i", "", genes[place]));
    pair.title = `${perts[place]} ⟶ ${genes[place]}`;
    const label = kinds[labels[place]];
    const sign = element("span", "sign", label.sign);
    sign.style.color = label.colour;
    sign.title = label.name;
    const mark = element("span", "marks", marks[place]);
    mark.title = says[place];
    const value = values[place] === null ? "–" : values[place].toFixed(this.data.decimals);
    row.append(pair, element("span", "value", value), sign, mark);
    row.setAttribute("aria-label", `${pair.title}, ${this.data.name} ${value}, ${label.name}${says[place] ? `, ${says[place]}` : ""}`);
    return row;
  }

  press(event) {
    const within = event.composedPath()[0];
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(within)) return;
    const here = this.root.contains(within) || within === document.body;
    const page = Math.max(1, Math.floor(this.box.clientHeight / ROW_PX) - 1);
    const moves = {
      j: 1, k: -1,
      ...(here && { ArrowDown: 1, ArrowUp: -1 }),
      ...(within.type === "checkbox" && { ArrowRight: 1, ArrowLeft: -1 }), // because Streamlit's buttons ignore these keys
      ...(this.root.contains(within) && { PageDown: page, PageUp: -page, Home: -this.at, End: this.data.ids.length - 1 - this.at }),
    };
    const others = { "/": () => focusOn(".st-key-q input"), n: writeNote, c: () => document.dispatchEvent(new CustomEvent("copy-link")), "?": () => this.showKeys() };
    if (event.key in moves) {
      const place = this.at + moves[event.key];
      this.open(Math.min(this.data.ids.length - 1, Math.max(0, place)));
    } else if (event.key in others) others[event.key]();
    else {
      if (event.key === "ArrowLeft" || event.key === "ArrowRight") this.forget();
      return;
    }
    event.preventDefault();
  }

  showKeys() {
    this.keys.hidden = !this.keys.hidden;
    this.root.querySelector(".help").setAttribute("aria-expanded", String(!this.keys.hidden));
  }

  fillKeys() {
    const lines = KEYS.map(([key, what]) => {
      const line = element("div", "");
      line.append(element("kbd", "", key), ` ${what}`);
      return line;
    });
    this.keys.replaceChildren(...lines);
    this.root.querySelector(".help").addEventListener("click", () => this.showKeys());
  }
}

function element(tag, kind, text = "") {
  const made = document.createElement(tag);
  if (kind) made.className = kind;
  made.textContent = text;
  return made;
}

function textOf(bytes) {
  return new TextDecoder().decode(bytes);
}

function rowPane() {
  return document.querySelector(".st-key-row-pane");
}

// The position of an element in the page, independent of scrolling.
function topOf(element) {
  return element.getBoundingClientRect().top + (document.querySelector("[data-testid=stMain]")?.scrollTop ?? 0);
}

function isTyping(target) {
  return target.closest?.("input:not([type=checkbox]), textarea, select, [contenteditable=true], [role=slider]") != null;
}

function focusOn(selector) {
  document.querySelector(selector)?.focus();
}

const NOTES_WAIT_MS = 5000;
const MOVERS = ".st-key-go-left, .st-key-go-right"; // Streamlit's buttons beside the row, which ← and → press

// The notes are in an expander, which must be open before a person can write. They are drawn last, so someone may ask
// for them before.
function writeNote() {
  const end = performance.now() + NOTES_WAIT_MS;
  let isOpened = false;
  (function attempt() {
    const notes = document.querySelector(".st-key-notes details");
    if (notes && !notes.open && !isOpened) {
      notes.querySelector("summary").click();
      isOpened = true;
    }
    const field = document.querySelector(".st-key-note_text textarea");
    if (field?.offsetParent) field.focus();
    if ((!field || document.activeElement !== field) && performance.now() < end) requestAnimationFrame(attempt);
  })();
}
