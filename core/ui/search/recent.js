// The latest searches of this browser, beside examples. A click searches without reloading the app.

const KEPT = 8;

export default function ({ data, parentElement }) {
  const key = "perturbdesk-searched";
  const kept = read(key).filter((phrase) => phrase !== data.phrase);
  const recent = data.phrase ? [data.phrase, ...kept].slice(0, KEPT) : kept;
  if (data.phrase) localStorage.setItem(key, JSON.stringify(recent));
  const lines = data.phrase ? [] : [line("Recent", recent, data.address), line("Such as", data.examples, data.address)];
  parentElement.querySelector(".recent").replaceChildren(...lines.filter(Boolean));
}

function read(key) {
  try {
    const found = JSON.parse(localStorage.getItem(key) ?? "[]");
    return Array.isArray(found) ? found.filter((each) => typeof each === "string").slice(0, KEPT) : [];
  } catch {
    return [];
  }
}

function line(title, phrases, address) {
  if (!phrases.length) return null;
  const made = document.createElement("p");
  made.append(`${title}: `, ...phrases.flatMap((phrase) => [link(phrase, address), " "]));
  return made;
}

function link(phrase, address) {
  const made = Object.assign(document.createElement("a"), { textContent: phrase });
  made.href = `${address}&${new URLSearchParams({ phrase })}`;
  return opensHere(made);
}
