// The evidence about a pair: the two records side by side, the words of both ends, and the links around them.

const recordPattern = /(&#?[\p{L}\p{N}]+;|\p{N}+(?:[.,]\p{N}+)+|[\p{L}\p{N}_]+)/u; // words, and numbers as a whole

function pairEvidence(index) {
  const detail = report.details[index];
  if (!detail) return [el("p", { class: "quiet" }, `The two ends are shown for the ${report.details.length} most suspect.`)];
  const { graph, ends, words } = detail;
  const alone = graph.total.every((count) => count === 0);
  const only = (id, k) => words && wordList(el("span", {}, "Only in ", data(id)), words[k], detail.n_words[k]);
  const surroundings = alone ? [] : linksAround(index, graph);
  return [
    ...(ends ? endsTable([suspects.id[index], suspects.other[index]], ends) : []),
    words && wordList("In both", words[0], detail.n_words[0]),
    only(suspects.id[index], 1),
    only(suspects.other[index], 2),
    ...surroundings,
  ];
}

function linksAround(index, graph) {
  const hidden = graph.total.reduce((sum, count) => sum + count, 0) - graph.shown.reduce((sum, count) => sum + count, 0);
  return [
    el("h3", {}, "The links around it"),
    el("p", { class: "quiet" }, graphText(graph), hidden > 0 && ` ${hidden} of them are not drawn.`),
    el("figure", { class: "graph" }, pairGraph(graph, suspects.given[index])),
  ];
}

/** Both ends, column by column, under their names; what only one of them has is marked. */
function endsTable(names, [left, right]) {
  const head = names.map((name) => el("th", { scope: "col" }, data(name, { class: "clip" })));
  const compared = report.columns.map(({ name }, j) => ({ name, ...compareCells(left[j], right[j]) }));
  const rows = compared.map(({ name, sign, said, cells }) =>
    el(
      "tr",
      { class: sign === "=" ? "same" : null },
      el("th", { scope: "row" }, data(name, { class: "clip" })),
      el("td", { class: "sign" }, el("span", { title: said, role: "img", "aria-label": said }, sign)),
      cells.map((parts) => el("td", {}, el("bdi", { class: "clip" }, parts.map(([text, own]) => (own ? el("mark", { class: "own-part" }, text) : text))))),
    ),
  );
  const unequal = compared.filter(({ sign }) => sign === "≠").length;
  const table = el("table", { class: "features ends" },
    el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "Feature"), el("td", {}), head)), el("tbody", {}, rows));
  return [
    el("h3", {}, "The two side by side"),
    el("p", { class: "legend quiet" }, `${unequal} of ${plural(compared.length, "feature")} ${unequal === 1 ? "differs" : "differ"}. A word that only one of the two has is `, el("mark", { class: "own-part" }, "underlined"), "; ≠ differs, = is the same, ∅ is missing."),
    el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Features of both ends" }, table),
  ];
}

/** A sign, what it says, and the parts [text, whether only this cell has it] of both cells. */
function compareCells(left, right) {
  const [first, second] = [left, right].map((cell) => (cell === null || cell === undefined || cell === "" ? null : String(cell)));
  if (first === null || second === null) {
    return { sign: "∅", said: "missing", cells: [first, second].map((cell) => [[cell ?? "–", false]]) };
  }
  if (first === second) return { sign: "=", said: "the same", cells: [[[first, false]], [[second, false]]] };
  return { sign: "≠", said: "differs", cells: ownParts(first, second) };
}

/** The parts of two texts: a word is a text's own if the other text does not have it anywhere, in whatever case. */
function ownParts(first, second) {
  const [left, right] = [first, second].map((text) => text.split(recordPattern));
  const plain = (token) => token.toLowerCase().replace(/^_+|_+$/g, "");
  const [ours, theirs] = [left, right].map((tokens) => new Set(tokens.filter((_, place) => place % 2).map(plain)));
  const marked = (tokens, others) => tokens.map((token, place) => [token, place % 2 === 1 && !others.has(plain(token))]).filter(([token]) => token);
  return [marked(left, theirs), marked(right, ours)];
}
