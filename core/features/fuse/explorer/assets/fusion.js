// A fusion whose weights change: its scores, their change against the baseline, the plane of weights, the rows that move.

const GRID = Array.from({ length: 21 }, (_, i) => Math.round(i * 5) / 100); // as in core/features/fuse/weight_grid.py
const LABELLED = 1; // flags of a row's outcome, as in core/features/fuse/explorer/content.py
const EFFECT = 2;
const UP = 4;
const DIRECTED = 8;

class Fusion {
  constructor(content) {
    this.content = content;
    this.n = content.rows;
    const floats = (text) => decode(text, Float64Array);
    this.columns = { de: content.components.map((each) => floats(each.de)), up: content.components.map((each) => floats(each.up)) };
    const ones = () => new Float64Array(this.n).fill(1);
    this.scales = content.components.some((each) => each.scale)
      ? content.components.map((each) => (each.scale ? floats(each.scale) : ones()))
      : null;
    this.before = { de: floats(content.before.de), up: floats(content.before.up) };
    this.fused = { de: new Float64Array(this.n), up: new Float64Array(this.n) }; // rank scores
    this.scores = { de: new Float64Array(this.n), up: new Float64Array(this.n) }; // as they will be ranked after submission
    this.ranked = {};
    if (content.outcome) this.prepareScores();
  }

  prepareScores() {
    const { content, n } = this;
    const outcome = decode(content.outcome, Uint8Array);
    const has = (flag) => outcome.map((flags) => Number((flags & flag) > 0));
    const [effect, up] = [has(EFFECT), has(UP)];
    const cells = content.cells ? decode(content.cells, Uint32Array) : new Uint32Array(n);
    const nCells = cells.reduce((most, cell) => Math.max(most, cell), 0) + 1;
    const task = (flag, positive, column) =>
      new Task(has(flag).map((counts, row) => counts * Number(!column || column[row] === column[row])), positive, cells, nCells);
    this.tasks = [task(LABELLED, effect, this.before.de), task(DIRECTED, up, this.before.up)];
    this.wholeTasks = [task(LABELLED, effect), task(DIRECTED, up)]; // the plane does not depend on rows missing in the baseline
    this.codes = { row: Uint32Array.from({ length: n }, (_, row) => row) };
    for (const unit of ["pert", "gene"]) this.codes[unit] = decode(content[unit], Uint32Array);
    const members = this.membersOf(this.tasks);
    this.clusters = UNITS.map((unit) => new Clusters(this.codes[unit], [...members, ...members]));
    this.beforeParts = this.partsOf(this.tasks, [this.before.de, this.before.up]);
  }

  membersOf(tasks) {
    return tasks.flatMap((task) =>
      [1, 0].map((wanted) => {
        const found = new Uint8Array(this.n);
        for (const row of task.rows) found[row] = Number(task.positive[row] === wanted);
        return found;
      }),
    );
  }

  // The AUROCs of DE and DIR, and the influence of rows on each, of its positives and of its negatives.
  partsOf(tasks, columns) {
    const parts = tasks.flatMap(() => [new Float64Array(this.n), new Float64Array(this.n)]);
    const values = tasks.map((task, i) => {
      const value = task.auroc(columns[i]);
      task.influence(parts[2 * i], parts[2 * i + 1]);
      return value;
    });
    return { values, parts };
  }

  // Fuses at weights of all components except the base, which sum to at most 1; fills `fused` and `scores`.
  fuse(de, up) {
    const { fused, scores } = this;
    weightedMean(this.columns.de, this.scales, de, fused.de);
    weightedMean(this.columns.up, this.scales, up, fused.up);
    for (let row = 0; row < this.n; row++) {
      const p = fused.de[row];
      const pUp = p > 0 ? p * fused.up[row] : 0;
      const total = pUp + (p - pUp);
      scores.de[row] = roundForRanks(total);
      scores.up[row] = roundForRanks(total > 0 ? pUp / total : 0);
    }
  }

  // DE, DIR and mean of the baseline and of the latest fusion, and the change; noise: variances to add, see `widen`.
  score(noise) {
    const { values: before, parts } = this.beforeParts;
    const after = this.partsOf(this.tasks, [this.scores.de, this.scores.up]);
    const all = [...parts, ...after.parts];
    const covariances = UNITS.map((_, i) => this.clusters[i].covariance(all));
    const variances = (weights) => Object.fromEntries(UNITS.map((unit, i) => [unit, varianceOf(weights, covariances[i])]));
    const part = (metric, signs, value, limits, name) => {
      const [de, dir] = METRIC_WEIGHTS[metric];
      const weights = [signs[0] * de, signs[0] * dir, signs[1] * de, signs[1] * dir];
      const reach = this.content.reach[metric];
      const carriers = this.carriersOf(weights, all, [...before, ...after.values]);
      const found = estimate(value, variances(weights), carriers, reach, limits);
      return widen(found, noise?.[metric][name] ?? 0, limits);
    };
    return Object.fromEntries(
      METRICS.map((metric) => {
        const combine = (of) => METRIC_WEIGHTS[metric].reduce((total, weight, i) => total + (weight ? weight * of(i) : 0), 0);
        const change = part(metric, [-1, 1], combine((i) => after.values[i] - before[i]), [-1, 1], "change");
        return [
          metric,
          {
            before: part(metric, [1, 0], combine((i) => before[i]), [0, 1], "before"),
            after: part(metric, [0, 1], combine((i) => after.values[i]), [0, 1], "after"),
            change: { ...change, better: probabilityAbove0(change, this.content.reach[metric].df) },
          },
        ];
      }),
    );
  }

