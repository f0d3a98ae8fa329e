// One click copies the address of the view on screen. The key c asks for the same by an event.

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
      field.hidden = false; // where a browser lets no page copy, a person does it
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

// base: where others reach the app, "" if it is not said.
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

// Without https a browser has no clipboard to write to, but copies what is selected.
function writeByField(field, link) {
  field.value = link;
  field.hidden = false;
  field.select();
  const isCopied = document.execCommand("copy");
  field.hidden = isCopied;
  return isCopied;
}
