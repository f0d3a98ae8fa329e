
// An agent's trace. Every text is set as text. Folded parts have a line of their own, and the bar above jumps to them.

const BAR_PX = 34;
const NAME = /\bPMID:?\s{0,2}(\d{1,8})\b|[\p{L}\d][\p{L}\d.-]*/gu;

export default function ({ data, parentElement }) {
  const root = parentElement.querySelector(".trace");
  const steps = []; // every drawn step, including those of called agents: {step, details}
  const list = stepList(data.steps, data, steps, "");
  root.replaceChildren(answerOf(data), barOf(data, steps), toolsOf(data, steps), list);
}

function answerOf({ answer, sums, sought }) {
  const title = make("p", { class: "finish" }, make("strong", {}, answer.title ? `answer: ${answer.title}` : "answer"), make("span", { class: "sums" }, sums));
  const box = make("div", { class: "answer" }, title, answer.text ? markdown(answer.text, sought) : null);
  markPassages(box, answer.passages);
  return box;
}

function stepList(drawn, data, steps, before) {
  const items = drawn.map((step, place) => make("li", {}, stepOf(step, `${before}${place + 1}`, data, steps)));
  return make("ol", { class: "steps" }, ...items);
}

function stepOf(step, number, data, steps) {
  const details = make("details", step.open ? { open: "" } : {});
  steps.push({ step, details, number });
  const call = step.tool ? `${step.tool}(${step.arguments})` : step.says || step.kind;
  const name = make("span", { class: step.tool ? "call" : "says" }, call);
  const remarks = [["turn", step.turn ? `the answer turns: ${step.turn}` : ""], ["failed", step.error], ["passage", step.marked ? "a reading marked a passage" : ""]];
  details.append(
    make(
      "summary",
      {},
      make("span", { class: `mark ${step.error ? "failed" : ""}`, title: step.error ? "failed" : "" }, step.error ? "✗" : step.tool ? "✓" : "·"),
      make("span", { class: "number" }, number),
      name,
      ...remarks.filter(([, text]) => text).map(([name, text]) => make("span", { class: name }, text)),
      make("span", { class: "cost" }, costOf(step)),
    ),
    ...step.parts.map((part) => partOf(part, number, data, steps)),
  );
  return details;
}

function costOf({ tokens, ms }) {
  return [tokens === null ? "" : `${tokens.toLocaleString("en")} tokens`, ms === null ? "" : `${(ms / 1000).toFixed(1)} s`].filter(Boolean).join(" · ");
}

function partOf(part, number, data, steps) {
  if (part.kind === "agent") {
    const list = stepList(part.steps, data, steps, `${number}.`);
    return make("details", { class: "agent", open: "" }, make("summary", {}, make("strong", {}, part.title)), list);
  }
  const box = make("div", { class: `part ${part.kind}` });
  if (part.title) box.append(make("p", { class: "title" }, part.title));
  if (part.format === "code") box.append(make("pre", { tabindex: "0" }, ...marked(part.text, data.sought)));
  else if (part.format === "text") box.append(make("div", { class: "lines" }, ...marked(part.text, data.sought)));
  else box.append(markdown(part.text, data.sought));
  linkNames(box, data.pages);
  markPassages(box, part.passages);
  return box;
}

// One bar per step, as high as its cost; a click goes to the step.
function barOf({ unit }, steps) {
  const amounts = steps.map(({ step }) => (unit === "tokens" ? step.tokens ?? 0 : step.size));
  const most = Math.max(1, ...amounts);
  const bars = steps.map(({ step, details, number }, place) => {
    const words = `step ${number}, ${step.tool || step.kind}: ${amounts[place].toLocaleString("en")} ${unit}${step.ms === null ? "" : `, ${(step.ms / 1000).toFixed(1)} s`}`;
    const bar = make("button", { type: "button", class: step.error ? "failed" : step.turn ? "turn" : "", title: words, "aria-label": words });
    const fill = make("span", {});
    fill.style.height = `${Math.max(3, (BAR_PX * amounts[place]) / most)}px`;
    bar.append(fill);
    bar.addEventListener("click", () => jumpTo(details));
    return bar;
  });
  return make("div", { class: "bars", role: "group", "aria-label": `${unit} by step` }, ...bars, make("span", { class: "unit" }, `${unit} by step`));
}

