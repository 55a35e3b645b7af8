// The list of suspects: filters, sortable columns, pages.

const pageSize = 25;
let visible = new Int32Array(0); // what the filters let through; it stays as it is while rows are being decided
let cursor = -1; // position in `visible`

const columns = [
  { key: null, name: "No.", numeric: true },
  { key: "id", name: isPairs ? "Pair" : report.id_name },
  { key: "given", name: givenName },
  { key: "suggested", name: "If wrong" },
  { key: "rank", name: "Wrong", numeric: true },
  { key: "decision", name: "Decision" },
];

function option(value, text) {
  return el("option", { value }, text);
}

function field(name, control) {
  return el("label", { class: "field" }, el("span", {}, name), control);
}

function buildFilters() {
  const select = (key, options) => {
    const control = el("select", { id: `filter-${key}` }, options);
    control.value = filters[key];
    control.addEventListener("change", () => applyFilter(key, control.value));
    return control;
  };
  const range = (key, label) => {
    const control = el("input", { id: `filter-${key}`, type: "number", min: 0, max: 100, step: 1, "aria-label": label });
    control.value = filters[key];
    control.addEventListener("input", () => {
      const value = control.valueAsNumber;
      applyFilter(key, Number.isFinite(value) ? value : key === "low" ? 0 : 100);
    });
    return control;
  };
  const labels = () => [option("", "any"), ...report.names.map((name, code) => option(code, shorten(name, 40)))];
  const search = el("input", { id: "filter-text", type: "search", placeholder: "Search rows", "aria-label": "Search rows" });
  search.addEventListener("input", () => applyFilter("text", search.value));
  const listed = `${total.toLocaleString("en")} of ${report.summary.n.toLocaleString("en")}`;
  const scope = select("scope", [
    planned.size > 0 && option("plan", `Planned checks (${planned.size.toLocaleString("en")})`),
    toCheck > 0 && option("check", `Worth checking (${toCheck.toLocaleString("en")})`),
    option("all", total < report.summary.n ? `All listed (${listed})` : `All (${total.toLocaleString("en")})`),
  ]);
  scope.setAttribute("aria-label", "Which rows");
  const states = [["", "any"], ["open", "to do"], ["any", "done"], ["correct", "kept"], ["wrong", "changed"], ["unclear", "cannot tell"], ["skip", "skipped"]];
  $("filters").append(
    el("div", { class: "main-filters" }, search, scope),
    el(
      "details",
      {},
      el("summary", {}, "More filters and sorting"),
      el(
        "div",
        { class: "more-filters" },
        sourceFilter(select),
        field(givenName, select("given", labels())),
        field("If wrong", select("suggested", labels())),
        field("Decision", select("decision", states.map(([value, text]) => option(value, text)))),
        el("div", { class: "field", role: "group", "aria-label": "Chance that it is wrong" },
          el("span", {}, "Wrong, %"), el("span", { class: "range" }, range("low", "from %"), "to", range("high", "to %"))),
        field("Sort by", sortSelect()),
        el("button", { type: "button", id: "sort-order", on: { click: () => sortBy(sorting.by, !sorting.descending) } }),
        el("button", { type: "button", id: "reset", on: { click: resetFilters } }, "Reset"),
      ),
    ),
  );
  $("filters").addEventListener("submit", (event) => event.preventDefault());
}

function sortSelect() {
  const control = el("select", { id: "sort-by" }, Array.from(sortKeys, ([key, { name }]) => option(key, shorten(name, 40))));
  control.value = sorting.by;
  control.addEventListener("change", () => sortBy(control.value, false));
  return control;
}

function applyFilter(key, value) {
  filters[key] = value;
  const started = performance.now();
  updateList();
  performance.measure("kernelwise-filter", { start: started });
  saveSoon();
}

function resetFilters() {
  Object.assign(filters, { scope: firstScope, text: "", given: "", suggested: "", decision: "", low: 0, high: 100, ...(sources && { source: "" }) });
  for (const [key, value] of Object.entries(filters)) $(`filter-${key}`).value = value;
  sortBy(planned.size ? "plan" : "rank", false);
}

function sortBy(key, descending) {
  Object.assign(sorting, { by: key, descending });
  $("sort-by").value = sorting.by;
  showOrder();
  sortRows();
  cursor = -1; // from the top
  updateList();
  saveSoon();
  announce(`Sorted by ${sortKeys.get(sorting.by).name}, ${descending ? "descending" : "ascending"}.`);
}

function showOrder() {
  $("sort-order").textContent = sorting.descending ? "Descending ▼" : "Ascending ▲";
}

/** Filter again and keep the row under review if it is still there. */
function updateList() {
  const current = cursor >= 0 ? visible[cursor] : -1;
  visible = filterRows();
  const kept = current < 0 ? -1 : visible.indexOf(current);
  cursor = visible.length ? Math.max(kept, 0) : -1;
  drawHeads();
  drawRows();
  if (cursor < 0 || visible[cursor] !== current || current < 0) showCard(cursor < 0 ? -1 : visible[cursor]);
}

/** Where the reviewer is: the row, and how the list is filtered and sorted. */
function currentPlace() {
  return { plan: planName, row: cursor < 0 ? null : suspects.row[visible[cursor]], filters: { ...filters }, sorting: { ...sorting } };
}

