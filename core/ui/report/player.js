// Plays slides full-screen in a frame of their own, whose keys are its own.

export default function ({ data, parentElement }) {
  const frame = parentElement.querySelector("iframe");
  const button = parentElement.querySelector("button");
  if (frame.dataset.version !== data.version) {
    frame.dataset.version = data.version;
    frame.srcdoc = data.page;
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
