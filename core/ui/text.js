// Text from models, papers and files becomes text nodes. A few marks of Markdown are drawn; nothing becomes HTML or a link.
"use strict";

const EMPHASIS = /\*\*([^\s*](?:[^*\n]*[^\s*])?)\*\*|(?<![\w*])\*([^\s*](?:[^*\n]*[^\s*])?)\*(?![\w*])/g;
const ANSWER = /<(prob|answer)>([^<>\n]*)<\/\1>/gi;
const THINKING = /<(\/?)think(?:ing)?>/gi;
const MEANINGS = { prob: "probability given:", answer: "answer given:" };

/** An element with attributes and children (nodes or texts); the key `class` sets its class. */
function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) if (value !== null) element.setAttribute(key, value);
  element.append(...children.filter((child) => child !== null));
  return element;
}

/** A text with each hit of the search marked. */
function marked(text, sought) {
  const nodes = [];
  const lower = text.toLowerCase();
  let from = 0;
  // A letter with a longer lower-case form shifts all later positions, so such a text is shown without marks.
  let at = sought && lower.length === text.length ? lower.indexOf(sought) : -1;
  while (at >= 0) {
    nodes.push(text.slice(from, at), make("mark", {}, text.slice(at, at + sought.length)));
    from = at + sought.length;
    at = lower.indexOf(sought, from);
  }
  return [...nodes, text.slice(from)].filter((node) => node !== "");
}

/** A text with the matches of a pattern written by one function, and the rest by another. */
function replaced(pattern, text, found, rest) {
  const nodes = [];
  let from = 0;
  for (const match of text.matchAll(pattern)) {
    nodes.push(...rest(text.slice(from, match.index)), found(match));
    from = match.index + match[0].length;
  }
  return [...nodes, ...rest(text.slice(from))];
}

function words(text, sought) {
  const thought = (part) =>
    replaced(THINKING, part, (match) => make("em", { class: "said" }, match[1] ? "end of thinking" : "thinking:"), (rest) => marked(rest, sought));
  const given = (match) => make("span", {}, make("em", { class: "said" }, MEANINGS[match[1].toLowerCase()]), " ", ...marked(match[2].trim() || "–", sought));
  return replaced(ANSWER, text, given, thought);
}

function line(text, sought) {
  const strong = (match) => make(match[1] ? "strong" : "em", {}, ...words(match[1] || match[2], sought));
  return replaced(EMPHASIS, text, strong, (rest) => words(rest, sought));
}

/** The paragraphs, headings and lists of a model's text. */
function markdown(text, sought) {
  const blocks = [];
  let kind = "";
  for (const raw of text.split(/\r\n|[\n\r\u2028\u2029]/)) {
    const heading = /^#{1,6}\s+(.+)/.exec(raw);
    const item = /^\s*([-*•]|\d{1,2}[.)])\s+(.+)$/.exec(raw);
    if (heading) {
      blocks.push(make("p", { class: "heading" }, ...words(heading[1].replaceAll("**", "").replace(/[ #]+$/, ""), sought)));
      kind = "heading";
    } else if (item) {
      const list = /\d/.test(item[1]) ? "ol" : "ul";
      if (kind !== list) blocks.push(make(list, list === "ol" ? { start: parseInt(item[1], 10) } : {}));
      blocks.at(-1).append(make("li", {}, ...line(item[2], sought)));
      kind = list;
    } else if (!raw.trim()) {
      kind = "";
    } else if (kind === "line") {
      blocks.at(-1).append(make("br"), ...line(raw.trim(), sought));
    } else {
      blocks.push(make("p", {}, ...line(raw.trim(), sought)));
      kind = "line";
    }
  }
  return make("div", { class: "text" }, ...blocks);
}

/** A probability in whole percent, rounded half to even like in the app; an en dash if there is none. */
function percent(p) {
  if (p === null) return "–";
  const exact = 100 * p;
  const rounded = Math.round(exact);
  return `${exact % 1 === 0.5 && rounded % 2 ? rounded - 1 : rounded}%`;
}

function pairName(place) {
  const { pert, gene } = site.rows;
  return [make("i", {}, pert[place]), " ⟶ ", make("i", {}, gene[place])];
}
