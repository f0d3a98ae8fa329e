// The hits of a search. All text is set as text, never as HTML. A plain click opens the row without loading the app anew:
// Streamlit follows the address as it does after "back" and "forward".

export default function ({ data, parentElement }) {
  const sections = data.groups.map((group) => {
    const section = element("section", "");
    const title = element("h3", "", group.run);
    title.append(element("span", "count", group.count));
    section.append(title, ...group.hits.map(link));
    return section;
  });
  parentElement.querySelector(".hits").replaceChildren(...sections);
}

function link(hit) {
  const made = element("a", "hit");
  made.href = hit.link;
  made.style.borderLeftColor = hit.colour;
  const pair = element("span", "pair");
  pair.append(element("i", "", hit.pert), " ⟶ ", element("i", "", hit.gene));
  const words = element("span", "words");
  words.append(hit.before, element("mark", "", hit.hit), hit.after);
  made.append(pair, element("span", "role", hit.role), words);
  made.addEventListener("click", (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    history.pushState({}, "", made.href);
    dispatchEvent(new PopStateEvent("popstate"));
  });
  return made;
}

function element(tag, kind, text = "") {
  const made = document.createElement(tag);
  if (kind) made.className = kind;
  made.textContent = text;
  return made;
}
