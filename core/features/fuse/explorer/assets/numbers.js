// The numbers of a fusion at any weights: the same as in core/transfer/fusion.py and core/stats, to the last digits, but here
// in the browser, so that they follow the pointer. This file knows nothing of the page.

const SCALE = 1e14; // numbers are rounded to 14 decimals before ranking
const INTEGERS = 2 ** 52; // adding this to a number and subtracting it again rounds the number, halves to even, like NumPy
const ROUNDING = 1e-12; // of AUROCs, and of the terms of a variance; smaller results count as 0
const [FEWEST_CARRIERS, FEWEST_OF_DIFFERENCE] = [6, 8]; // effective rows, as in core/stats/intervals.py
const FEWEST_CLUSTERS = 4; // perturbations or genes, as there
const LEAST_EXCESS = 1e-9; // of an axis' variance, as there
const Z95 = 1.959963984540054;
const METRICS = ["de", "dir", "mean"];
const METRIC_WEIGHTS = { de: [1, 0], dir: [0, 1], mean: [0.5, 0.5] }; // of DE and of DIR
const UNITS = ["row", "pert", "gene"];

function decode(text, Kind) {
  return new Kind(Uint8Array.from(atob(text), (each) => each.charCodeAt(0)).buffer);
}

function roundForRanks(value) {
  return (value * SCALE + INTEGERS - INTEGERS) / SCALE;
}

function sumOf(values) {
  let total = 0;
  for (const value of values) total += value;
  return total;
}

// Weights that sum to more than 1 are scaled to 1.
function toShares(weights) {
  const whole = Math.max(sumOf(weights), 1);
  return weights.map((weight) => weight / whole);
}

function inOrder(rows, values) {
  return Uint32Array.from(rows).sort((a, b) => values[a] - values[b]);
}

// One question, DE or DIR: the rows that count, the positive ones, and the cell of each row. Weights change none of this.
class Task {
  constructor(counts, positive, cells, nCells) {
    this.positive = positive;
    this.cells = cells;
    this.rows = Uint32Array.from(counts.keys()).filter((row) => counts[row]);
    this.positives = new Float64Array(nCells);
    this.negatives = new Float64Array(nCells);
    for (const row of this.rows) (positive[row] ? this.positives : this.negatives)[cells[row]]++;
    this.starts = new Uint32Array(nCells + 1); // start of each cell among the rows sorted by cell
    for (let cell = 0; cell < nCells; cell++) {
      this.starts[cell + 1] = this.starts[cell] + this.positives[cell] + this.negatives[cell];
    }
    this.pairs = sumOf(this.positives.map((n, cell) => n * this.negatives[cell]));
    this.won = new Float64Array(counts.length); // by row: its pairs in the right order; ties count half
    this.wonIn = new Float64Array(nCells); // the same of the positives of a cell
  }

  sorted(values) {
    const order = inOrder(this.rows, values);
    if (this.wonIn.length === 1) return order;
    const next = this.starts.slice();
    const found = new Uint32Array(order.length);
    for (const row of order) found[next[this.cells[row]]++] = row;
    return found;
  }

  // The AUROC from pairs inside cells; NaN without a pair.
  auroc(values) {
    const order = this.sorted(values);
    for (let cell = 0; cell < this.wonIn.length; cell++) this.wonIn[cell] = this.place(order, values, cell);
    return this.pairs ? sumOf(this.wonIn) / this.pairs : NaN;
  }

  place(order, values, cell) {
    const end = this.starts[cell + 1];
    let below = 0; // negatives below the tied rows
    let above = this.positives[cell];
    let won = 0;
    for (let first = this.starts[cell], last; first < end; first = last) {
      const value = values[order[first]];
      let positives = 0;
      for (last = first; last < end && values[order[last]] === value; last++) positives += this.positive[order[last]];
      const negatives = last - first - positives;
      above -= positives;
      for (let at = first; at < last; at++) {
        this.won[order[at]] = this.positive[order[at]] ? below + negatives / 2 : above + positives / 2;
      }
      won += positives * (below + negatives / 2);
      below += negatives;
    }
    return won;
  }

  // The contribution of each row to the latest AUROC, separately for positives and negatives.
  influence(ofPositives, ofNegatives) {
    for (const row of this.rows) {
      const cell = this.cells[row];
      const isPositive = this.positive[row];
      const others = isPositive ? this.negatives[cell] : this.positives[cell];
      const mean = this.wonIn[cell] / (isPositive ? this.positives[cell] : this.negatives[cell]);
      (isPositive ? ofPositives : ofNegatives)[row] = others ? (this.won[row] - mean) / this.pairs : 0;
    }
  }
}

// Rows, perturbations or genes that count as independent: the covariances of AUROCs from the influence of rows.
class Clusters {
  constructor(codes, members) {
    this.codes = codes;
    this.n = codes.reduce((most, code) => Math.max(most, code), -1) + 1;
    this.members = members;
    const present = this.sums(members).map((sums) => sums.map((sum) => Number(sum > 0)));
    const shared = products(present);
    this.factor = shared.map((line, i) =>
      line.map((both, j) => {
        const units = shared[i][i] + shared[j][j] - both;
        return units > 1 ? units / (units - 1) : NaN;
      }),
    );
  }

