// One text after the other, answered by keys. The next few texts are already loaded, so that the next one shows at once.
// Answers wait in a queue, also saved in the browser, until the server confirms that it has stored them. Nothing that reveals
// an answer is sent here before the text is answered.

const LOST_MS = 8000; // an unconfirmed answer is then sent again
const LEAST_PX = 220;
const BELOW_PX = 32; // between the text and the window's lower edge
const STORED = "perturbdesk-answers";
const KEYS = [
  ["1 … 9", "the answer of that number"],
  ["y n", "yes, no"],
  ["Backspace or u", "back to the previous text, and remove its answer"],
  ["s", "skip; the text comes again at the end"],
  ["p", "the row of the previous text, with label and prediction"],
  ["?", "these keys"],
];

const readers = new WeakMap();

export default function ({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".reader");
  let reader = readers.get(root);
  if (!reader) {
    reader = new Reader(root);
    readers.set(root, reader);
  }
  reader.trigger = (items) => setTriggerValue("items", items);
  reader.setData(data);
  return () => reader.leave();
}

class Reader {
  constructor(root) {
    this.root = root;
    this.part = (name) => root.querySelector(`.${name}`);
    this.tab = crypto.randomUUID?.() ?? String(Math.random());
    this.fillKeys();
    this.part("back").addEventListener("click", () => this.back());
    this.part("skip").addEventListener("click", () => this.skip());
    this.part("reveal").addEventListener("click", () => this.reveal());
    this.part("again").addEventListener("click", () => this.tryAgain());
    this.onKey = (event) => this.press(event);
    this.onResize = () => this.fit();
    document.addEventListener("keydown", this.onKey);
    window.addEventListener("resize", this.onResize);
  }

  leave() {
    document.removeEventListener("keydown", this.onKey);
    window.removeEventListener("resize", this.onResize);
    clearTimeout(this.timer);
    readers.delete(this.root);
  }

  setData(data) {
    if (this.data?.reader !== data.reader) this.begin(data);
    this.data = data;
    this.n = Math.max(this.n, data.acknowledged);
    this.queue = this.queue.filter((item) => item.n > data.acknowledged);
    for (const text of data.texts) this.known.set(text.key, text);
    if (!this.history.length && data.last) this.history = [data.last.key];
    if (data.last) this.known.set(data.last.key, data.last);
    if (data.error || !this.queue.length || data.acknowledged >= this.sent) this.sent = 0;
    this.isStopped = Boolean(data.error) && this.queue.length > 0;
    this.keep();
    this.draw();
    setTimeout(() => this.send());
  }

  // Another sample or another person: answers that an earlier visit could not send are sent first.
  begin(data) {
    this.store = `${STORED}:${data.reader}:`;
    this.n = data.acknowledged;
    this.sent = 0;
    this.known = new Map(); // key → text
    this.acts = new Map(); // key → the last action on the text
    this.history = [];
    this.queue = [];
    for (const name of storedNames(this.store)) {
      for (const item of JSON.parse(localStorage.getItem(name) ?? "[]")) this.queue.push({ ...item, n: ++this.n });
      localStorage.removeItem(name);
    }
    this.part("answers").replaceChildren(...data.answers.map((answer, place) => this.answerButton(answer, place)));
    this.part("question").textContent = data.question;
    this.shown = undefined;
  }

  answerButton(answer, place) {
    const button = element("button", "");
    button.type = "button";
    button.append(element("kbd", "", place + 1), answer);
    button.addEventListener("click", () => this.answer(place));
    return button;
  }

  // The texts to read, as they will be when the queue is stored.
  upcoming() {
    const texts = [...this.data.texts];
    for (const { key, act } of this.queue) {
      const place = texts.findIndex((text) => text.key === key);
      const [text] = place < 0 ? [this.known.get(key)] : texts.splice(place, 1);
      if (act === "skip" && text) texts.push(text);
      if (act === "back" && text) texts.unshift(text);
    }
    return texts;
  }

  // The number of texts read, once the queue is stored.
  done() {
    const change = ({ act, was }) => (act === "answer" ? 1 : act === "back" && was === "answer" ? -1 : 0);
    return this.data.done + this.queue.reduce((sum, item) => sum + change(item), 0);
  }

  get current() {
    return this.upcoming()[0];
  }

  answer(place) {
    const text = this.current;
    if (!text || this.isStopped || place >= this.data.answers.length) return;
    this.history.push(text.key);
    this.acts.set(text.key, "answer");
    this.add({ key: text.key, act: "answer", answer: this.data.answers[place] });
  }

  skip() {
    const text = this.current;
    if (!text || this.isStopped) return;
    this.history.push(text.key);
    this.acts.set(text.key, "skip");
    this.add({ key: text.key, act: "skip" });
  }

