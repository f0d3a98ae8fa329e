// What components do with links of this app: they open in this tab without loading the app anew, but where a click asks for another.

function openHere(address) {
  history.pushState({}, "", address);
  dispatchEvent(new PopStateEvent("popstate"));
}

function isPlain(click) {
  return !(click.button || click.ctrlKey || click.metaKey || click.shiftKey || click.altKey);
}

function opensHere(link) {
  link.addEventListener("click", (click) => {
    if (!isPlain(click)) return;
    click.preventDefault();
    openHere(link.href);
  });
  return link;
}

