// In a file: each place gets the content and the state next to it in the page; there is no server.

for (const place of document.querySelectorAll(".explorer-place")) {
  const { content, state } = JSON.parse(document.getElementById(`${place.id}-data`).textContent);
  mountExplorer(place, content, null).update(state);
}
if (document.body.classList.contains("alone")) {
  document.getElementById("theme").addEventListener("click", () => {
    const { dataset } = document.documentElement;
    const now = dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
    dataset.theme = now === "dark" ? "light" : "dark";
  });
}
