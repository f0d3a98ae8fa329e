// One card for all names of genes on the page: in Markdown, in a trace, in the header of a row.

const WAIT_MS = 250;
const STAY_MS = 300; // to reach the card with the pointer
const PAGES = ["gene", "perturbation"];

let card, timer;

export default function ({ data }) {
  const found = (event) => nameOf(event, data.cards);
  const enter = (event) => {
    if (card && event.composedPath().includes(card)) return clearTimeout(timer);
    const { link, about } = found(event);
    clearTimeout(timer);
    timer = setTimeout(() => (about ? open(link, about) : close()), about ? WAIT_MS : STAY_MS);
  };
  const press = (event) => {
    if (event.key === "Escape") close();
  };
  const follow = (event) => {
    const { link } = found(event);
    if (!link || !isPlain(event)) return;
    event.preventDefault();
    close();
    openHere(link.href);
  };
  const listened = { mouseover: enter, focusin: enter, keydown: press, click: follow };
  for (const [name, listener] of Object.entries(listened)) document.addEventListener(name, listener, name === "click");
  return () => {
    close();
    for (const [name, listener] of Object.entries(listened)) document.removeEventListener(name, listener, name === "click");
  };
}

// The link of an event to a gene's page, and the facts about the gene.
function nameOf(event, cards) {
  const link = event.composedPath().find((each) => each.tagName === "A" && each.href);
  const address = link && new URL(link.href);
  const page = address?.pathname.split("/").pop();
  if (!address || address.origin !== location.origin || !PAGES.includes(page) || link.dataset.testid) return {};
  return { link, about: cards[address.searchParams.get("name")?.toUpperCase()] };
}

function open(link, about) {
  close();
  card = document.createElement("div");
  card.setAttribute("role", "tooltip");
  card.className = "gene-card";
  const lines = [["strong", about.name], ["p", about.description], ["p", about.rows], ["p", about.labels]];
  for (const [tag, text] of lines) card.append(Object.assign(document.createElement(tag), { textContent: text }));
  if (about.outside) {
    const outside = { textContent: "at NCBI", href: about.outside, target: "_blank", rel: "noopener noreferrer" };
    card.append(Object.assign(document.createElement("a"), outside));
  }
  document.querySelector("[data-testid=stApp]").append(card);
  const place = link.getBoundingClientRect();
  const below = place.bottom + 4 + card.offsetHeight <= innerHeight;
  card.style.left = `${Math.max(8, Math.min(place.left, innerWidth - card.offsetWidth - 8))}px`;
  card.style.top = `${below ? place.bottom + 4 : Math.max(8, place.top - card.offsetHeight - 4)}px`;
}

function close() {
  clearTimeout(timer);
  card?.remove();
  card = undefined;
}
