// The palette. Pages and runs are found here. The server gets the typed text after a moment and answers with symbols and rows.
// All text is set as text, never as HTML. A plain click opens a page without reloading the app: Streamlit follows the address.

const PAUSE_MS = 150; // after the last key, before the server is asked
const MOST = 12; // most pages and runs to list
const states = new WeakMap(); // dialog → its state between two draws

export default function ({ data, parentElement, setTriggerValue }) {
  const dialog = parentElement.querySelector("dialog");
  const state = states.get(dialog) ?? begin(parentElement);
  states.set(dialog, state);
  state.data = data;
  state.ask = (text) => setTriggerValue("wanted", text);
  state.list();
  return () => {
    document.removeEventListener("keydown", state.shortcut, true);
    states.delete(dialog);
  };
}

function begin(parent) {
  const dialog = parent.querySelector("dialog");
  const input = parent.querySelector("input");
  const box = parent.querySelector("[role=listbox]");
  const none = parent.querySelector(".none");
  const state = { data: { known: [], found: [], of: "" }, chosen: 0, timer: 0 };
  const isApple = /Mac|iPhone|iPad/.test(navigator.platform);
  parent.querySelector("kbd").textContent = isApple ? "⌘ K" : "Ctrl K";

  state.list = () => {
    if (!dialog.open) return;
    const words = input.value.trim().toLowerCase().split(/\s+/).filter(Boolean);
    const known = state.data.known.filter((each) => words.every((word) => each.label.toLowerCase().includes(word)));
    const isAnswered = state.data.of === input.value.trim();
    const found = [...known.slice(0, MOST), ...(isAnswered ? state.data.found : [])];
    state.chosen = Math.min(state.chosen, Math.max(found.length - 1, 0));
    box.replaceChildren(...found.map(option));
    none.textContent = found.length ? "" : isAnswered || !words.length ? "Nothing with that name." : "Looking …";
    choose(state.chosen);
  };

  function option(each, place) {
    const made = Object.assign(document.createElement("a"), { href: each.link, id: `found-${place}`, tabIndex: -1 });
    made.setAttribute("role", "option");
    made.append(words("span", "", each.label), words("span", "kind", each.kind));
    made.addEventListener("click", (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
      event.preventDefault();
      go(each.link);
    });
    return made;
  }

  function choose(place) {
    state.chosen = place;
    [...box.children].forEach((each, at) => each.setAttribute("aria-selected", String(at === place)));
    box.children[place]?.scrollIntoView({ block: "nearest" });
    input.setAttribute("aria-activedescendant", box.children.length ? `found-${place}` : "");
  }

  function go(link) {
    dialog.close();
    openHere(link);
  }

  function open() {
    input.value = "";
    state.chosen = 0;
    dialog.showModal();
    state.list();
    input.focus();
  }

  input.addEventListener("input", () => {
    state.chosen = 0;
    state.list();
    clearTimeout(state.timer);
    state.timer = setTimeout(() => state.ask(input.value.trim()), PAUSE_MS);
  });
  dialog.addEventListener("keydown", (event) => {
    event.stopPropagation(); // the arrows of the page go to another row
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && box.children.length) {
      event.preventDefault();
      choose((state.chosen + step + box.children.length) % box.children.length);
    } else if (event.key === "Enter" && box.children[state.chosen]) {
      event.preventDefault();
      box.children[state.chosen].click();
    }
  });
  dialog.addEventListener("close", () => box.replaceChildren());
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close()); // outside it
  parent.querySelector(".open").addEventListener("click", open);
  state.shortcut = (event) => {
    if (event.key.toLowerCase() !== "k" || event.altKey || event.shiftKey || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    event.stopPropagation();
    dialog.open ? dialog.close() : open();
  };
  document.addEventListener("keydown", state.shortcut, true);
  return state;
}

function words(tag, kind, text) {
  const made = document.createElement(tag);
  if (kind) made.className = kind;
  made.textContent = text;
  return made;
}
