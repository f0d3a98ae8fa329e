// Links of this app in components open in this tab without reloading the app, unless the click asks for another tab.

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