  back() {
    if (this.isStopped || !this.history.length) return;
    const key = this.history.pop();
    this.add({ key, act: "back", was: this.acts.get(key) ?? "answer" });
  }

  // The row of the previous text in another tab: it shows label and prediction.
  reveal() {
    const key = this.history.at(-1);
    if (key !== undefined && this.acts.get(key) !== "skip") window.open(this.known.get(key).row, "_blank");
  }

  add(item) {
    this.queue.push({ ...item, n: ++this.n });
    this.keep();
    this.draw();
    this.send();
  }

  // The browser saves the queue too, so closing the page loses nothing.
  keep() {
    try {
      if (this.queue.length) localStorage.setItem(this.store + this.tab, JSON.stringify(this.queue));
      else localStorage.removeItem(this.store + this.tab);
    } catch {
      // without browser storage, answers are still sent
    }
  }

  send() {
    if (this.sent || this.isStopped || !this.queue.length) return;
    this.sent = this.n;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      this.sent = 0;
      this.send();
    }, LOST_MS);
    this.trigger(this.queue);
  }

  tryAgain() {
    this.isStopped = false;
    this.sent = 0;
    this.draw();
    this.send();
  }

  press(event) {
    const within = event.composedPath()[0];
    if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || isTyping(within)) return;
    const { answers } = this.data;
    const isYesNo = answers.length === 2 && answers[0] === "yes" && answers[1] === "no";
    const acts = { Backspace: () => this.back(), u: () => this.back(), s: () => this.skip(), p: () => this.reveal() };
    acts["?"] = () => this.showKeys();
    if (/^[1-9]$/.test(event.key)) this.answer(Number(event.key) - 1);
    else if (isYesNo && (event.key === "y" || event.key === "n")) this.answer(event.key === "y" ? 0 : 1);
    else if (event.key in acts) acts[event.key]();
    else return;
    event.preventDefault();
  }

  draw() {
    const text = this.current;
    const done = this.done();
    const { total } = this.data;
    this.part("progress").textContent = `${done.toLocaleString()} of ${total.toLocaleString()} read`;
    this.part("line").firstElementChild.style.width = `${(100 * done) / Math.max(total, 1)}%`;
    const waiting = this.queue.length;
    this.part("state").textContent = waiting ? `storing ${waiting} …` : done ? "all stored" : "";
    this.part("problem").hidden = !this.isStopped;
    this.part("said").textContent = this.isStopped ? `Not stored: ${this.data.error}. Nothing is lost; the answers wait here.` : "";
    for (const button of this.part("answers").children) button.disabled = !text || this.isStopped;
    this.part("back").disabled = this.isStopped || !this.history.length;
    this.part("skip").disabled = this.isStopped || !text;
    const last = this.history.at(-1);
    this.part("reveal").disabled = last === undefined || this.acts.get(last) === "skip";
    const shown = text?.key ?? (done < total ? "waiting" : "end");
    if (shown === this.shown) return;
    this.shown = shown;
    this.drawText(text, done < total);
    this.fit();
  }

  drawText(text, isMore) {
    this.part("about").hidden = !text;
    this.part("text").textContent = text ? text.content : isMore ? "Loading the next texts …" : "You have read every text of this sample.";
    this.part("text").scrollTop = 0;
    if (document.activeElement === document.body) this.part("text").focus({ preventScroll: true }); // so that its keys scroll it
    if (!text) return;
    const pair = element("span", "");
    pair.append(element("i", "", text.pert), " ⟶ ", element("i", "", text.gene));
    this.part("about").replaceChildren(pair, element("span", "role", [text.role, text.stage].filter(Boolean).join(" · ")));
  }

  // The text ends at the window's lower edge.
  fit() {
    const box = this.part("text");
    const main = document.querySelector("[data-testid=stMain]")?.scrollTop ?? 0;
    const above = box.getBoundingClientRect().top + main;
    box.style.maxHeight = `${Math.max(LEAST_PX, window.innerHeight - above - BELOW_PX)}px`;
  }

  showKeys() {
    this.part("keys").hidden = !this.part("keys").hidden;
    this.fit();
  }

  fillKeys() {
    const lines = KEYS.map(([key, what]) => {
      const line = element("div", "");
      line.append(element("kbd", "", key), ` ${what}`);
      return line;
    });
    this.part("keys").replaceChildren(...lines);
    this.part("help").addEventListener("click", () => this.showKeys());
  }
}

function storedNames(prefix) {
  try {
    return Object.keys(localStorage).filter((name) => name.startsWith(prefix));
  } catch {
    return [];
  }
}

function element(tag, kind, text = "") {
  const made = document.createElement(tag);
  if (kind) made.className = kind;
  made.textContent = text;
  return made;
}

function isTyping(target) {
  return target.closest?.("input:not([type=checkbox]), textarea, select, [contenteditable=true], [role=slider]") != null;
}