  sums(parts) {
    return parts.map((part, i) => {
      const found = new Float64Array(this.n);
      const { codes } = this;
      const member = this.members[i];
      for (let row = 0; row < part.length; row++) if (member[row]) found[codes[row]] += part[row];
      return found;
    });
  }

  covariance(parts) {
    const between = products(this.sums(parts)).map((line, i) => line.map((value, j) => value * this.factor[i][j]));
    const half = parts.length / 2;
    const at = (i, j) => between[2 * i][2 * j] + between[2 * i][2 * j + 1] + between[2 * i + 1][2 * j] + between[2 * i + 1][2 * j + 1];
    return Array.from({ length: half }, (_, i) => Array.from({ length: half }, (__, j) => at(i, j)));
  }
}

function products(columns) {
  const found = columns.map(() => new Array(columns.length));
  for (let i = 0; i < columns.length; i++) {
    for (let j = 0; j <= i; j++) {
      const [a, b] = [columns[i], columns[j]];
      let total = 0;
      for (let at = 0; at < a.length; at++) total += a[at] * b[at];
      found[i][j] = found[j][i] = total;
    }
  }
  return found;
}

function varianceOf(weights, covariance) {
  let [total, size] = [0, 0];
  weights.forEach((a, i) => {
    weights.forEach((b, j) => {
      if (!a || !b) return;
      total += a * b * covariance[i][j];
      size += Math.abs(a * b * covariance[i][j]);
    });
  });
  return total <= ROUNDING * size ? 0 : total; // NaN stays NaN
}

function interval(value, se, quantile, [least, most]) {
  const cut = (limit) => Math.min(Math.max(limit, least), most);
  return { low: cut(value - quantile * se), high: cut(value + quantile * se), se };
}

// One number with its intervals. By rows, perturbations and genes; shown: the widest of these and of the two-way one, by
// Student's t with Satterthwaite's degrees of freedom. carriers: effective numbers of units, and whether they are 0 by construction.
function estimate(value, variances, { numbers, isConstant }, reach, limits) {
  const { row, pert, gene } = variances;
  const both = pert + gene - row;
  const twoWay = both < 0 ? Math.max(row, pert, gene) : both;
  const errors = [row, pert, gene, twoWay].map((each) => (Number.isFinite(value) ? Math.sqrt(each) : NaN));
  const known = errors.filter((each) => !Number.isNaN(each));
  let widest = known.length ? Math.max(...known) : NaN;
  if (widest === 0 && (limits.includes(value) || !isConstant)) widest = NaN; // a perfect ranking has no estimate of its error
  const isDifference = limits[0] !== 0;
  const areTooFew = reach.df !== null && reach.df + 1 < FEWEST_CLUSTERS;
  if (widest > 0 && (areTooFew || !(numbers.row >= (isDifference ? FEWEST_OF_DIFFERENCE : FEWEST_CARRIERS)))) widest = NaN;
  const isLogit = widest > 0 && !isDifference;
  const df = widest > 0 ? degreesOf(variances, numbers, isDifference) : null;
  const quantile = df === null ? reach.quantile : studentQuantile(df);
  return {
    value,
    ...Object.fromEntries([...UNITS, "twoWay"].map((unit, i) => [unit, interval(value, errors[i], Z95, limits)])),
    shown: { ...shownInterval(value, widest, quantile, limits, isLogit), quantile, isLogit, df },
  };
}

function shownInterval(value, se, quantile, limits, isLogit) {
  if (!isLogit || !(value > 0 && value < 1)) return interval(value, se, quantile, limits);
  const odds = Math.log(value / (1 - value));
  const half = (se * quantile) / (value * (1 - value));
  return { low: 1 / (1 + Math.exp(half - odds)), high: 1 / (1 + Math.exp(-odds - half)), se };
}

// Satterthwaite's degrees of freedom: from rows and from the axes that add to their variance, each by the units that carry it. In a
// difference rows count as infinitely many.
function degreesOf({ row, pert, gene }, numbers, isDifference) {
  let [total, parts] = [row, isDifference ? 0 : row ** 2 / (3 * numbers.row)];
  for (const [unit, variance] of Object.entries({ pert, gene })) {
    if (!(variance - row > LEAST_EXCESS * variance)) continue;
    total += variance - row;
    parts += variance ** 2 / Math.max(numbers[unit] - 1, 0.5);
  }
  return parts ? Math.max(total ** 2 / parts, 1) : Infinity;
}

// The effective number of rows that carry an influence, from its squares by row: (Σ x²)² / Σ x⁴; NaN without an influence.
function carryingRows(squares) {
  let [total, fourth] = [0, 0];
  for (const each of squares) {
    total += each;
    fourth += each ** 2;
  }
  return fourth > 0 ? total ** 2 / fourth : NaN;
}

