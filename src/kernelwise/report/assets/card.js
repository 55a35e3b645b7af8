// The card of the suspect under review: what is claimed, what the data say, and what it can be compared with.

function showCard(index) {
  const card = $("card");
  if (index < 0) {
    rebuild(card, [el("p", { class: "empty" }, "No suspect matches the filters.")]);
    return;
  }
  const evidence = isPairs ? pairEvidence(index) : labelEvidence(index);
  rebuild(card, [cardHead(index), claim(index), actions(index), ...evidence]);
  card.scrollTop = 0;
}

function cardHead(index) {
  const made = decisionOf(index);
  return el(
    "div",
    { class: "card-head" },
    el(
      "h2",
      {},
      el("span", { class: "rank" }, `No. ${(index + 1).toLocaleString("en")}`),
      el("span", { class: "quiet" }, ` ${isPairs ? "pair" : report.id_name} `),
      data(titleOf(index), { class: "clip" }),
    ),
    made && el("p", { class: `badge ${made.decision}` }, decisionText(index)),
  );
}

function decisionText(index) {
  const { decision, label } = decisionOf(index);
  if (decision === "correct") return "✓ label is correct";
  if (decision === "skip") return "skipped";
  if (decision === "unclear") return "? cannot tell";
  return `✎ changed to ${shorten(report.names[report.values.indexOf(label)], 24)}`;
}

function claim(index) {
  const chance = chanceWrong(index);
  const [given, suggested] = [suspects.given[index], suspects.suggested[index]];
  const chances = report.details[index]?.chances ?? [];
  return el(
    "div",
    { class: "claim" },
    el("div", {}, el("p", { class: "quiet" }, "Given"), data(nameOf(given), { class: "label given clip" })),
    el("span", { class: "arrow", "aria-hidden": "true" }, given === suggested ? "=" : "→"),
    el("div", {}, el("p", { class: "quiet" }, "The data suggest"), data(nameOf(suggested), { class: "label suggested clip" })),
    el(
      "div",
      { class: "verdict" },
      el("p", { class: "quiet" }, "Chance that it is wrong"),
      el("p", { class: "chance" }, percent(chance)),
      bar(chance, "given"),
    ),
    chances.length > 2 &&
      el(
        "p",
        { class: "chances quiet" },
        "Chances: ",
        chances.flatMap(([code, share], k) => [k ? ", " : "", data(nameOf(code)), ` ${percent(share)}`]),
      ),
  );
}

function actions(index) {
  const [given, suggested] = [suspects.given[index], suspects.suggested[index]];
  const made = decisionOf(index);
  const button = (key, kind, text, act) =>
    el(
      "button",
      { type: "button", class: `action ${kind}`, "data-part": kind, "aria-pressed": String(made?.decision === kind), on: { click: act } },
      el("kbd", { "aria-hidden": "true" }, key),
      text,
    );
  const keep = ["Keep ", data(shorten(nameOf(given), 24))];
  const change = ["Change to ", data(shorten(nameOf(suggested), 24))];
  return el(
    "div",
    { class: "actions", role: "group", "aria-label": "Decide" },
    button("C", "correct", el("span", {}, keep), () => review("correct")),
    given !== suggested && button("W", "wrong", el("span", {}, change), () => review("wrong")),
    report.names.some((_, code) => code !== given && code !== suggested) || given === suggested ? otherLabel(index) : null,
    button("T", "unclear", "Cannot tell", () => review("unclear")),
    button("S", "skip", "Skip", () => review("skip")),
    el(
      "button",
      { type: "button", class: "action", "data-part": "undo", disabled: !past.length, on: { click: takeBack } },
      el("kbd", { "aria-hidden": "true" }, "U"),
      "Undo",
    ),
  );
}

/** A choice among all labels; the first nine are at the digit keys. It is set by a button, since in a closed list the
 *  arrow keys alone change the choice. */
function otherLabel(index) {
  const select = el(
    "select",
    { "data-part": "other", "aria-label": "Another label" },
    el("option", { value: "" }, "Other…"),
    report.names.map((name, code) =>
      code === suspects.given[index]
        ? null
        : el("option", { value: code }, `${code < 9 ? `${code + 1}  ` : ""}${shorten(name, 40)}`),
    ),
  );
  const set = el(
    "button",
    { type: "button", "data-part": "set", disabled: true, on: { click: () => review("wrong", Number(select.value)) } },
    "Set",
  );
  select.addEventListener("change", () => (set.disabled = select.value === ""));
  return el("span", { class: "action other" }, select, set);
}

