// Plays slides full-screen in a frame of their own with its own keys.

export default function ({ data, parentElement }) {
  const frame = parentElement.querySelector("iframe");
  const button = parentElement.querySelector("button");
  if (frame.dataset.version !== data.version) {
    frame.dataset.version = data.version;
    frame.srcdoc = framed(data.page);
  }
  button.onclick = async () => {
    try {
      await frame.requestFullscreen();
    } catch {
      frame.scrollIntoView(); // without permission for full screen, the slides play in place
    }
    frame.contentWindow.focus();
  };
}

// A frame inherits the policy of its page. The policy allows no inline scripts, but scripts from blobs made by the page.
function framed(page) {
  const found = new DOMParser().parseFromString(page, "text/html");
  found.querySelector('meta[http-equiv="Content-Security-Policy"]').remove();
  for (const script of found.querySelectorAll("script:not([type])")) {
    script.src = URL.createObjectURL(new Blob([script.textContent], { type: "text/javascript" }));
    script.textContent = "";
  }
  return `<!DOCTYPE html>\n${found.documentElement.outerHTML}`;
}
