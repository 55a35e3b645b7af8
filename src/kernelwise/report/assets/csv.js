// The corrections as CSV: written and read as docs/corrections-format.md says.

const formula = /^'*[=+\-@\t\r\n]/;
const neutralise = (cell) => (formula.test(cell) ? `'${cell}` : cell);
const restoreCell = (cell) => (cell.startsWith("'") && formula.test(cell) ? cell.slice(1) : cell);

function csvCell(value) {
  const cell = neutralise(String(value ?? ""));
  return /[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;
}

function correctionsCsv() {
  const header = ["row", "id", ...(isPairs ? ["other_id"] : []), "column", "given", "corrected", "decision", "reviewed_at", "reviewer", "how", "comment"];
  if (report.plan) header.push("chance", "draw", "drawn_from");
  const lines = [header];
  for (let index = 0; index < total; index++) {
    const made = decisionOf(index);
    const row = suspects.row[index];
    if (!made && !planned.has(row) && !comments.has(row)) continue; // rows without a verdict are kept as skipped
    const names = isPairs ? [suspects.id[index], suspects.other[index]] : [suspects.id[index]];
    const given = report.values[suspects.given[index]];
    const draw = report.plan ? (report.plan.draws[row] ?? ["", report.plan.batch, ""]) : [];
    lines.push([row, ...names, report.label_name, given, made?.label, made?.decision ?? "skip", made?.at ?? "", made?.by ?? reviewerName(), made?.how ?? "", comments.get(row)?.trim() ?? "", ...draw]);
  }
  return lines.map((cells) => cells.map(csvCell).join(",")).join("\r\n") + "\r\n";
}

/** With the name of the reviewer, so that the files of several reviewers can lie in one folder. */
function exportName() {
  const name = reviewerName().normalize("NFKD").replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-+|-+$/g, "");
  return name ? `corrections-${name.toLowerCase()}.csv` : "corrections.csv";
}

function exportCorrections() {
  if (!decisions.size && !comments.size) {
    notify("There is nothing to export yet: decide about a row first.");
    return;
  }
  // The byte order mark tells spreadsheets that this is UTF-8.
  const url = URL.createObjectURL(new Blob(["\ufeff", correctionsCsv()], { type: "text/csv;charset=utf-8" }));
  const link = el("a", { href: url, download: exportName() });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
  saving.exported = true;
  notify(`${plural(decisions.size, "decision")} exported as ${exportName()}, in the folder of your downloads. Next:`, {
    more: [el("code", {}, `kernelwise apply ${/\s/.test(report.title) ? "DATA" : report.title} ${exportName()}`)],
  });
}

/** Rows of cells; quoted cells may hold commas, quotes and line ends. */
function parseCsv(content) {
  const rows = [[]];
  const cell = /("(?:[^"]|"")*"|[^",\r\n]*)(,|\r\n|\n|\r|$)/y;
  cell.lastIndex = content.startsWith("\ufeff") ? 1 : 0;
  while (cell.lastIndex < content.length) {
    const match = cell.exec(content);
    if (!match) throw new Error("a quote is out of place");
    const [, raw, end] = match;
    rows.at(-1).push(restoreCell(raw.startsWith('"') ? raw.slice(1, -1).replaceAll('""', '"') : raw));
    if (end !== ",") rows.push([]);
  }
  return rows.filter((row) => row.length);
}

async function loadCorrections(file) {
  try {
    const [header, ...rows] = parseCsv(await file.text());
    const names = ["row", "given", "corrected", "decision", "reviewed_at", "reviewer", "how", "comment"];
    const [row, given, corrected, decision, at, by, how, remarks] = names.map((name) => header.indexOf(name));
    if (Math.min(row, given, corrected, decision) < 0) throw new Error("a column is missing");
    const fitting = rows.filter((cells) => {
      const index = indexOfRow.get(Number(cells[row]));
      return index !== undefined && report.values[suspects.given[index]] === cells[given];
    });
    const read = readable(
      fitting.map((cells) => [Number(cells[row]), cells[decision].trim().toLowerCase(), cells[corrected], cells[at] ?? "", cells[by] ?? "", cells[how] ?? ""]),
    );
    fitting.forEach((cells) => cells[remarks] && comments.set(Number(cells[row]), cells[remarks]));
    const other = read.filter(([number, { label }]) => decisions.has(number) && decisions.get(number).label !== label).length;
    takeStep(read);
    const left = rows.length - read.length;
    notify(
      `${plural(read.length, "decision")} loaded.` +
        (other ? ` ${other} took the place of another decision; undo brings it back.` : "") +
        (left ? ` ${left} left out: they are of other data.` : ""),
    );
    refresh();
  } catch (error) {
    notify(`${file.name} could not be read: ${error.message}.`);
  }
}