// The effective number of clusters that carry it, corrected for the scatter of few rows: see `effective_clusters` in core/stats/influence.py.
function effectiveClusters(squares, codes, n) {
  const sums = new Float64Array(n);
  let [total, fourth, spread] = [0, 0, 0];
  for (let row = 0; row < squares.length; row++) {
    sums[codes[row]] += squares[row];
    total += squares[row];
    fourth += squares[row] ** 2;
  }
  for (const each of sums) spread += each ** 2;
  spread -= (2 / 3) * fourth;
  return spread > 0 ? total ** 2 / spread : NaN;
}

// Whether AUROCs have no influence by construction: chance, or two equal rankings that are neither perfect nor reversed.
function isConstant(weights, values) {
  const used = values.filter((_, k) => weights[k]);
  if (weights.every((weight) => weight >= 0)) return used.every((each) => Math.abs(each - 0.5) <= ROUNDING);
  const combined = weights.reduce((total, weight, k) => total + (weight && weight * values[k]), 0);
  return used.every((each) => each > ROUNDING && each < 1 - ROUNDING) && Math.abs(combined) <= ROUNDING;
}

// The estimate with the variance of an independent source of noise in each of its intervals.
function widen(found, variance, limits) {
  if (!variance) return found;
  const more = (unit) => interval(found.value, Math.sqrt(found[unit].se ** 2 + variance), Z95, limits);
  const { se, quantile, isLogit, df } = found.shown;
  return {
    value: found.value,
    ...Object.fromEntries([...UNITS, "twoWay"].map((unit) => [unit, more(unit)])),
    shown: { ...shownInterval(found.value, Math.sqrt(se ** 2 + variance), quantile, limits, isLogit), quantile, isLogit, df },
  };
}

// The probability that a difference is above 0; df: of its variance, otherwise the number of clusters minus one; null for the normal distribution.
function probabilityAbove0({ value, shown }, df) {
  if (Number.isNaN(shown.se)) return NaN;
  if (!shown.se) return (Math.sign(value) + 1) / 2;
  const t = value / shown.se;
  const degrees = shown.df ?? df;
  return degrees === null || degrees === Infinity ? normalBelow(t) : (1 + Math.sign(t) * studentWithin(Math.abs(t), degrees)) / 2;
}

// The probability that |T| < t, by the series of the incomplete beta function (Abramowitz and Stegun 26.5.4) from the nearer end.
function studentWithin(t, df) {
  const [b, ratio] = [df / 2, (t * t) / df];
  const y = ratio / (1 + ratio);
  const scale = (gammaRatio(b) / Math.sqrt(Math.PI)) * Math.sqrt(y) * Math.exp(-b * Math.log1p(ratio));
  return y < 0.5 ? 2 * scale * betaSeries(0.5, b, y) : 1 - (scale / b) * betaSeries(b, 0.5, 1 / (1 + ratio));
}

function betaSeries(a, b, x) {
  let [term, total] = [1, 1];
  for (let n = 0; term > 1e-17 * total; n++) total += term *= ((a + b + n) / (a + 1 + n)) * x;
  return total;
}

// Γ(b + 1/2) / Γ(b), by its asymptotic series from b = 40 on.
function gammaRatio(b) {
  let [at, factor] = [b, 1];
  for (; at < 40; at++) factor *= at / (at + 0.5);
  const z = 1 / at;
  return factor * Math.sqrt(at) * (1 - z / 8 + z ** 2 / 128 + (5 * z ** 3) / 1024 - (21 * z ** 4) / 32768 - (399 * z ** 5) / 262144);
}

// The quantile of Student's t that |T| exceeds in 5%. Newton's method rises to it from the normal quantile, the smallest.
function studentQuantile(df) {
  let t = Z95;
  if (df === Infinity) return t;
  const peak = gammaRatio(df / 2) / Math.sqrt(Math.PI * df);
  for (let step = 1, i = 0; Math.abs(step) > 1e-15 * t && i < 200; i++) {
    step = (0.95 - studentWithin(t, df)) / (2 * peak * Math.exp(-((df + 1) / 2) * Math.log1p((t * t) / df)));
    t += step;
  }
  return t;
}

function normalBelow(z) {
  if (Math.abs(z) > 9) return z > 0 ? 1 : 0;
  let [term, total] = [z, z];
  for (let k = 3; Math.abs(term) > 1e-17 * Math.abs(total); k += 2) total += term *= (z * z) / k;
  return 0.5 + (total * Math.exp((-z * z) / 2)) / Math.sqrt(2 * Math.PI);
}

// The weighted mean of the components in each row, with the weights of components that do not cover it shared among the others.
function weightedMean(columns, scales, others, into) {
  const shares = [0, ...others];
  for (let row = 0; row < into.length; row++) {
    let rest = 0;
    for (let i = 1; i < shares.length; i++) rest += shares[i] = scales ? scales[i][row] * others[i - 1] : others[i - 1];
    shares[0] = Math.max(1 - rest, 0);
    let [total, weight] = [0, 0];
    for (let i = 0; i < columns.length; i++) {
      const value = columns[i][row];
      if (value !== value) continue;
      total += shares[i] * value;
      weight += shares[i];
    }
    const base = columns[0][row];
    into[row] = weight > 0 ? total / weight : base === base ? base : 0.5;
  }
}
