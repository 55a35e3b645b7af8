// Who said what of a row, and how good every source is.

const sources = report.sources ?? null;
const ofConsensus = Boolean(sources?.consensus);
/** What the label under review is called: it is given, or it is the consensus of several answers. */
const givenName = ofConsensus ? "Consensus" : "Given";
const mostChips = 40; // on one card; pages of crowds have rows with very many answers
const enough = 10; // answers, to judge a source
const sourceShown = { all: false };

/** The answers to a row: pairs of a source and a class. */
function answersTo(index) {
  const said = sources?.said[index] ?? [];
  return Array.from({ length: said.length / 2 }, (_, k) => [said[2 * k], said[2 * k + 1]]);
}

/** Whether a source concerns a row: it disagrees with the consensus, or it gave the label. */
function concerns(source, index) {
  const said = sources.said[index];
  for (let at = 0; at < said.length; at += 2) {
    if (said[at] === source && (!ofConsensus || said[at + 1] !== suspects.given[index])) return true;
  }
  return false;
}

/** Who said what, one chip for each answer: first those who agree with the label under review. */
function chips(index) {
  if (!sources) return null;
  const [given, suggested] = [suspects.given[index], suspects.suggested[index]];
  const place = (code) => (code === given ? 0 : code === suggested ? 1 : 2);
  const said = answersTo(index).sort(([one, a], [other, b]) => place(a) - place(b) || other - one);
  if (!said.length) return el("p", { class: "chips quiet" }, "Nobody has answered this row; the features alone speak for the consensus.");
  const kind = (code) => ["given", "suggested", ""][place(code)];
  const chip = ([source, code]) =>
    el(
      "li",
      { class: `chip ${kind(code)}`, title: howGood(source) },
      !ofConsensus && "given by ",
      data(shorten(sources.names[source], 30)),
      ofConsensus && ": ",
      ofConsensus && data(shorten(nameOf(code), 30), { class: "said-label" }),
    );
  const more = said.length > mostChips && el("li", { class: "quiet" }, `and ${said.length - mostChips} more`);
  return el("ul", { class: "chips", "aria-label": ofConsensus ? "Who said what" : "Who gave the label" }, said.slice(0, mostChips).map(chip), more);
}

/** How good a source is, in words; few answers tell nothing. */
function howGood(source) {
  const [name, known] = [shorten(sources.names[source], 60), sources.table[source]];
  if (!known) return name; // of very many sources the page has the figures of the first
  return `${name} ${known.n < enough ? "gave too few answers to judge" : `is right in about ${percent(known.accuracy)} of its answers`}`;
}

/** The filter by a source: rows where it disagrees with the consensus, or whose label it gave. */
function sourceFilter(select) {
  if (!sources) return null;
  const options = sources.names.map((name, source) => option(source, shorten(name, 40)));
  return field(ofConsensus ? "Disagrees" : "Given by", select("source", [option("", "any"), ...options]));
}

/** How often the sources agree, in words. */
function agreementText() {
  const { agreement, alpha, copies, n_answers: answers, names } = sources;
  const what = isPairs ? "pair" : "row";
  const count = `${plural(answers, "answer")} of ${plural(names.length, "source")}.`;
  const agree = agreement === null ? `No ${what} has two answers.` : `Two answers to the same ${what} agree in ${percent(agreement)}${alpha === null ? "" : ` (Krippendorff's alpha ${alpha.toFixed(2)})`}.`;
  const copied = copies.slice(0, 3).map(([one, other, share]) => `${shorten(one, 30)} and ${shorten(other, 30)} agree as if one copied the other in ${percent(share)} of the rows, errors included; together they count for less than two.`);
  return [count, agree, ...copied].join(" ");
}

/** The sources, the least accurate first: how many answers, how good with its range, and where they err. */
function sourcePanel() {
  if (!sources) return null;
  const few = 12;
  const list = el("ul", { class: "bars sources" });
  const item = (source) => {
    const { n, accuracy, interval, errs, kind } = sources.table[source];
    const pick = el("button", { type: "button", class: "plain clip", on: { click: () => showSource(source) } }, data(shorten(sources.names[source], 40)));
    pick.setAttribute("aria-label", `${shorten(sources.names[source], 40)}: list the ${isPairs ? "pairs" : "rows"} ${ofConsensus ? "where it disagrees" : "that it labelled"}`);
    const how = [`${plural(n, "answer")}${kind ? ` of a ${kind}` : ""}${n < enough ? ", too few to judge" : ""}`, ...errs].join("; ");
    return el("li", {}, pick, intervalBar(accuracy, interval), el("span", { class: "numeric" }, percent(accuracy)), el("p", { class: "how quiet" }, how));
  };
  const draw = () => {
    const shown = sources.table.map((_, source) => source).slice(0, sourceShown.all ? undefined : few);
    const all = el("li", {}, el("button", { type: "button", on: { click: () => { sourceShown.all = true; draw(); } } }, `All ${sources.table.length} sources`));
    list.replaceChildren(...shown.map(item), ...(shown.length < sources.table.length ? [all] : []));
  };
  draw();
  return chart("How good the sources are", `${agreementText()} The bar is the share of right answers, the line its 90 % range. Pick a source to list its ${isPairs ? "pairs" : "rows"}.`, list);
}

/** A share with its range. */
function intervalBar(share, [low, high]) {
  const at = (value) => 2 + 116 * value;
  return svg(
    "svg",
    { viewBox: "0 0 120 14", class: "range-bar", role: "img", preserveAspectRatio: "none", "aria-label": `${percent(share)}, between ${percent(low)} and ${percent(high)}` },
    svg("rect", { x: 2, y: 4, width: 116, height: 6, class: "track" }),
    svg("rect", { x: 2, y: 4, width: 116 * share, height: 6, class: "filled" }),
    svg("line", { x1: at(low), x2: at(high), y1: 7, y2: 7, class: "reach" }),
  );
}

function showSource(source) {
  resetFilters();
  for (const [key, value] of Object.entries({ scope: "all", source: String(source) })) {
    filters[key] = value;
    $(`filter-${key}`).value = value;
  }
  $("filters").querySelector("details").open = true;
  updateList();
  $("queue").scrollIntoView();
  announce($("count").textContent);
}
