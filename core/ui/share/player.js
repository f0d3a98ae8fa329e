// Plays slides full-screen in a frame of their own, whose keys are its own.

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
      frame.scrollIntoView(); // where no page may fill the screen, it plays where it stands
    }
    frame.contentWindow.focus();
  };
}

// A frame inherits the policy of its page, which allows no script inside of HTML, but those of blobs that the page has made.
function framed(page) {
  const found = new DOMParser().parseFromString(page, "text/html");
  found.querySelector('meta[http-equiv="Content-Security-Policy"]').remove();
  for (const script of found.querySelectorAll("script:not([type])")) {
    script.src = URL.createObjectURL(new Blob([script.textContent], { type: "text/javascript" }));
    script.textContent = "";
  }
  return `<!DOCTYPE html>\n${found.documentElement.outerHTML}`;
}
