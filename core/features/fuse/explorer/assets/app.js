// In the app, the content comes once, as JSON behind its hash; weights and the server's results come by an event.

const HASH_BYTES = 64;
const explorers = new WeakMap();

export default function ({ data, parentElement, setTriggerValue }) {
  const place = parentElement.querySelector(".place");
  const text = (bytes) => new TextDecoder().decode(bytes);
  const version = text(data.subarray(0, HASH_BYTES));
  let found = explorers.get(place);
  if (found?.version !== version) {
    found?.leave();
    found = mountExplorer(place, JSON.parse(text(data.subarray(HASH_BYTES))), (weights) => setTriggerValue("weights", weights));
    found.version = version;
    explorers.set(place, found);
    const hear = ({ detail }) => detail.of === version && found.update(detail);
    document.addEventListener("fusion-state", hear);
    found.forget = () => document.removeEventListener("fusion-state", hear);
    if (globalThis.fusionState) hear({ detail: globalThis.fusionState });
  }
  return () => {
    found.leave();
    explorers.delete(place);
  };
}
