// The suspects: sorted once, filtered in one pass.

const report = JSON.parse($("report-data").textContent);
const suspects = report.suspects;
const total = suspects.row.length;
const isPairs = report.kind === "pairs";
const toCheck = Math.min(report.summary.to_check, total);
const indexOfRow = new Map(suspects.row.map((row, index) => [row, index]));

const nameOf = (code) => report.names[code];
const chanceWrong = (index) => 1 - suspects.quality[index];
const titleOf = (index) => (isPairs ? `${suspects.id[index]} – ${suspects.other[index]}` : suspects.id[index]);

// The rows of the plan, by row number: their place in the plan.
const planned = new Map((report.plan?.rows ?? []).map((row, place) => [row, place]));
const planName = String(report.plan?.batch ?? "");
const placeOf = (index) => planned.get(suspects.row[index]) ?? total + index;
const firstScope = planned.size ? "plan" : toCheck ? "check" : "all";
const filters = { scope: firstScope, text: "", given: "", suggested: "", decision: "", low: 0, high: 100, ...(report.sources && { source: "" }) };
const sorting = { by: planned.size ? "plan" : "rank", descending: false };

/** What rows can be sorted by: a name and one value for each row. */
const sortKeys = new Map([
  ...(planned.size ? [["plan", { name: "In the order of the plan", value: placeOf }]] : []),
  ["rank", { name: "Most suspect first", value: (index) => index }],
  ["id", { name: report.id_name, value: textOrNumber(suspects.id) }],
  ["given", { name: report.sources?.consensus ? "Consensus" : "Given", value: (index) => suspects.given[index] }],
  ["suggested", { name: "If wrong", value: (index) => suspects.suggested[index] }],
  ["decision", { name: "Decision", value: (index) => decisionOf(index)?.decision ?? "" }],
  ...suspects.features.map((values, j) => [`feature-${j}`, { name: report.columns[j].name, value: textOrNumber(values) }]),
]);

/** Numbers sort as numbers if all of a column are; texts by their characters, which is quick for very many. */
function textOrNumber(values) {
  let numeric = null;
  return (index) => {
    numeric ??= values.every((value) => value === null || value === "" || Number.isFinite(Number(value)));
    const value = values[index];
    if (value === null || value === "") return numeric ? -Infinity : "";
    return numeric ? Number(value) : String(value);
  };
}

let sorted = Int32Array.from({ length: total }, (_, index) => index);

function sortRows() {
  const { value } = sortKeys.get(sorting.by);
  const keys = Array.from({ length: total }, (_, index) => value(index));
  const sign = sorting.descending ? -1 : 1;
  sorted = Int32Array.from({ length: total }, (_, index) => index);
  sorted.sort((a, b) => (keys[a] < keys[b] ? -sign : keys[a] > keys[b] ? sign : a - b));
}

/** Everything that a search looks at, one text for each row; prepared while the browser has nothing else to do. */
const haystack = [];

function searchText(index) {
  return [titleOf(index), nameOf(suspects.given[index]), nameOf(suspects.suggested[index])]
    .concat(suspects.features.map((values) => values[index] ?? ""), report.details[index]?.words?.flat(2) ?? [])
    .join("\n")
    .toLowerCase();
}

function searchable() {
  while (haystack.length < total) haystack.push(searchText(haystack.length));
  return haystack;
}

function prepareSearch(deadline) {
  while (haystack.length < total && deadline.timeRemaining() > 1) {
    const end = Math.min(total, haystack.length + 200);
    while (haystack.length < end) haystack.push(searchText(haystack.length));
  }
  if (haystack.length < total) requestIdleCallback(prepareSearch);
  else performance.mark("kernelwise-searchable");
}

function filterRows() {
  const { scope, given, suggested, source, decision, low, high } = filters;
  const needle = filters.text.trim().toLowerCase();
  const texts = needle ? searchable() : null;
  const limit = scope === "check" ? toCheck : total;
  const kept = new Int32Array(total);
  let count = 0;
  for (const index of sorted) {
    if (index >= limit || (scope === "plan" && !planned.has(suspects.row[index]))) continue;
    if (given !== "" && suspects.given[index] !== Number(given)) continue;
    if (suggested !== "" && suspects.suggested[index] !== Number(suggested)) continue;
    const chance = 100 * chanceWrong(index);
    if (chance < low || chance > high) continue;
    if (source !== undefined && source !== "" && !concerns(Number(source), index)) continue;
    if (decision && !hasDecision(index, decision)) continue;
    if (texts && !texts[index].includes(needle)) continue;
    kept[count++] = index;
  }
  return kept.subarray(0, count);
}

function hasDecision(index, wanted) {
  const decision = decisionOf(index)?.decision;
  if (wanted === "open") return isOpen(index);
  return wanted === "any" ? decision !== undefined : decision === wanted;
}