function labelEvidence(index) {
  const detail = report.details[index];
  const near = detail?.near ?? [];
  const late = !detail && el("p", { class: "quiet" }, `Neighbours are listed for the ${report.details.length} most suspect.`);
  if (detail?.words) return [wordList("Features that are not zero", detail.words.map(([word]) => word), detail.n_words), sharedWords(near)];
  if (!report.columns.length) return [late];
  const [given, suggested] = [suspects.given[index], suspects.suggested[index]];
  const typical = report.columns.some((column) => column.range);
  const table = el(
    "table",
    { class: "features" },
    el(
      "thead",
      {},
      el(
        "tr",
        {},
        el("th", { scope: "col" }, "Feature"),
        el("th", { scope: "col" }, "This row"),
        typical && el("th", { scope: "col", class: "strip-head" }, "Where it lies"),
        near.map((other) => el("th", { scope: "col" }, data(other.id, { class: "clip" }))),
      ),
    ),
    el(
      "tbody",
      {},
      report.columns.map((column, j) => {
        const value = suspects.features[j][index];
        return el(
          "tr",
          {},
          el("th", { scope: "row" }, data(column.name, { class: "clip" })),
          el("td", { class: "own" }, data(value, { class: "clip" })),
          typical && el("td", {}, strip(value, column, given, suggested)),
          near.map((other) => el("td", {}, data(other.values?.[j], { class: "clip" }))),
        );
      }),
    ),
  );
  const hidden = report.n_columns - report.columns.length;
  return [
    el("h3", {}, "The evidence"),
    el(
      "p",
      { class: "legend quiet" },
      near.length > 0 && ["Beside it: near rows labelled ", data(shorten(nameOf(suggested), 30)), " that can be trusted. "],
      typical && legend(given, suggested),
    ),
    el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Features of this row and its neighbours" }, table),
    hidden > 0 && el("p", { class: "quiet" }, `${plural(hidden, "more feature")} not shown.`),
    late,
  ];
}

function legend(given, suggested) {
  const mark = (shape) => svg("svg", { viewBox: "0 0 14 18", class: "key", "aria-hidden": "true" }, shape);
  const typical = (code) => ["a typical ", data(shorten(nameOf(code), 30))];
  return el(
    "span",
    { class: "keys" },
    el("span", {}, mark(svg("circle", { cx: 7, cy: 9, r: 4, class: "mark-row" })), "this row"),
    el("span", {}, mark(svg("path", { d: "M7 4l5 5-5 5-5-5z", class: "mark-given" })), typical(given)),
    given !== suggested &&
      el("span", {}, mark(svg("path", { d: "M2.5 4.5h9v9h-9z", class: "mark-suggested" })), typical(suggested)),
  );
}

function wordList(title, words, count = words.length) {
  const more = count - words.length;
  return el(
    "div",
    { class: "words" },
    el("h3", {}, title, el("span", { class: "quiet" }, ` ${count}`)),
    el("p", {}, count ? words.map((word) => data(word, { class: "word" })) : el("span", { class: "quiet" }, "none"), more > 0 && el("span", { class: "quiet" }, `and ${more} more`)),
  );
}

function sharedWords(near) {
  if (!near.length) return null;
  return el(
    "div",
    {},
    near.map((other) => {
      const title = ["Shared with trusted ", data(other.id, { class: "clip" })];
      return wordList(el("span", {}, title), other.shared);
    }),
  );
}

function pairEvidence(index) {
  const detail = report.details[index];
  if (!detail) return [el("p", { class: "quiet" }, `The surroundings are drawn for the ${report.details.length} most suspect.`)];
  const { graph, ends, words } = detail;
  const hidden = graph.total.reduce((sum, count) => sum + count, 0) - graph.shown.reduce((sum, count) => sum + count, 0);
  return [
    el("h3", {}, "The links around it"),
    el("p", { class: "quiet" }, graphText(graph), hidden > 0 && ` ${hidden} of them are not drawn.`),
    el("figure", { class: "graph" }, pairGraph(graph, suspects.given[index])),
    words && wordList("In both", words[0], detail.n_words[0]),
    words && wordList(el("span", {}, "Only in ", data(suspects.id[index])), words[1], detail.n_words[1]),
    words && wordList(el("span", {}, "Only in ", data(suspects.other[index])), words[2], detail.n_words[2]),
    ends && endsTable(index, ends),
  ];
}

function endsTable(index, [left, right]) {
  const head = [suspects.id[index], suspects.other[index]].map((id) => el("th", { scope: "col" }, data(id, { class: "clip" })));
  const rows = report.columns.map(({ name }, j) =>
    el(
      "tr",
      {},
      el("th", { scope: "row" }, data(name, { class: "clip" })),
      el("td", {}, data(left[j], { class: "clip" })),
      el("td", {}, data(right[j], { class: "clip" })),
    ),
  );
  const table = el("table", { class: "features" },
    el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "Feature"), head)), el("tbody", {}, rows));
  return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Features of both ends" }, table);
}
