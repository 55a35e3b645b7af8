// Decisions, kept in this browser under the fingerprint of the data.

const storageKey = `kernelwise-review-${report.key}`;
const decisions = new Map(); // row number -> { decision, label, at }
const past = []; // for undo: { row, before }
const saving = { possible: true, timer: 0, due: false, exported: true };

const decisionOf = (index) => decisions.get(suspects.row[index]);

/** The label that a decision stands for; null for a skipped row. */
function labelFor(index, decision, code) {
  if (decision === "skip" || decision === "unclear") return null;
  return report.values[decision === "correct" ? suspects.given[index] : code];
}

function decide(index, decision, code = suspects.suggested[index]) {
  const row = suspects.row[index];
  // Who picks the given label says that it is correct.
  const meant = decision === "wrong" && code === suspects.given[index] ? "correct" : decision;
  past.push({ row, before: decisions.get(row) });
  decisions.set(row, { decision: meant, label: labelFor(index, meant, code), at: new Date().toISOString() });
  changed();
  return meant;
}

/** Take the last decision back; the index of its row, or -1 if there is none. */
function undo() {
  const last = past.pop();
  if (!last) return -1;
  if (last.before) decisions.set(last.row, last.before);
  else decisions.delete(last.row);
  changed();
  return indexOfRow.get(last.row);
}

function changed() {
  saving.exported = false;
  saving.due = true;
  clearTimeout(saving.timer);
  saving.timer = setTimeout(save, 250);
}

function save() {
  clearTimeout(saving.timer);
  if (!saving.due) return;
  saving.due = false;
  try {
    const rows = Array.from(decisions, ([row, { decision, label, at }]) => [row, decision, label, at]);
    localStorage.setItem(storageKey, JSON.stringify(rows));
    saving.possible = true;
  } catch {
    cannotSave();
  }
}

/** What was decided before this page was made; null stands for rows about which nobody could tell. */
function recall() {
  for (const [row, label] of report.plan?.decided ?? []) {
    const given = report.values[suspects.given[indexOfRow.get(row)]];
    const decision = label === null ? "unclear" : label === given ? "correct" : "wrong";
    decisions.set(row, { decision, label, at: "" });
  }
}

function restore() {
  recall();
  try {
    readDecisions(JSON.parse(localStorage.getItem(storageKey) ?? "[]"));
  } catch {
    cannotSave();
  }
}

function cannotSave() {
  saving.possible = false;
  notify("This browser does not let the page keep your decisions. Export them before you close it.");
}

/** Take decisions over, and say how many; what does not belong to these data is passed over. */
function readDecisions(rows) {
  let taken = 0;
  for (const [row, decision, label, at] of rows) {
    const open = ["skip", "unclear"].includes(decision);
    if (indexOfRow.has(row) && (open || (report.values.includes(label) && ["correct", "wrong"].includes(decision)))) {
      decisions.set(row, { decision, label: open ? null : label, at: String(at) });
      taken += 1;
    }
  }
  return taken;
}

/** How many decisions of each kind there are, how many among those worth checking, and how many planned ones. */
function tally() {
  const counts = { correct: 0, wrong: 0, unclear: 0, skip: 0, checked: 0, planned: 0 };
  for (const [row, { decision }] of decisions) {
    counts[decision] += 1;
    if (indexOfRow.get(row) < toCheck) counts.checked += 1;
    if (planned.has(row) && decision !== "skip") counts.planned += 1;
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
  readDecisions(JSON.parse(event.newValue));
  refresh();
});
