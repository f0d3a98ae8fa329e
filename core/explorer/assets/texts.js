// Elements and short texts of the explorer.

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
