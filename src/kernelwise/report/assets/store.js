// Decisions and comments, and the place where the reviewer was: kept in this browser under the fingerprint of the data.

const storageKey = `kernelwise-review-${report.key}`;
const decisions = new Map(); // row number -> { decision, label, at, by, how }
const comments = new Map(); // row number -> text
const past = []; // for undo, the last step at the end: [[row, decision before], ...]
const mostSteps = 100; // that are kept for undo after a reload
const saving = { possible: true, timer: 0, due: false, exported: true };

const decidedBefore = new Set((report.plan?.decided ?? []).map(([row]) => row));

const decisionOf = (index) => decisions.get(suspects.row[index]);
/** Whether a row waits for a decision; a planned row waits for a look, also if it was accepted in bulk. */
const isOpen = (index) => !decisionOf(index) || (planned.has(suspects.row[index]) && decisionOf(index).how !== "");
const reviewerName = () => $("reviewer").value.trim();

/** The label that a decision stands for; null for a skipped row. */
function labelFor(index, decision, code) {
  if (decision === "skip" || decision === "unclear") return null;
  return report.values[decision === "correct" ? suspects.given[index] : code];
}

function decide(index, decision, code = suspects.suggested[index]) {
  const row = suspects.row[index];
  // Who picks the given label says that it is correct.
  const meant = decision === "wrong" && code === suspects.given[index] ? "correct" : decision;
  takeStep([[row, made(meant, labelFor(index, meant, code))]]);
  return meant;
}

/** The text how is empty if the reviewer looked at the row itself, and otherwise says how the decision came about. */
function made(decision, label, how = "") {
  return { decision, label, at: new Date().toISOString(), by: reviewerName(), how };
}

/** Set the decisions of some rows; they are taken back together. */
function takeStep(rows) {
  past.push(rows.map(([row]) => [row, decisions.get(row) ?? null]));
  for (const [row, decision] of rows) decisions.set(row, decision);
  changed();
}

/** Take the last step back; the indices of its rows. */
function undo() {
  const last = past.pop() ?? [];
  for (const [row, before] of last) {
    if (before) decisions.set(row, before);
    else decisions.delete(row);
  }
  if (last.length) changed();
  return last.map(([row]) => indexOfRow.get(row));
}

function comment(row, text) {
  if (text.trim()) comments.set(row, text);
  else comments.delete(row);
  changed();
}

function changed() {
  saving.exported = false;
  saveSoon();
}

function saveSoon() {
  saving.due = true;
  clearTimeout(saving.timer);
  saving.timer = setTimeout(save, 250);
}

function save() {
  clearTimeout(saving.timer);
  if (!saving.due) return;
  saving.due = false;
  const kept = { decisions: [...decisions].map(stored), comments: [...comments], place: currentPlace() };
  const steps = past.slice(-mostSteps).map((step) => step.map(([row, before]) => (before ? stored([row, before]) : [row])));
  for (const state of [{ ...kept, past: steps }, kept]) {
    try {
      localStorage.setItem(storageKey, JSON.stringify(state));
      saving.possible = true;
      return;
    } catch {
      continue; // without the steps there may be room enough
    }
  }
  cannotSave();
}

const stored = ([row, { decision, label, at, by, how }]) => [row, decision, label, at, by, how];

/** What was decided before this page was made; null stands for rows about which nobody could tell. */
function recall() {
  for (const [row, label] of report.plan?.decided ?? []) {
    const given = report.values[suspects.given[indexOfRow.get(row)]];
    const decision = label === null ? "unclear" : label === given ? "correct" : "wrong";
    decisions.set(row, { decision, label, at: "", by: "", how: "" });
  }
}

function restore() {
  recall();
  try {
    readState(JSON.parse(localStorage.getItem(storageKey) ?? "{}"));
  } catch {
    cannotSave();
  }
}

/** Take over what this browser has kept; earlier versions of the page kept the decisions alone. */
function readState(state) {
  for (const [row, decision] of readable(Array.isArray(state) ? state : (state.decisions ?? []))) decisions.set(row, decision);
  for (const [row, text] of state.comments ?? []) if (indexOfRow.has(row)) comments.set(row, String(text));
  past.splice(0, past.length, ...(state.past ?? []).map((step) => step.filter(([row]) => indexOfRow.has(row)).map(([row, ...before]) => [row, readable([[row, ...before]])[0]?.[1] ?? null])));
  if (state.place && (state.place.plan ?? "") === planName) goTo(state.place); // a new plan begins at its first row
}

function cannotSave() {
  saving.possible = false;
  notify("This browser does not let the page keep your decisions. Export them before you close it.", { warning: true });
}

/** Those of some decisions that belong to these data, as pairs of row and decision. */
function readable(rows) {
  return rows.flatMap(([row, decision, label, at = "", by = "", how = ""]) => {
    const open = ["skip", "unclear"].includes(decision);
    if (!indexOfRow.has(row) || !(open || (report.values.includes(label) && ["correct", "wrong"].includes(decision)))) return [];
    return [[row, { decision, label: open ? null : label, at: String(at), by: String(by), how: String(how) }]];
  });
}

/** How many decisions of each kind there are, how many among those worth checking, how many planned ones, and how many
 *  were made before this page; the latter are counted apart. */
function tally() {
  const counts = { correct: 0, wrong: 0, unclear: 0, skip: 0, checked: 0, planned: 0, before: 0 };
  for (const [row, { decision, how, at }] of decisions) {
    if (!at && decidedBefore.has(row)) {
      counts.before += 1;
      continue;
    }
    counts[decision] += 1;
    if (indexOfRow.get(row) < toCheck) counts.checked += 1;
    if (planned.has(row) && decision !== "skip" && !how) counts.planned += 1;
  }
  return counts;
}

addEventListener("pagehide", save);
addEventListener("beforeunload", (event) => {
  if (!saving.possible && !saving.exported) event.preventDefault();
});
addEventListener("storage", (event) => {
  if (event.key !== storageKey || !event.newValue) return;
  decisions.clear(); // the same page in another tab knows more
  comments.clear();
  readState({ ...JSON.parse(event.newValue), place: null });
  refresh();
});