  // The units that carry the variance of a combination of AUROCs, for DE and DIR in turn: see `Carriers` in core/stats/intervals.py.
  carriersOf(weights, parts, values) {
    const squares = this.squaresOf(weights, parts);
    const clusters = UNITS.map((unit, i) => [unit, effectiveClusters(squares, this.codes[unit], this.clusters[i].n)]);
    // Each question needs enough rows.
    const questions = [0, 1].map((one) => weights.map((weight, k) => (k % 2 === one ? weight : 0)));
    const found = questions.filter((each) => each.some(Boolean)).map((each) => {
      const rows = carryingRows(this.squaresOf(each, parts));
      return { rows, isConstant: Number.isNaN(rows) && isConstant(each, values) };
    });
    const row = Math.min(...found.map((each) => (each.isConstant ? Infinity : each.rows)));
    return { numbers: { ...Object.fromEntries(clusters), row }, isConstant: found.every((each) => each.isConstant) };
  }

  // The squared influence of each row on a combination of AUROCs, in units of the largest.
  squaresOf(weights, parts) {
    const found = new Float64Array(this.n);
    weights.forEach((weight, k) => {
      if (!weight) return;
      for (let row = 0; row < this.n; row++) found[row] += weight * (parts[2 * k][row] + parts[2 * k + 1][row]);
    });
    const most = found.reduce((largest, each) => Math.max(largest, each ** 2), 0) || 1;
    return found.map((each) => each ** 2 / most);
  }

  // The weights at position `i` of the grid of one component (its position among all except the base), as set by sliders.
  gridWeights(position, others, i) {
    return toShares(others.with(position, GRID[i]));
  }

  // DE and DIR at position `i` of the grid.
  gridValues(position, weights, i) {
    this.fuse(this.gridWeights(position, weights.de, i), this.gridWeights(position, weights.up, i));
    return this.wholeTasks.map((task, k) => roundForRanks(task.auroc(k ? this.scores.up : this.scores.de)));
  }

  // The plane from its two curves: the mean by weight in DE and in DIR, its best, the standard error there, the plateau.
  plane(position, weights, de, dir) {
    const best = [de.indexOf(Math.max(...de)), dir.indexOf(Math.max(...dir))];
    if (best.includes(-1)) return null; // one class only
    const columns = ["de", "up"].map((key, k) => {
      this.fuse(this.gridWeights(position, weights.de, best[k]), this.gridWeights(position, weights.up, best[k]));
      return this.scores[key].slice();
    });
    const { values, parts } = this.partsOf(this.wholeTasks, columns);
    const members = this.membersOf(this.wholeTasks);
    const found = UNITS.map((unit) => varianceOf(METRIC_WEIGHTS.mean, new Clusters(this.codes[unit], members).covariance(parts)));
    const variances = Object.fromEntries(UNITS.map((unit, i) => [unit, found[i]]));
    const value = (values[0] + values[1]) / 2;
    const carriers = this.carriersOf(METRIC_WEIGHTS.mean, parts, values);
    const { se } = estimate(value, variances, carriers, { quantile: 1, df: this.content.reach.mean.df }, [0, 1]).shown;
    const mean = de.map((one) => dir.map((other) => roundForRanks((one + other) / 2)));
    const most = mean[best[0]][best[1]];
    return { de, dir, mean, best, se, most, plateau: mean.map((line) => line.map((value) => value >= most - se)) };
  }

  // The rows whose rank moves most against the base, up or down, among the rows that it covers: [row, places], the farthest first.
  movers(key, n) {
    const base = this.columns[key][0];
    const ranked = (this.ranked[key] ??= this.rankBase(base));
    const after = midranks(this.fused[key].map(roundForRanks), ranked.rows);
    const found = [];
    for (const row of ranked.rows) {
      const places = after[row] - ranked.before[row];
      if (!places || (found.length === n && Math.abs(places) <= Math.abs(found[n - 1][1]))) continue;
      let at = found.length;
      while (at && Math.abs(found[at - 1][1]) < Math.abs(places)) at--;
      found.splice(at, 0, [row, places]);
      if (found.length > n) found.pop();
    }
    return found;
  }

  rankBase(base) {
    const rows = Uint32Array.from(base.keys()).filter((row) => base[row] === base[row]);
    return { rows, before: midranks(base.map(roundForRanks), rows) };
  }

  // The rank correlation of the fusion with the baseline, for DE and for DIR.
  agreement() {
    return ["de", "up"].map((key) => spearman(this.before[key], this.scores[key]));
  }
}

function spearman(a, b) {
  const rows = Uint32Array.from(a.keys()).filter((row) => a[row] === a[row] && b[row] === b[row]);
  const middle = (rows.length + 1) / 2;
  const [[aa, ab], [, bb]] = products(
    [a, b].map((values) => {
      const ranks = midranks(values, rows);
      return Float64Array.from(rows, (row) => ranks[row] - middle);
    }),
  );
  const scale = Math.sqrt(aa * bb);
  return scale > 0 ? ab / scale : NaN;
}

// Ranks from 1 for the smallest of some rows, equal values sharing their mean rank; 0 for all other rows.
function midranks(values, rows) {
  const order = inOrder(rows, values);
  const found = new Float64Array(values.length);
  for (let first = 0, last; first < order.length; first = last) {
    for (last = first; last < order.length && values[order[last]] === values[order[first]]; last++);
    for (let at = first; at < last; at++) found[order[at]] = (first + last + 1) / 2;
  }
  return found;
}
