// Many suggestions at once: those of the listed rows whose chance to be wrong is high.

const leastChance = { percent: 95 };

/** The listed rows without a decision that are wrong with a high chance. Planned rows must be looked at one by one:
 *  the guarantee rests on them. */
function bulkRows() {
  return Array.from(visible).filter(
    (index) =>
      !decisionOf(index) &&
      !planned.has(suspects.row[index]) &&
      suspects.given[index] !== suspects.suggested[index] &&
      100 * chanceWrong(index) >= leastChance.percent,
  );
}

function acceptMany() {
  const rows = bulkRows();
  if (!rows.length) return;
  const how = `in bulk at ${leastChance.percent} %`;
  takeStep(rows.map((index) => [suspects.row[index], made("wrong", report.values[suspects.suggested[index]], how)]));
  refresh();
  const undoAll = el("button", { type: "button", id: "bulk-undo", on: { click: () => { hideNotice(); takeBack(); } } }, "Undo");
  notify(`${plural(rows.length, "label")} changed to the suggestion. Nobody has looked at them, so they are no checks.`, { more: [undoAll] });
}

function buildBulk() {
  const input = el("input", { id: "bulk-chance", type: "number", min: 50, max: 100, step: 1, value: leastChance.percent, "aria-label": "least chance in percent" });
  input.addEventListener("input", () => {
    if (!Number.isFinite(input.valueAsNumber)) return;
    leastChance.percent = input.valueAsNumber;
    showBulk();
  });
  $("bulk").append(
    el("summary", {}, "Accept many suggestions at once"),
    el("p", { class: "quiet" }, "Of the rows that are listed here and have no decision yet, change those that are wrong with a chance of at least ", input, " %.",
      planned.size > 0 && " Planned rows are left out, because the guarantee needs a look at each."),
    el("button", { type: "button", id: "bulk-accept", on: { click: acceptMany } }),
  );
}

function showBulk() {
  if (!$("bulk").open) return;
  const count = bulkRows().length;
  $("bulk-accept").disabled = !count;
  $("bulk-accept").textContent = `Change ${plural(count, "row")}`;
}