/** Go back to such a place; what this page does not know is passed over. */
function goTo(place) {
  for (const key of Object.keys(filters)) {
    const control = $(`filter-${key}`);
    control.value = place.filters?.[key] ?? filters[key];
    if (String(control.value) === String(place.filters?.[key])) filters[key] = place.filters[key];
    else control.value = filters[key];
  }
  if (sortKeys.has(place.sorting?.by)) Object.assign(sorting, { by: place.sorting.by, descending: Boolean(place.sorting.descending) });
  $("sort-by").value = sorting.by;
  showOrder();
  sortRows();
  visible = filterRows();
  cursor = indexOfRow.has(place.row) ? visible.indexOf(indexOfRow.get(place.row)) : -1;
}

function drawHeads() {
  rebuild(
    $("heads"),
    columns.map(({ key, name, numeric }) => {
      if (!key) return el("th", { scope: "col", class: "col-rank numeric" }, name);
      const active = sorting.by === key;
      // By rank the most suspect come first, which is the highest chance.
      const down = key === "rank" ? !sorting.descending : sorting.descending;
      const order = active ? (down ? "descending" : "ascending") : null;
      const press = () => sortBy(key, active ? !sorting.descending : false);
      const arrow = el("span", { class: "order", "aria-hidden": "true" }, order ? (down ? "▼" : "▲") : "");
      return el(
        "th",
        { scope: "col", class: `col-${key === "rank" ? "chance" : key}${numeric ? " numeric" : ""}`, "aria-sort": order },
        el("button", { type: "button", "data-part": key, on: { click: press } }, el("bdi", {}, shorten(name, 20)), arrow),
      );
    }),
  );
}

function drawRows() {
  $("queue-title").textContent = filters.scope === "plan" ? "Planned checks" : "Suspects";
  const first = Math.max(0, Math.floor(cursor / pageSize)) * pageSize;
  const shown = visible.subarray(first, first + pageSize);
  rebuild($("rows"), Array.from(shown, (index, k) => queueRow(index, first + k)));
  const count = `${plural(visible.length, "row")}${visible.length < total ? ` of ${total.toLocaleString("en")}` : ""}`;
  if ($("count").textContent !== count) $("count").textContent = count; // or it would be read out again
  drawPager(first);
  showBulk();
}

function queueRow(index, position) {
  const made = decisionOf(index);
  const current = position === cursor;
  const open = el("button", { type: "button", class: "open", tabindex: current ? 0 : -1 }, data(shorten(titleOf(index), 80)));
  return el(
    "tr",
    { class: made?.decision, "aria-current": current ? "true" : null, on: { click: () => moveTo(position) } },
    el("td", { class: "col-rank numeric" }, (index + 1).toLocaleString("en")),
    el("td", { class: "col-id" }, open),
    el("td", { class: "col-given" }, breakable(shorten(nameOf(suspects.given[index]), 60))),
    el("td", { class: "col-suggested" }, breakable(shorten(nameOf(suspects.suggested[index]), 60))),
    el("td", { class: "col-chance numeric" }, percent(chanceWrong(index)), bar(chanceWrong(index), "given")),
    el("td", { class: "col-decision" }, made ? shortDecision(index) : ""),
  );
}

function shortDecision(index) {
  const { decision, label } = decisionOf(index);
  const signs = { skip: ["↷", "skipped"], unclear: ["?", "cannot tell"], correct: ["✓", "kept"] };
  const [sign, said] = signs[decision] ?? ["✎", data(shorten(report.names[report.values.indexOf(label)], 30))];
  return [el("span", { "aria-hidden": "true" }, sign), el("span", { class: "said" }, " ", said)];
}

/** A label that may be broken after a sign that joins words. */
function breakable(label) {
  return el("bdi", {}, partsOf(label).flatMap((part) => [part, el("wbr")]));
}

const partsOf = (label) => label.split(/([^_./-]*[_./-]+)/).filter(Boolean);

/** The columns of labels are as wide as the longest label needs, within limits. */
function fitLabels() {
  const longest = Math.max(...report.names.flatMap((name) => partsOf(name).map((part) => Array.from(part).length)));
  const ids = Math.max(...suspects.row.slice(0, 1000).map((_, index) => Array.from(titleOf(index)).length));
  const most = Math.max(6, 11 - 0.7 * (ids - 1)); // or nothing is left to name the rows
  if (ofConsensus) $("list").style.setProperty("--given-head", "9.5ch");
  $("list").style.setProperty("--label", `${Math.min(Math.max(longest, 7), most) + 1}ch`);
}

function drawPager(first) {
  const pages = Math.ceil(visible.length / pageSize);
  const page = first / pageSize;
  $("pager").hidden = pages < 2;
  const turn = (text, target) => {
    const disabled = target < 0 || target >= pages || target === page;
    return el("button", { type: "button", disabled, "data-part": text, on: { click: () => moveTo(target * pageSize) } }, text);
  };
  const place = el("span", {}, `Page ${(page + 1).toLocaleString("en")} of ${pages.toLocaleString("en")}`);
  const turns = [turn("First", 0), turn("Previous", page - 1), place, turn("Next", page + 1), turn("Last", pages - 1)];
  rebuild($("pager"), turns);
}

/** Make a row the one under review. */
function moveTo(position) {
  if (position < 0 || position >= visible.length) return;
  cursor = position;
  drawRows();
  showCard(visible[cursor]);
  saveSoon();
  scrollToCard();
}
