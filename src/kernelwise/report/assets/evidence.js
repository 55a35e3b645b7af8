// The evidence about a label: pictures, texts, and the columns with the most telling first.

const fewFeatures = 12; // that are shown before the reader asks for all
const shownFeatures = { all: false };

function labelEvidence(index) {
  const detail = report.details[index];
  const near = detail?.near ?? [];
  const late = !detail && el("p", { class: "quiet" }, `Neighbours are listed for the ${report.details.length} most suspect.`);
  return [
    pictures(index, near),
    ...textEvidence(index, detail, near),
    detail?.words && wordEvidence(index, detail, near),
    ...featureEvidence(index, detail, near),
    late,
  ];
}

/** The picture of the row, and beside it those of its neighbours. */
function pictures(index, near) {
  const own = suspects.image?.[index];
  if (!own) return null;
  const others = near.filter((other) => other.image);
  const figure = (source, kind, caption) => el("figure", { class: kind }, picture(source, kind === "own-picture" ? "The picture of this row" : "The picture of a trusted row"), el("figcaption", { class: "quiet" }, caption));
  return el(
    "div",
    { class: "pictures" },
    figure(own, "own-picture", "This row"),
    others.length > 0 && el("div", { class: "near-pictures" }, others.map((other) => figure(other.image, "near-picture", nearTitle(other)))),
  );
}

function picture(source, alt) {
  const image = el("img", { src: source, alt });
  image.addEventListener("error", () => image.replaceWith(el("p", { class: "lost" }, "This picture was not found: ", data(shorten(decodeURI(source), 200)))));
  return image;
}

const nearTitle = (other) => ["Trusted ", data(shorten(nameOf(other.label), 24)), ": ", data(shorten(other.id, 24))];

/** The columns as a table, the most telling first. */
function featureEvidence(index, detail, near) {
  const columns = report.columns.map((column, j) => ({ ...column, j })).filter(({ kind }) => kind !== "text");
  if (!columns.length) return [];
  const telling = detail?.telling;
  const weight = ({ j }) => Math.abs(telling?.[j] ?? 0);
  if (telling) columns.sort((a, b) => weight(b) - weight(a)); // equal ones stay as in the file
  const shown = shownFeatures.all || columns.length <= fewFeatures + 2 ? columns : columns.slice(0, fewFeatures);
  const [given, suggested] = [suspects.given[index], suspects.suggested[index]];
  const parts = { telling, near, given, suggested, typical: columns.some((column) => column.range) };
  const table = el("table", { class: "features" }, featureHead(parts), el("tbody", {}, shown.map((column) => featureRow(index, column, detail, parts))));
  const hidden = report.n_columns - report.columns.length;
  const others = columns.length - shown.length;
  return [
    el("h3", {}, "The evidence"),
    el("p", { class: "legend quiet" }, legend(index, parts)),
    el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Features of this row and its neighbours" }, table),
    others > 0 && el("button", { type: "button", class: "plain", "data-part": "all-features", on: { click: () => { shownFeatures.all = true; showCard(index); } } }, `Show ${plural(others, "more feature")}`),
    hidden > 0 && el("p", { class: "quiet" }, `${plural(hidden, "feature")} that ${hidden === 1 ? "matters" : "matter"} less ${hidden === 1 ? "is" : "are"} not on this page.`),
  ];
}

function featureHead({ telling, near, given, typical }) {
  return el(
    "thead",
    {},
    el(
      "tr",
      {},
      el("th", { scope: "col" }, "Feature"),
      el("th", { scope: "col" }, "This row"),
      telling && el("th", { scope: "col" }, "Speaks for"),
      typical && el("th", { scope: "col", class: "strip-head" }, "Where it lies"),
      near.map((other) => el("th", { scope: "col" }, data(other.id, { class: "clip" }), el("br"), data(shorten(nameOf(other.label), 16), { class: other.label === given ? "given" : "suggested" }))),
    ),
  );
}

function featureRow(index, column, detail, { telling, near, given, suggested, typical }) {
  const value = suspects.features[column.j][index];
  const marks = detail?.marks?.[column.j];
  return el(
    "tr",
    {},
    el("th", { scope: "row" }, data(column.name, { class: "clip" })),
    el("td", { class: "own" }, marks ? el("bdi", { class: "clip" }, markedWords(value ?? "–", marks, index)) : data(value, { class: "clip" })),
    telling && el("td", {}, speaksFor(telling[column.j], given, suggested)),
    typical && el("td", {}, strip(value, column, given, suggested)),
    near.map((other) => {
      const theirs = other.values?.[column.j];
      const differs = differ(value, theirs, column);
      return el("td", { class: differs ? "differs" : null }, differs && el("span", { class: "unequal", title: "differs from this row" }, "≠ "), data(theirs, { class: "clip" }));
    }),
  );
}

/** Texts differ if they are not equal; numbers if they lie apart by more than a sixth of the bulk of the column. */
function differ(value, other, column) {
  if (typeof value !== "number" || typeof other !== "number" || !column.range) return value !== other;
  return Math.abs(value - other) > (column.range[1] - column.range[0]) / 6;
}

/** For which label a value speaks, and how many times as frequent it is there. */
function speaksFor(weight, given, suggested) {
  const ratio = Math.exp(Math.abs(weight ?? 0));
  if (ratio < 1.2) return el("span", { class: "quiet" }, "–");
  const code = weight > 0 ? suggested : given;
  return el("span", { class: `speaks ${weight > 0 ? "suggested" : "given"}` }, labelMark(weight > 0), el("span", {}, data(shorten(nameOf(code), 16)), ` ×${times(ratio)}`));
}

const mostTimes = 20; // beyond, the number rests on very few rows
const times = (ratio) => (ratio < 9.95 ? ratio.toFixed(1) : ratio > mostTimes ? `${mostTimes}+` : String(Math.round(ratio)));

/** The sign of a label: a square for the suggested one, a diamond for the given one. */
function labelMark(suggested) {
  const shape = suggested ? svg("path", { d: "M2.5 4.5h9v9h-9z", class: "mark-suggested" }) : svg("path", { d: "M7 4l5 5-5 5-5-5z", class: "mark-given" });
  return svg("svg", { viewBox: "0 0 14 18", class: "key", "aria-hidden": "true" }, shape);
}

function legend(index, { telling, near, given, suggested, typical }) {
  const label = (code) => data(shorten(nameOf(code), 30));
  const row = svg("svg", { viewBox: "0 0 14 18", class: "key", "aria-hidden": "true" }, svg("circle", { cx: 7, cy: 9, r: 4, class: "mark-row" }));
  return [
    telling && ["The most telling come first: ×3 says that such a value is three times as frequent among trusted rows of this label as of the other. "],
    near.length > 0 && ["On the right: near rows that can be trusted. ≠ marks another word, or a number that lies farther away than a sixth of the range of the column. "],
    typical &&
      el(
        "span",
        { class: "keys" },
        el("span", {}, row, "this row"),
        el("span", {}, labelMark(false), "a typical ", label(given)),
        given !== suggested && el("span", {}, labelMark(true), "a typical ", label(suggested)),
      ),
  ].flat().filter(Boolean);
}
