// Saves the abstract in this tab while it is typed, and restores it after a reload, which starts a new session.

const FIELD = ".st-key-note-abstract textarea";
const offered = new Map(); // key → a restored text that has not arrived yet; null once it has

let current = "";

document.addEventListener("input", (event) => {
  if (current && event.target.matches?.(FIELD)) keep(current, event.target.value);
});

export default function ({ data, setTriggerValue }) {
  const key = (current = `perturbdesk-abstract-${data.of}`);
  const kept = sessionStorage.getItem(key);
  if (data.isNew && kept && !offered.has(key)) {
    offered.set(key, kept);
    setTriggerValue("draft", { of: data.of, text: kept });
  } else if (!offered.get(key) || offered.get(key) === data.text) {
    offered.set(key, null);
    keep(key, data.text);
  }
}

function keep(key, text) {
  if (text) sessionStorage.setItem(key, text);
  else sessionStorage.removeItem(key);
}
