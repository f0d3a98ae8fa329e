// The part beside the list: one row with all of its texts, or the run.
"use strict";

function bar(parts) {
  const pieces = parts.map(([name, , share]) => {
    const piece = make("span", { class: `piece ${name}` });
    piece.style.width = `${100 * Math.max(share, 0)}%`;
    return piece;
  });
  const named = parts.map(([name, sign, share]) =>
    make("span", {}, make("span", { class: `sign ${name}`, "aria-hidden": "true" }, sign), ` ${name} ${percent(share)}`),
  );
  return make("div", { class: "bar" }, make("div", { class: "pieces", "aria-hidden": "true" }, ...pieces), make("p", {}, ...named));
}

function labelOf(place) {
  const { rows, run } = site;
  const known = rows.label[place] ?? "unknown";
  const [sign, word] = run.labels[known];
  const outcome = rows.outcome[place];
  return make(
    "p",
    { class: "label" },
    rows.label[place] ? "label: " : null,
    make("span", { class: `sign ${known}`, "aria-hidden": "true" }, sign),
    ` ${word}`,
    outcome ? ` · ${run.outcomes[outcome]} ${outcome}` : null,
  );
}

function numbersOf(place) {
  const { rows, run } = site;
  if (rows.failed[place]) return [];
  const box = (name, text) => make("div", { class: "number" }, make("span", {}, name), make("strong", {}, text));
  const shown = run.rankScores ? (p) => (p === null ? "–" : p.toFixed(2)) : percent;
  const numbers = [box(run.p_de, shown(rows.p_de[place])), box(run.p_up, shown(rows.p_up_given_de[place]))];
  const [up, down] = [rows.prediction_up[place], rows.prediction_down[place]];
  if (!run.rankScores) {
    const sign = (name) => run.labels[name][0];
    numbers.push(bar([["up", sign("up"), up], ["down", sign("down"), down], ["none", sign("none"), 1 - up - down]]));
  }
  return [make("div", { class: "numbers" }, ...numbers)];
}

function advocatesOf(advocates) {
  if (!advocates.length) return [];
  const roles = new Set(advocates.map((one) => one.role));
  const argued = new Set(advocates.filter((one) => one.argued).map((one) => one.role));
  const number = argued.size === 0 ? "None" : argued.size;
  const sentence = `${number} of the ${roles.size} advocates argued (${site.run.argued}).`;
  const items = advocates.map((one) =>
    make("li", {}, make("strong", { class: `role ${one.role.toLowerCase()}` }, one.role), ` ${one.argued ? "✓" : "✗"} ${one.words}`),
  );
  return [make("section", { class: "advocates" }, make("p", {}, make("strong", {}, sentence)), make("ul", {}, ...items))];
}

function flagsOf(place) {
  return site.rows.flags[place].map((code) => {
    const [name, help] = site.run.flags[code];
    return make("p", { class: "flag" }, make("strong", {}, `⚠ ${name}`), help ? ` – ${help}` : null);
  });
}

function cardOf(card, open, sought) {
  const table = ({ columns, rows }) => {
    const head = make("tr", {}, ...columns.map((name) => make("th", { scope: "col" }, name)));
    const body = rows.map((cells) => make("tr", {}, ...cells.map((cell) => make("td", {}, ...marked(cell, sought)))));
    return make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": card.title }, make("table", {}, make("thead", {}, head), make("tbody", {}, ...body)));
  };
  const hit = sought && [card.lines, ...card.tables.flatMap(({ rows }) => rows.flat())].some((text) => text.toLowerCase().includes(sought));
  return make(
    "details",
    open || hit ? { open: "" } : {},
    make("summary", {}, ...marked(card.title, sought)),
    card.status ? make("p", { class: "flag" }, `⚠ ${card.status}`) : null,
    ...card.tables.map(table),
    card.lines ? make("div", { class: "text lines" }, ...marked(card.lines, sought)) : null,
    make("p", { class: "source" }, card.source),
  );
}

function stepOf(step, sought) {
  const title = step.p === null ? step.title : `${step.title}: ${percent(step.p)}`;
  const heading = make("h4", { class: `role ${step.role.toLowerCase()}` }, title);
  if (step.warning) heading.append(make("span", { class: "warning" }, ` ⚠ ${step.warning}`));
  return make("div", { class: "step" }, heading, step.text ? markdown(step.text, sought) : make("p", {}, "–"));
}

function stageOf(stage, sought) {
  const column = (steps) => make("div", { class: "side" }, ...steps.map((step) => stepOf(step, sought)));
  const rounds = stage.rounds.map((sides) => make("div", { class: "sides" }, ...sides.map(column)));
  return make("section", { class: "stage" }, make("h3", {}, stage.title), ...rounds, ...stage.steps.map((step) => stepOf(step, sought)));
}

/** The nodes of the shown row; its texts must be loaded. controls: of the row, such as next and previous. */
function rowPage(place, texts, sought, controls) {
  const dossier = texts.dossier.map((card, n) => cardOf(card, n === 0, sought));
  const title = `Dossier: ${dossier.length} answer${dossier.length === 1 ? "" : "s"}`;
  return [
    controls,
    make("div", { class: "title" }, make("h2", {}, ...pairName(place)), labelOf(place)),
    ...numbersOf(place),
    texts.error ? make("p", { class: "flag" }, make("strong", {}, "This row failed: "), texts.error) : "",
    ...advocatesOf(texts.advocates),
    ...flagsOf(place),
    ...texts.stages.map((stage) => stageOf(stage, sought)),
    texts.stages.length ? "" : make("p", {}, "This file has no trace of this row."),
    make("section", {}, make("h3", {}, dossier.length ? title : "Dossier"), ...dossier, texts.noDossier ? make("p", {}, texts.noDossier) : ""),
    texts.arithmetic.length
      ? make("section", {}, make("h3", {}, "How these numbers were computed"), make("div", { class: "text lines" }, texts.arithmetic.join("\n")))
      : "",
  ];
}

/** The nodes with the description of the run, its scores, and whether its advocates argued. */
function runPage() {
  const { run } = site;
  const facts = run.facts.flatMap(([title, value]) => [make("dt", {}, title), make("dd", {}, value)]);
  return [
    make("h2", {}, run.name),
    make("section", {}, make("h3", {}, "Scores"), make("div", { class: "text lines figures" }, run.scores.join("\n") || "no row was predicted, so there is no score")),
    run.audit ? make("section", {}, make("h3", {}, "Did the advocates argue?"), make("p", {}, run.audit)) : "",
    make("section", {}, make("h3", {}, "Where this comes from"), make("dl", {}, ...facts)),
    make("p", {}, "Choose a row in the list to read its texts. You can copy and send a link to a row: it opens the same row with the same filters."),
  ];
}
