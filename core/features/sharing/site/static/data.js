// The data are in scripts, because a page opened from disk may not fetch anything. Each script passes on its part.
"use strict";

const site = {
  run: null,
  rows: null,
  texts: [], // by chunk, once loaded
  asked: new Map(), // chunk → promise

  receiveRun(run) {
    this.run = run;
  },
  receiveRows(rows) {
    this.rows = rows;
  },
  receiveTexts(chunk, texts) {
    this.texts[chunk] = texts;
  },

  /** Loads a chunk of texts once. The promise fails if its file is missing. */
  loadTexts(chunk) {
    if (!this.asked.has(chunk)) this.asked.set(chunk, this.addScript(chunk));
    return this.asked.get(chunk);
  },

  addScript(chunk) {
    return new Promise((resolve, reject) => {
      const script = document.createElement("script");
      const file = `data/texts-${String(chunk).padStart(4, "0")}.js`;
      const fail = () => {
        this.asked.delete(chunk);
        reject(new Error(`${file} cannot be read: copy the whole folder again`));
      };
      script.src = file;
      script.onload = () => (this.texts[chunk] ? resolve(this.texts[chunk]) : fail());
      script.onerror = fail;
      document.head.append(script);
      script.remove();
    });
  },

  /** The texts of the row at a position. */
  async textsOf(place) {
    const texts = await this.loadTexts(Math.floor(place / this.run.chunkRows));
    return texts[place % this.run.chunkRows];
  },

  /** All texts of a row as one string, in lower case, for the search; its chunk must be loaded. */
  searchText(place) {
    const row = this.texts[Math.floor(place / this.run.chunkRows)][place % this.run.chunkRows];
    if (row.searched === undefined) {
      const cells = row.dossier.map((card) => [card.title, card.lines, ...card.tables.flatMap((table) => table.rows.flat())].join("\n"));
      const said = row.stages.flatMap((stage) => [...stage.rounds.flat(2), ...stage.steps]).map((step) => step.text);
      row.searched = [...cells, ...said].join("\n").toLowerCase();
    }
    return row.searched;
  },
};
