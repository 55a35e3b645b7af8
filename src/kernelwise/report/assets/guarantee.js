// The guaranteed share of errors, as kernelwise/review/bounds.py computes it.

const [fewest, fewestOfTwo] = [8, 5];
const mostUnits = 4096;
const tail = 0.025;
const negligible = 1e-18;

/** Probabilities of 0, 1, ... errors among n rows, without a negligible end. */
function betaBinomial(n, a, b) {
  if (n === 0 || a === 0) return Float64Array.of(1);
  const logs = new Float64Array(n + 1);
  if (b === 0) {
    logs[n] = 1;
    return logs;
  }
  let largest = 0;
  for (let j = 0; j < n; j++) {
    logs[j + 1] = logs[j] + (Math.log((n - j) * (a + j)) - Math.log((j + 1) * (n - 1 - j + b)));
    largest = Math.max(largest, logs[j + 1]);
  }
  let sum = 0;
  for (let j = 0; j <= n; j++) sum += logs[j] = Math.exp(logs[j] - largest);
  let end = 0;
  for (let j = 0; j <= n; j++) if ((logs[j] /= sum) > negligible) end = j;
  return logs.subarray(0, end + 1);
}

function convolve(left, right) {
  const sums = new Float64Array(left.length + right.length - 1);
  for (let i = 0; i < left.length; i++) {
    const chance = left[i];
    if (chance < negligible) continue;
    for (let j = 0; j < right.length; j++) sums[i + j] += chance * right[j];
  }
  return sums;
}

/** The quantile of the number of errors among the rows that were not drawn, in units. */
function quantile(cells, unit, level) {
  const gain = ({ others, errors, right }) => (others * right) / ((errors + right) * (errors + right + 1) || 1);
  let most = 0;
  cells.forEach((cell, number) => (most = gain(cell) > gain(cells[most]) ? number : most));
  const enough = cells.length > 2 ? fewest : fewestOfTwo;
  const parts = cells.map(({ others, errors, right }, number) => {
    const drawn = errors + right;
    const one = number === most || drawn < enough;
    const shape = one ? [errors + 1, right] : [(errors * (drawn - 2)) / drawn, (right * (drawn - 2)) / drawn];
    return betaBinomial(Math.ceil(others / unit), ...shape);
  });
  // The longest part is not convolved with the others: a few chances of the sum are enough to find the quantile.
  const longest = parts.sort((one, other) => one.length - other.length).pop();
  const total = parts.reduce(convolve, Float64Array.of(1));
  for (let count = 1; count < longest.length; count++) longest[count] += longest[count - 1];
  const below = (sum) => {
    let chance = 0;
    for (let count = Math.min(sum, total.length - 1); count >= 0; count--) {
      chance += total[count] * longest[Math.min(sum - count, longest.length - 1)];
    }
    return chance;
  };
  let [low, high] = [0, total.length + longest.length - 2];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (below(middle) >= level - 1e-10) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** The upper or the lower bound for the number of errors from batches { known, strata: [{ size, drawn, errors }] }. */
function errorBound(batches, upper) {
  const draws = batches.map(({ strata }) => strata.reduce((sum, { drawn }) => sum + drawn, 0));
  const all = draws.reduce((sum, count) => sum + count, 0);
  const cells = new Map();
  let found = 0;
  batches.forEach(({ known, strata }, b) => {
    const share = all ? draws[b] / all : 1 / batches.length;
    found += share * (known + strata.reduce((sum, { errors }) => sum + errors, 0));
    strata.forEach(({ size, drawn, errors }, rank) => {
      const key = `${strata.length} ${rank}`;
      const cell = cells.get(key) ?? { others: 0, errors: 0, right: 0 };
      cells.set(key, {
        others: cell.others + share * (size - drawn),
        errors: cell.errors + errors,
        right: cell.right + drawn - errors,
      });
    });
  });
  const pooled = [...cells.values()];
  const others = pooled.reduce((sum, cell) => sum + cell.others, 0);
  const unit = Math.max(1, Math.ceil(others / mostUnits));
  if (upper) return found + Math.min(unit * quantile(pooled, unit, 1 - tail), others);
  const swapped = pooled.map((cell) => ({ others: cell.others, errors: cell.right, right: cell.errors }));
  return found + Math.max(others - unit * quantile(swapped, unit, 1 - tail), 0);
}

/** The guaranteed share of wrong labels by the verdicts so far; null before the first verdict on a drawn row. */
function guarantee() {
  const { plan } = report;
  const checks = new Map([...decisions].filter(([, { how }]) => !how)); // what was accepted in bulk is no check
  const value = (row, unclear) => ({ wrong: 1, correct: 0, unclear: Number(unclear) })[checks.get(row)?.decision];
  const batches = (unclear) =>
    plan.batches
      .map(({ known, strata }) => {
        const open = known.filter((row) => value(row, unclear) === undefined).length;
        const counted = strata.map(({ size, rows }) => {
          const seen = rows.map((row) => value(row, unclear)).filter((one) => one !== undefined);
          return { size, drawn: seen.length, errors: seen.reduce((sum, one) => sum + one, 0) };
        });
        if (open) counted.push({ size: open, drawn: 0, errors: 0 }); // chosen rows that nobody has checked yet
        return { known: known.reduce((sum, row) => sum + (value(row, unclear) ?? 0), 0), strata: counted };
      })
      .filter(({ strata }) => strata.some(({ drawn }) => drawn));
  const counted = batches(false);
  if (!counted.length) return null;
  const kinds = Array.from(checks.values(), ({ decision }) => decision);
  const [wrong, right] = ["wrong", "correct"].map((kind) => kinds.filter((one) => one === kind).length);
  const low = Math.max(errorBound(counted, false), wrong);
  const high = Math.min(errorBound(batches(true), true), plan.n - right);
  return { low: Math.min(low, high) / plan.n, high: Math.max(low, high) / plan.n, wrong, checked: wrong + right };
}

function showGuarantee() {
  if (!report.plan) return;
  const started = performance.now();
  const bound = guarantee();
  const exact = (share) => `${(100 * share).toFixed(1)}\u00a0%`;
  const node = $("guarantee");
  node.hidden = false;
  node.dataset.low = bound?.low ?? "";
  node.dataset.high = bound?.high ?? "";
  const [what, count] = [isPairs ? "pairs" : "labels", report.plan.n.toLocaleString("en")];
  if (bound) {
    const left = Math.max(bound.high * report.plan.n - bound.wrong, 0) / report.plan.n;
    const found = plural(bound.wrong, isPairs ? "pair" : "label");
    node.textContent =
      `With 95\u00a0% confidence, between ${exact(bound.low)} and ${exact(bound.high)} of ${count} ${what} are wrong, ` +
      "whatever the model believes." +
      (bound.wrong ? ` If you correct the ${found} found so far, at most ${exact(left)} of the ${what} are still wrong.` : "");
  } else {
    const rows = plural(report.plan.rows.length, isPairs ? "pair" : "row");
    node.textContent = `Check these ${rows}. They show how many of the ${count} ${what} are wrong. Correct the suspects afterwards.`;
  }
  performance.measure("kernelwise-guarantee", { start: started });
}
