// What the audit found as a whole.

function chart(title, text, drawing) {
  if (!drawing) return null;
  return el("figure", { class: "panel chart" }, el("figcaption", {}, el("h2", {}, title), el("p", { class: "quiet" }, text)), drawing);
}

function buildCharts() {
  const { chances, columns, weights, gap } = report.figures;
  const what = isPairs ? "pairs" : "labels";
  const inside = [
    weights && isPairs && chart("Kernels that matter", `${weights.n_used} of ${plural(weights.n_kernels, "kernel")} used. A kernel measures how alike two rows are.`, weightBars(weights.bars)),
    weights && !isPairs && chart("Models that matter", `${weights.n_used} of ${plural(weights.n_kernels, "model")} used, mixed by how well each predicts the given labels.`, weightBars(weights.bars)),
    gap && chart("Distance from the optimum", "The gap between the bounds proves how near the answer is.", gapLine(gap)),
  ].filter(Boolean);
  $("charts").append(
    ...[
      sourcePanel(),
      columns && chart("Which columns matter", mattering[columns.by], columnBars(columns.bars)),
      chances && chart(`How suspect the ${what} are`, chances.threshold === null ? "None is more likely wrong than right." : "The coloured bars are worth checking.", histogram(chances)),
      report.figures.confusions.length > 0 && chart(`${givenName} against suggested`, "Pick a cell to list its rows.", confusionTable()),
    ].filter(Boolean),
  );
  if (inside.length) $("charts").after(el("details", { class: "inside" }, el("summary", {}, "Inside the model"), el("div", { class: "charts" }, inside)));
}

/** What the shares of the columns are. */
const mattering = {
  model: "How much the predictions change when the values of a column are shuffled among the rows.",
  values: "How much each column on its own tells of the labels of trusted rows.",
};

/** The columns by their share, each with what is typical of the labels. */
function columnBars(bars) {
  const most = Math.max(...bars.map(([, share]) => share), Number.MIN_VALUE);
  return el(
    "ul",
    { class: "bars columns" },
    bars.map(([at, share]) =>
      el(
        "li",
        {},
        data(report.columns[at].name, { class: "clip" }),
        bar(share / most, "suggested"),
        el("span", { class: "numeric" }, percent(share)),
        el("p", { class: "how quiet" }, howColumn(report.columns[at])),
      ),
    ),
  );
}

/** How a column tells the labels apart, in words. */
function howColumn({ medians, typical, words }) {
  const list = (items) => items.flatMap((item, k) => [k ? "; " : "", ...item]);
  const label = (code) => data(shorten(nameOf(code), 24));
  if (words) return list(words.map((some, code) => [label(code), ": ", some.length ? shorten(some.join(", "), 80) : "no typical word"]).slice(0, 4));
  if (medians) {
    const known = medians.map((median, code) => ({ median, code })).filter(({ median }) => median !== null).sort((a, b) => b.median - a.median);
    const shown = known.length > 3 ? [known[0], known.at(-1)] : known;
    return ["typical: ", ...list(shown.map(({ median, code }) => [`${median} `, label(code)]))];
  }
  if (!typical) return [];
  const shares = typical.shares.map((share, code) => ({ share, code })).sort((a, b) => b.share - a.share);
  const shown = shares.length > 3 ? [shares[0], shares.at(-1)] : shares;
  const value = typical.value === "" ? "missing" : ["“", data(shorten(typical.value, 30)), "”"];
  return [value, ": ", ...list(shown.map(({ share, code }) => [`${percent(share)} of `, label(code)]))].flat();
}

function weightBars(bars) {
  const most = Math.max(...bars.map(([, weight]) => Math.abs(weight)), Number.MIN_VALUE);
  return el(
    "ul",
    { class: "bars" },
    bars.map(([name, weight]) =>
      el("li", {}, data(name, { class: "clip" }), bar(Math.abs(weight) / most, "suggested"), el("span", { class: "numeric" }, weight.toPrecision(3))),
    ),
  );
}

/** Few classes: a matrix. Many: the most frequent disagreements. */
function confusionTable() {
  const triples = report.figures.confusions;
  const pick = (given, suggested, count, attributes = {}) =>
    el(
      "button",
      {
        type: "button",
        "aria-label": `${count} given as ${shorten(nameOf(given), 40)}, suggested ${shorten(nameOf(suggested), 40)}`,
        on: { click: () => showCell(given, suggested) },
        ...attributes,
      },
      count.toLocaleString("en"),
    );
  const most = Math.max(...triples.map(([given, suggested, count]) => (given === suggested ? 0 : count)), 1);
  if (report.names.length > 8) {
    const different = triples.filter(([given, suggested]) => given !== suggested).slice(0, 12);
    return el(
      "ul",
      { class: "bars" },
      different.map(([given, suggested, count]) =>
        el("li", {}, el("span", { class: "clip" }, data(nameOf(given)), " → ", data(nameOf(suggested))), bar(count / most, "given"), pick(given, suggested, count)),
      ),
    );
  }
  const counts = new Map(triples.map(([given, suggested, count]) => [`${given}/${suggested}`, count]));
  const cell = (given, suggested) => {
    const count = counts.get(`${given}/${suggested}`) ?? 0;
    const node = el("td", { class: given === suggested ? "agree" : "disagree" }, count ? pick(given, suggested, count) : "0");
    if (given !== suggested) node.style.setProperty("--share", `${Math.round((45 * count) / most)}%`);
    return node;
  };
  const heads = report.names.map((name) => el("th", { scope: "col" }, data(name, { class: "clip" })));
  const rows = report.names.map((name, given) =>
    el("tr", {}, el("th", { scope: "row" }, data(name, { class: "clip" })), report.names.map((_, suggested) => cell(given, suggested))),
  );
  return el(
    "div",
    { class: "scroll", tabindex: "0", role: "region", "aria-label": "Given against suggested labels" },
    el("table", { class: "confusion" }, el("thead", {}, el("tr", {}, el("td", { class: "quiet" }, `${givenName.toLowerCase()} ↓ suggested →`), heads)), el("tbody", {}, rows)),
  );
}

function showCell(given, suggested) {
  resetFilters();
  for (const [key, value] of Object.entries({ scope: "all", given: String(given), suggested: String(suggested) })) {
    filters[key] = value;
    $(`filter-${key}`).value = value;
  }
  $("filters").querySelector("details").open = true;
  updateList();
  $("queue").scrollIntoView();
  announce($("count").textContent);
}
