// The card of the suspect under review: what is claimed, and what can be decided.

function showCard(index) {
  const card = $("card");
  if (index < 0) {
    rebuild(card, [el("p", { class: "empty" }, "No suspect matches the filters.")]);
    return;
  }
  const ends = report.details[index]?.ends;
  const evidence = isPairs ? pairEvidence(index) : ends ? endsTable(["First record", "Second record"], ends) : labelEvidence(index);
  rebuild(card, [cardHead(index), claim(index), chips(index), actions(index), commentField(index), ...evidence]);
}

function cardHead(index) {
  const made = decisionOf(index);
  return el(
    "div",
    { class: "card-head" },
    el(
      "h2",
      {},
      el("span", { class: "rank" }, rankOf(index)),
      el("span", { class: "quiet" }, ` ${isPairs ? "pair" : report.id_name} `),
      data(titleOf(index), { class: "clip" }),
    ),
    made && el("p", { class: `badge ${made.decision}` }, decisionText(index)),
  );
}

/** The place of a row in the plan, or else among the suspects. */
function rankOf(index) {
  const place = planned.get(suspects.row[index]);
  return place === undefined ? `No. ${(index + 1).toLocaleString("en")}` : `${place + 1} of ${planned.size.toLocaleString("en")}`;
}

function decisionText(index) {
  const { decision, label, by, how } = decisionOf(index);
  return saidOf(decision, label) + (how && ` ${how}`) + (by && by !== reviewerName() ? ` by ${shorten(by, 24)}` : "");
}

function saidOf(decision, label) {
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
    el("div", {}, el("p", { class: "quiet" }, givenName), data(nameOf(given), { class: "label given clip" })),
    el("span", { class: "arrow", "aria-hidden": "true" }, given === suggested ? "=" : "→"),
    el("div", {}, el("p", { class: "quiet" }, chance > 0.5 && !ofConsensus ? "The data suggest" : "If it is wrong"), data(nameOf(suggested), { class: "label suggested clip" })),
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
        "Chances of each label: ",
        chances.flatMap(([code, share], k) => [k ? ", " : "", data(nameOf(code)), `: ${percent(share)}`]),
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

/** What the reviewer wants to remember or to tell others; it is exported with the decision. */
function commentField(index) {
  const row = suspects.row[index];
  const input = el("input", { "data-part": "comment", class: "comment", maxlength: 1000, placeholder: "Comment", "aria-label": "Comment", value: comments.get(row) ?? "" });
  input.addEventListener("input", () => comment(row, input.value));
  return input;
}
