// The hits of a search, below their rows. All text is set as text, never as HTML. A plain click opens the row without reloading the
// app: Streamlit follows the address, as after "back" and "forward".

const SHOWN_RUNS = 3; // the others are behind one click

export default function ({ data, parentElement }) {
  const sections = data.groups.map((group) => {
    const section = element("section", "");
    const title = element("h3", "pair");
    title.append(element("i", "", group.pert), " ⟶ ", element("i", "", group.gene));
    section.append(title, ...group.hits.map(hitOf));
    return section;
  });
  parentElement.querySelector(".hits").replaceChildren(...sections);
}

function hitOf(hit) {
  const made = element("div", "hit");
  made.style.borderLeftColor = hit.colour;
  const words = link(hit.runs[0].link, "words");
  words.append(hit.before, element("mark", "", hit.hit), hit.after);
  made.append(element("span", "role", hit.role), words, runsOf(hit.runs));
  return made;
}

function runsOf(runs) {
  const made = element("span", "runs");
  const links = runs.map((run) => link(run.link, "run", run.name));
  made.append(...links.slice(0, SHOWN_RUNS));
  if (links.length > SHOWN_RUNS) {
    const more = element("button", "", `and ${links.length - SHOWN_RUNS} more runs`);
    more.type = "button";
    more.addEventListener("click", () => more.replaceWith(...links.slice(SHOWN_RUNS)));
    made.append(more);
  }
  return made;
}

function link(address, kind, text = "") {
  const made = element("a", kind, text);
  made.href = address;
  return opensHere(made);
}

function element(tag, kind, text = "") {
  const made = document.createElement(tag);
  if (kind) made.className = kind;
  made.textContent = text;
  return made;
}
