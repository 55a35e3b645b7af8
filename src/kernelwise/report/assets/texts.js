// Texts: the words that speak for a label are marked; trusted texts stand beside.

const longText = 2500; // characters; a longer text is folded until the reader asks for all of it
const longNeighbour = 320;
const wordPattern = /(&#?[\p{L}\p{N}]+;|[\p{L}\p{N}_]+)/u; // a character that is written as a number is no word

/** Every column of texts in the width of the card, with the texts of the neighbours beside it. */
function textEvidence(index, detail, near) {
  return report.columns.flatMap((column, j) => {
    if (column.kind !== "text") return [];
    const marks = detail?.marks?.[j] ?? [];
    return [
      el(
        "section",
        { class: "text-evidence", "aria-label": `The text: ${shorten(column.name, 60)}` },
        el(
          "div",
          { class: "own-text" },
          el("h3", {}, data(column.name)),
          marks.length > 0 && el("p", { class: "legend quiet" }, wordLegend(index)),
          folded(suspects.features[j][index], marks, index, longText),
        ),
        near.length > 0 &&
          el(
            "div",
            { class: "near-texts" },
            el("h3", {}, "Near texts that can be trusted"),
            near.map((other) => el("article", { class: "near-text" }, el("p", { class: "quiet" }, nearTitle(other)), folded(fullText(other, j), marks, index, longNeighbour))),
          ),
      ),
    ];
  });
}

/** The text of a neighbour: whole if the neighbour is listed itself, otherwise its beginning. */
function fullText(other, j) {
  const listed = indexOfRow.get(other.row);
  return listed === undefined ? other.values?.[j] : suspects.features[j][listed];
}

/** A text with its marks; a long one shows its beginning and a button for all of it. */
function folded(text, marks, index, limit) {
  const whole = text === null || text === undefined ? "–" : String(text);
  const body = el("bdi", { class: "text" });
  if (whole.length <= limit * 1.15) {
    body.append(...markedWords(whole, marks, index));
    return body;
  }
  body.append(...markedWords(`${whole.slice(0, limit).replace(/[\ud800-\udbff]$/, "")}…`, marks, index));
  const unfold = el("button", { type: "button", class: "plain" }, "Show all of it");
  unfold.addEventListener("click", () => {
    body.replaceChildren(...markedWords(whole, marks, index));
    unfold.remove();
  });
  return el("div", {}, body, unfold);
}

/** The text as nodes, in which the telling words are marked. */
function markedWords(text, marks, index) {
  const weights = new Map(marks);
  const nodes = [];
  let plain = "";
  String(text).split(wordPattern).forEach((part, place) => {
    const weight = place % 2 ? weights.get(part.toLowerCase()) : undefined;
    if (weight === undefined) {
      plain += part;
      return;
    }
    nodes.push(plain, markedWord(part, weight, index));
    plain = "";
  });
  nodes.push(plain);
  return nodes;
}

function markedWord(word, weight, index) {
  const code = weight > 0 ? suspects.suggested[index] : suspects.given[index];
  const said = `${times(Math.exp(Math.abs(weight)))} times as frequent under ${shorten(nameOf(code), 40)}`;
  return el("mark", { class: weight > 0 ? "for-suggested" : "for-given", title: said }, word);
}

function wordLegend(index) {
  const sample = (kind, code) => [el("mark", { class: kind }, data(shorten(nameOf(code), 24))), " "];
  return [
    "Marked words speak for ", ...sample("for-given", suspects.given[index]), "(dotted) or ", ...sample("for-suggested", suspects.suggested[index]),
    "(solid): they are at least twice as frequent in trusted texts of one label as of the other, each word counted on its own.",
  ];
}

/** The words of a row of a sparse matrix, and those that it shares with its neighbours. */
function wordEvidence(index, detail, near) {
  const weights = new Map(detail.marks?.[0] ?? []);
  const words = detail.words.map(([word]) => word);
  const ordered = words.slice().sort((a, b) => Math.abs(weights.get(b) ?? 0) - Math.abs(weights.get(a) ?? 0));
  const shown = (word) => {
    const weight = weights.get(word);
    return weight === undefined ? word : markedWord(word, weight, index);
  };
  return el(
    "div",
    { class: "word-evidence" },
    weights.size > 0 && el("p", { class: "legend quiet" }, wordLegend(index)),
    wordList("Features that are not zero", ordered, detail.n_words, shown),
    near.map((other) => wordList(el("span", {}, "Shared with trusted ", data(other.id, { class: "clip" })), other.shared, other.shared.length, shown)),
  );
}

function wordList(title, words, count = words.length, shown = (word) => word) {
  const more = count - words.length;
  return el(
    "div",
    { class: "words" },
    el("h3", {}, title, el("span", { class: "quiet" }, ` ${count}`)),
    el("p", {}, count ? words.map((word) => el("bdi", { class: "word" }, shown(word))) : el("span", { class: "quiet" }, "none"), more > 0 && el("span", { class: "quiet" }, `and ${more} more`)),
  );
}
