// What the audit found as a whole.

function chart(title, text, drawing) {
  if (!drawing) return null;
  return el("figure", { class: "panel chart" }, el("figcaption", {}, el("h2", {}, title), el("p", { class: "quiet" }, text)), drawing);
}

function buildCharts() {
  const { chances, weights, gap } = report.figures;
  const what = isPairs ? "pairs" : "labels";
  $("charts").append(
    ...[
      chart(`How suspect the ${what} are`, chances.threshold === null ? "None is worth checking." : "The coloured bars are worth checking.", histogram(chances)),
      chart("Given against suggested", "Pick a cell to list its rows.", confusionTable()),
      weights && chart("Kernel weights", `${weights.n_used} of ${plural(weights.n_kernels, "kernel")} used.`, weightBars(weights.bars)),
      gap && chart("Distance from the optimum", "The gap between the bounds proves how near the answer is.", gapLine(gap)),
    ].filter(Boolean),
  );
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
    el("table", { class: "confusion" }, el("thead", {}, el("tr", {}, el("td", { class: "quiet" }, "given ↓ suggested →"), heads)), el("tbody", {}, rows)),
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
