// The page. The address contains the shown row and the filters, so a link leads a colleague to the same place.
"use strict";

const REST_MS = 200; // after the last letter of a search
const page = document.getElementById("page");
const list = new RowList((place) => go({ row: site.rows.pair_id[place], about: "" }));
const places = new Map(site.rows.pair_id.map((pairId, place) => [pairId, place]));
let turn = 0; // number of the latest search; an older one shows nothing
let shown = null; // what the page shows

function address() {
  return new URLSearchParams(location.hash.slice(1));
}

/** Goes to the address with these values changed; "" removes one. */
function go(changes, { replace = false } = {}) {
  const values = address();
  for (const [name, value] of Object.entries(changes)) value ? values.set(name, value) : values.delete(name);
  const hash = `#${values}`;
  if (hash === (location.hash || "#")) return;
  if (replace) history.replaceState(null, "", hash);
  else history.pushState(null, "", hash);
  follow();
}

/** Shows the row and the filters in the address. */
async function follow() {
  const values = address();
  writeFilters(values);
  await showRows();
  const opens = values.has("row") || values.has("about") ? null : site.run.opens;
  await showPage(values.get("row") ?? opens, opens !== null);
}

async function showRows() {
  const mine = ++turn;
  const filters = readFilters();
  const status = field("count");
  if (filters.q && filters.all && !(await loadAll(mine))) return;
  if (mine !== turn) return;
  const found = matching(filters);
  list.setRows(found);
  const all = site.rows.pair_id.length.toLocaleString("en");
  status.textContent = found.length ? `${found.length.toLocaleString("en")} of ${all} rows` : `None of the ${all} rows matches.`;
}

/** Loads every text and shows the progress; false if a later search replaced this one or a file cannot be read. */
async function loadAll(mine) {
  const bar = field("progress");
  const total = site.run.chunks;
  let done = 0;
  bar.max = total;
  try {
    for (let chunk = 0; chunk < total; chunk++) {
      if (!site.texts[chunk]) {
        bar.hidden = false;
        bar.value = done;
        field("count").textContent = `Loading texts: ${done} of ${total} files`;
        await site.loadTexts(chunk);
      }
      if (mine !== turn) return false;
      done++;
    }
  } catch (error) {
    field("count").textContent = error.message;
    return false;
  } finally {
    if (mine === turn) bar.hidden = true;
  }
  return true;
}

/** isFirst: whether nobody has chosen the row, so that it needs an explanation. */
async function showPage(row, isFirst) {
  const sought = field("q").value.trim().toLowerCase();
  const key = JSON.stringify([row, sought, isFirst]);
  if (key === shown) return;
  shown = key;
  const place = places.get(row);
  document.body.classList.toggle("reading", row !== null && !isFirst);
  list.choose(place ?? -1);
  document.title = `${place === undefined ? "" : `${site.rows.pert[place]} ⟶ ${site.rows.gene[place]} · `}${site.run.name} · ${site.run.dataset}`;
  if (place === undefined) {
    const missing = row === null ? "" : make("p", { class: "flag" }, `${row}: no such row in this run.`);
    page.replaceChildren(row === null ? "" : controls(), missing, ...runPage());
    return;
  }
  let nodes;
  try {
    nodes = rowPage(place, await site.textsOf(place), sought, controls());
  } catch (error) {
    nodes = [controls(), make("p", { class: "flag" }, error.message)];
  }
  if (key !== shown) return;
  page.replaceChildren(isFirst ? make("p", { class: "intro" }, site.run.intro) : "", ...nodes);
  page.scrollTop = 0;
  window.scrollTo(0, 0);
}

function controls() {
  const button = (text, act, title) => {
    const made = make("button", { type: "button", title }, text);
    made.addEventListener("click", () => act(made));
    return made;
  };
  return make(
    "nav",
    { class: "controls", "aria-label": "Rows" },
    button("All rows", () => go({ row: "", about: "1" }), "Back to the list and the run"),
    button("◂ Previous", () => list.step(-1), "k or ↑"),
    button("Next ▸", () => list.step(1), "j or ↓"),
    button("Copy link", copyLink, "c"),
    button("Print", () => window.print(), "This row alone"),
  );
}

async function copyLink(button) {
  try {
    await navigator.clipboard.writeText(location.href);
    button.textContent = "Link copied";
  } catch {
    button.textContent = "Copy it from the address bar";
  }
}

function press(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const typing = event.target.closest?.("input, select, textarea");
  if (typing) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  const acts = {
    j: () => list.step(1),
    k: () => list.step(-1),
    ArrowDown: () => list.step(1),
    ArrowUp: () => list.step(-1),
    "/": () => {
      go({ row: document.body.classList.contains("reading") && innerWidth < 700 ? "" : address().get("row") });
      field("q").focus();
      field("q").select();
    },
    c: () => copyLink([...page.querySelectorAll("nav button")].find((button) => button.title === "c") ?? {}),
  };
  if (!(event.key in acts)) return;
  if (event.key.startsWith("Arrow") && event.target.closest?.("#page")) return; // they scroll the text
  event.preventDefault();
  acts[event.key]();
}

function start() {
  if (!site.run || !site.rows) {
    page.textContent = "The data of this page cannot be read. Copy the whole folder again.";
    return;
  }
  fillFilters();
  field("sources").replaceChildren(...site.run.sources.map(([title, hash]) => make("span", {}, `${title} `, make("code", {}, hash))));
  let resting = 0;
  const changed = () => go(readFilters(), { replace: true });
  field("filters").addEventListener("submit", (event) => event.preventDefault());
  field("filters").addEventListener("input", (event) => {
    clearTimeout(resting);
    resting = setTimeout(changed, event.target.type === "search" || event.target.type === "number" ? REST_MS : 0);
  });
  field("about").addEventListener("click", () => {
    go({ row: "", about: "1" });
    page.scrollIntoView();
  });
  document.addEventListener("keydown", press);
  window.addEventListener("hashchange", follow);
  window.addEventListener("popstate", follow);
  window.addEventListener("beforeprint", () => page.querySelectorAll("details").forEach((card) => (card.open = true)));
  follow();
}

start();
