// One click copies the address of the view on screen. The key c does the same through an event.

const SAID_MS = 2500;

export default function ({ data, parentElement }) {
  const button = parentElement.querySelector("button");
  const said = parentElement.querySelector(".said");
  const field = parentElement.querySelector("input");
  let silence;

  const say = (text) => {
    said.textContent = text;
    clearTimeout(silence);
    silence = setTimeout(() => (said.textContent = ""), SAID_MS);
  };

  const copy = async () => {
    const link = linkOf(data);
    field.hidden = true;
    if ((await writeByApi(link)) || writeByField(field, link)) {
      say("Link copied");
    } else {
      field.hidden = false; // if the browser does not let pages copy, the person does it
      field.select();
      say("Copy it with Ctrl C");
    }
  };
  button.onclick = copy;
  document.addEventListener("copy-link", copy);
  return () => {
    clearTimeout(silence);
    document.removeEventListener("copy-link", copy);
  };
}

// base: the address of the app for others, "" if unknown.
function linkOf({ base, parameters }) {
  const link = new URL(base ? `${base}/${location.pathname.split("/").pop()}${location.search}` : location.href);
  for (const [name, value] of Object.entries(parameters)) link.searchParams.set(name, value);
  return link.href;
}

async function writeByApi(link) {
  try {
    await navigator.clipboard.writeText(link);
    return true;
  } catch {
    return false;
  }
}

// Without https, a browser has no clipboard for pages, but can copy the selection.
function writeByField(field, link) {
  field.value = link;
  field.hidden = false;
  field.select();
  const isCopied = document.execCommand("copy");
  field.hidden = isCopied;
  return isCopied;
}
