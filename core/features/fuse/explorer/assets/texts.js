// Elements and short texts of the explorer.

const QUESTIONS = { de: "P(DE)", up: "P(up | DE)" };
const NAMES = { de: "DE", dir: "DIR", mean: "mean" };

function element(tag, name, ...content) {
  const found = document.createElement(tag);
  if (name) found.className = name;
  found.append(...content);
  return found;
}

function numberText(value, isSigned = false) {
  if (Number.isNaN(value)) return "–";
  const text = Math.abs(value).toFixed(3);
  return `${value < 0 && Number(text) ? "−" : isSigned ? "+" : ""}${text}`;
}

function rangeText({ low, high }, isSigned = false) {
  return Number.isNaN(low) ? "[no interval]" : `[${numberText(low, isSigned)}, ${numberText(high, isSigned)}]`;
}

function possessive(name) {
  return `${name}'${name.endsWith("s") ? "" : "s"}`;
}

function shorten(text, length) {
  return text.length > length ? `${text.slice(0, length - 1)}…` : text;
}

// The text for a change of the mean. isAlone: whether the baseline is the base run; isNothing: whether nothing is fused with it.
function verdictText(change, baseline, isAlone, isNothing) {
  const name = isAlone ? `${baseline} alone` : baseline;
  if (isAlone && isNothing) return `This is ${name}: nothing is fused with it.`;
  if (Number.isNaN(change.value)) return "No score: the labels here have one class, or a run does not rank these rows.";
  const numbers = `mean ${numberText(change.value, true)} ${rangeText(change.shown, true)}`;
  if (Number.isNaN(change.shown.low)) return `Nothing can be concluded against ${name}: ${numbers}.`;
  if (change.shown.low > 0) return `Better than ${name}: ${numbers}.`;
  return change.shown.high < 0 ? `Worse than ${name}: ${numbers}.` : `Cannot be distinguished from ${name}: ${numbers}.`;
}

// Puts a button for each title into a place; the button at `at` is pressed. act: called with the position of the chosen one.
function addChoice(place, titles, at, act) {
  const buttons = titles.map((title, i) => {
    const button = element("button", "", title);
    button.type = "button";
    button.setAttribute("aria-pressed", String(i === at));
    button.addEventListener("click", () => {
      for (const each of buttons) each.setAttribute("aria-pressed", String(each === button));
      act(i);
    });
    return button;
  });
  place.append(...buttons);
}
