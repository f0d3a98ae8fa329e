// The filtered rows and their list. Only the visible rows are drawn.
"use strict";

const ROW_PX = 34;
const SPARE = 10; // rows drawn above and below those in sight
const ORDERS = {
  "": ["file order", null],
  high: ["high first", (p) => -p],
  low: ["low first", (p) => p],
};
const NAMES = ["q", "all", "label", "call", "flag", "argued", "low", "high", "order"];
const field = (name) => document.getElementById(name);

/** The values of the filters, "" for an inactive one. */
function readFilters() {
  return Object.fromEntries(NAMES.map((name) => [name, field(name).type === "checkbox" ? (field(name).checked ? "on" : "") : field(name).value.trim()]));
}

function writeFilters(values) {
  for (const name of NAMES) {
    const input = field(name);
    const value = values.get(name) ?? "";
    if (input.type === "checkbox") input.checked = value === "on";
    else input.value = value;
    if (input.value === "" && value && input.tagName === "SELECT") input.selectedIndex = 0;
  }
}

/** Fills the choices with the values in this run; a filter with a single value is left out. */
function fillFilters() {
  const { rows, run } = site;
  const options = (name, any, choices) => {
    field(name).replaceChildren(...[["", any], ...choices].map(([value, text]) => make("option", { value }, text)));
    if (choices.length < 2) field(name).closest("label").hidden = true;
  };
  const labels = [...new Set(rows.label)].map((label) => label ?? run.noLabel).sort();
  options("label", "any", labels.map((label) => [label, label]));
  const outcomes = Object.keys(run.outcomes).filter((outcome) => rows.outcome.includes(outcome));
  options("call", "any", outcomes.map((outcome) => [outcome, outcome]));
  if (outcomes.length) field("call").closest("label").hidden = false;
  const flags = [...new Set(rows.flags.flat())].sort((a, b) => a - b).map((code) => run.flags[code][0]);
  options("flag", "any", flags.map((name) => [name, name]));
  field("flag").closest("label").hidden = !flags.length;
  const most = Math.max(0, ...rows.advocates);
  options("argued", "any", [...Array(most + 1).keys()].map((n) => [String(n), `${n} of ${most} advocates`]));
  field("argued").closest("label").hidden = !run.hasBriefs;
  const orders = Object.entries(ORDERS).map(([value, [text]]) => [value, value ? `${run.p_de}, ${text}` : text]);
  field("order").replaceChildren(...orders.map(([value, text]) => make("option", { value }, text)));
  field("low-title").textContent = `${run.p_de} from %`;
}

/** The positions of the filtered rows, in order. texts: whether to search all texts, which must be loaded. */
function matching(filters) {
  const { rows, run } = site;
  const sought = filters.q.toLowerCase();
  const low = filters.low === "" ? 0 : Number(filters.low) / 100;
  const high = filters.high === "" ? 1 : Number(filters.high) / 100;
  const ranged = filters.low !== "" || filters.high !== "";
  const named = (place) =>
    [rows.pair_id[place], `${rows.pert[place]} ${rows.gene[place]}`, `${rows.pert[place]} ⟶ ${rows.gene[place]}`].some((name) => name.toLowerCase().includes(sought));
  const places = rows.pair_id.map((_, place) => place).filter(
    (place) =>
      (!filters.label || (rows.label[place] ?? run.noLabel) === filters.label) &&
      (!filters.call || rows.outcome[place] === filters.call) &&
      (!filters.flag || rows.flags[place].some((code) => run.flags[code][0] === filters.flag)) &&
      (!filters.argued || rows.argued[place] === Number(filters.argued)) &&
      (!ranged || (rows.p_de[place] !== null && rows.p_de[place] >= low && rows.p_de[place] <= high)) &&
      (!sought || named(place) || (filters.all && site.searchText(place).includes(sought))),
  );
  const key = (ORDERS[filters.order] ?? ORDERS[""])[1];
  const value = (place) => (rows.p_de[place] === null ? Infinity : key(rows.p_de[place]));
  return key ? places.sort((a, b) => value(a) - value(b) || a - b) : places;
}

/** The list; `opened` is called with a row's position in the file. */
class RowList {
  constructor(opened) {
    this.opened = opened;
    this.places = [];
    this.chosen = -1; // a position in the file
    this.box = field("list");
    this.space = field("space");
    this.box.addEventListener("scroll", () => this.draw());
    window.addEventListener("resize", () => this.draw());
    this.box.addEventListener("click", (event) => {
      const option = event.target.closest("[role=option]");
      if (option) this.opened(Number(option.dataset.place));
    });
  }

  setRows(places) {
    this.places = places;
    this.space.style.height = `${places.length * ROW_PX}px`;
    this.choose(this.chosen);
  }

  /** Marks the shown row and scrolls to it. */
  choose(place) {
    this.chosen = place;
    const top = this.places.indexOf(place) * ROW_PX;
    if (top >= 0 && (top < this.box.scrollTop || top + ROW_PX > this.box.scrollTop + this.box.clientHeight))
      this.box.scrollTop = top - this.box.clientHeight / 3;
    this.draw();
  }

  /** Opens the next row, or the previous one for -1. */
  step(by) {
    const at = this.places.indexOf(this.chosen);
    const next = at < 0 ? 0 : at + by;
    if (next >= 0 && next < this.places.length) this.opened(this.places[next]);
  }

  draw() {
    const first = Math.max(0, Math.floor(this.box.scrollTop / ROW_PX) - SPARE);
    const last = Math.min(this.places.length, Math.ceil((this.box.scrollTop + this.box.clientHeight) / ROW_PX) + SPARE);
    this.space.replaceChildren(...this.places.slice(first, last).map((place, n) => this.option(place, first + n)));
    if (this.places.includes(this.chosen)) this.box.setAttribute("aria-activedescendant", `row-${this.chosen}`);
    else this.box.removeAttribute("aria-activedescendant");
  }

  option(place, at) {
    const { rows, run } = site;
    const [sign, word] = run.labels[rows.label[place] ?? "unknown"];
    const number = rows.failed[place] ? "failed" : run.rankScores ? rows.p_de[place].toFixed(2) : percent(rows.p_de[place]);
    const option = make(
      "div",
      { role: "option", id: `row-${place}`, "data-place": place, "aria-selected": String(place === this.chosen), "aria-setsize": this.places.length, "aria-posinset": at + 1 },
      make("span", { class: "pair" }, ...pairName(place)),
      make("span", { class: "p" }, number),
      make("span", { class: `sign ${rows.label[place] ?? "unknown"}`, role: "img", "aria-label": word, title: word }, sign),
      make("span", { class: "warned", role: "img", "aria-label": rows.flags[place].length ? "has flags" : "no flags" }, rows.flags[place].length ? "⚠" : ""),
    );
    option.style.top = `${at * ROW_PX}px`;
    return option;
  }
}
