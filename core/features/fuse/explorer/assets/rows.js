// The rows that move most; their texts change with the weights.

const MOVERS = 12;

class Movers {
  constructor(root, fusion) {
    const { content } = fusion;
    this.root = root;
    this.fusion = fusion;
    this.content = content;
    this.codes = { pert: decode(content.pert, Uint32Array), gene: decode(content.gene, Uint32Array) };
    this.outcome = content.outcome ? decode(content.outcome, Uint8Array) : null;
    this.fill();
  }

  // key: of the question whose ranks are listed. links: addresses of a row, each completed by its id; null for none.
  draw(key, links) {
    const moved = this.fusion.movers(key, MOVERS);
    this.root.querySelector(".none").hidden = moved.length > 0;
    this.lines.forEach((line, i) => {
      line.item.hidden = !moved[i];
      if (moved[i]) this.write(line, ...moved[i], links);
    });
  }

  fill() {
    this.lines = Array.from({ length: MOVERS }, () => {
      const [pert, gene] = [element("i"), element("i")];
      const [label, places] = [element("span", "label"), element("span", "places")];
      const pair = element("a", "pair", pert, " ⟶ ", gene);
      const more = element("a", "more", "neighbours");
      return { pert, gene, label, places, pair, more, item: element("li", "", pair, label, places, more) };
    });
    this.root.querySelector("ol").append(...this.lines.map(({ item }) => item));
  }

  write(line, row, places, links) {
    const { content } = this;
    const name = (axis) => content[`${axis}s`][this.codes[axis][row]];
    line.pert.textContent = name("pert");
    line.gene.textContent = name("gene");
    const far = Math.round(Math.abs(places)).toLocaleString("en"); // tied rows share a rank, which may be half of one
    line.places.textContent = `${places > 0 ? "▲" : "▼"} ${far}`;
    line.places.title = `${places > 0 ? "rises" : "falls"} by ${far} places`;
    this.writeLabel(line.label, row);
    line.more.hidden = !links;
    if (!links) return;
    line.pair.href = links.row + encodeURIComponent(content.ids[row]);
    line.more.href = links.neighbours + encodeURIComponent(content.ids[row]);
  }

  writeLabel(place, row) {
    place.hidden = !this.outcome;
    if (place.hidden) return;
    const flags = this.outcome[row];
    const name = !(flags & LABELLED) ? "unknown" : !(flags & EFFECT) ? "none" : !(flags & DIRECTED) ? "de" : flags & UP ? "up" : "down";
    const { sign, colour, word } = this.content.kinds[name];
    place.textContent = sign;
    place.style.color = colour;
    place.title = word;
  }
}