function jumpTo(details) {
  for (let each = details; each; each = each.parentElement?.closest("details")) each.open = true;
  details.scrollIntoView({ block: "nearest" });
  details.querySelector("summary").focus();
}

function toolsOf({ tools }, steps) {
  const choice = make("select", { "aria-label": "Tool" }, make("option", { value: "" }, "tools: all"));
  choice.append(...tools.map(([name, n]) => make("option", { value: name }, `${name} · ${n}`)));
  const errors = make("input", { type: "checkbox" });
  const unfold = make("button", { type: "button" }, "unfold all");
  const choose = () => {
    for (const { step, details } of steps) {
      const inside = [...details.querySelectorAll("details")].map((each) => steps.find((other) => other.details === each)?.step);
      const fits = (each) => each && (!choice.value || each.tool === choice.value) && (!errors.checked || each.error);
      details.parentElement.hidden = ![step, ...inside].some(fits);
    }
  };
  choice.addEventListener("change", choose);
  errors.addEventListener("change", choose);
  unfold.addEventListener("click", () => {
    const isOpen = steps.every(({ details }) => details.open);
    for (const { details } of steps) details.open = !isOpen;
    unfold.textContent = isOpen ? "unfold all" : "fold all";
  });
  return make("div", { class: "tools" }, choice, make("label", {}, errors, " only failed steps"), unfold);
}

// The first mention of a gene of the dataset in a text links to its page; an article links to PubMed.
function linkNames(box, pages) {
  const linked = new Set();
  const walker = document.createTreeWalker(box, NodeFilter.SHOW_TEXT);
  const texts = [];
  while (walker.nextNode()) if (!walker.currentNode.parentElement.closest("pre, p.title")) texts.push(walker.currentNode);
  for (const node of texts) {
    const nodes = [];
    let from = 0;
    for (const found of node.data.matchAll(NAME)) {
      const word = found[1] ? found[0] : found[0].replace(/[.-]+$/, "");
      const name = word.toUpperCase();
      const page = found[1] ? `https://pubmed.ncbi.nlm.nih.gov/${Number(found[1])}/` : Object.hasOwn(pages, name) && !linked.has(name) ? pages[name] : "";
      if (!page) continue;
      linked.add(name);
      nodes.push(node.data.slice(from, found.index), make("a", found[1] ? { href: page, target: "_blank", rel: "noopener noreferrer" } : { href: page }, word));
      from = found.index + word.length;
    }
    if (nodes.length) node.replaceWith(...nodes, node.data.slice(from));
  }
}

// Marks the lines of passages that decided a reading, even if bold words, links and hits divide them.
function markPassages(box, lines) {
  if (!lines.length) return;
  const pattern = new RegExp(lines.map((line) => line.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("|"), "g");
  for (const block of box.querySelectorAll("p:not(.title, .finish), li, pre, .lines")) {
    const found = [...block.textContent.matchAll(pattern)].map((each) => [each.index, each.index + each[0].length]);
    const walker = document.createTreeWalker(block, NodeFilter.SHOW_TEXT);
    const texts = [];
    while (walker.nextNode()) texts.push(walker.currentNode);
    let start = 0;
    for (const node of texts) {
      const pieces = [];
      let from = 0;
      for (const [begin, end] of found.map((range) => range.map((place) => Math.min(Math.max(place - start, 0), node.length)))) {
        if (begin === end) continue;
        pieces.push(node.data.slice(from, begin), make("mark", { class: "passage" }, node.data.slice(begin, end)));
        from = end;
      }
      start += node.length;
      if (pieces.length) node.replaceWith(...pieces, node.data.slice(from));
    }
  }
}
