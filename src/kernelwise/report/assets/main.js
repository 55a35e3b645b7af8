// Keys, progress, and the start.

function review(decision, code) {
  if (cursor < 0) return;
  const index = visible[cursor];
  if ($("notice").dataset.warning !== "true") hideNotice();
  const meant = decide(index, decision, code);
  const said = { correct: "kept", wrong: "changed", unclear: "left open", skip: "skipped" }[meant];
  const next = nextOpen();
  if (next >= 0) cursor = next;
  refresh();
  const done = tally();
  const progress = planned.size ? `${done.planned} of ${planned.size} planned` : `${done.checked} of ${toCheck} worth checking`;
  announce(`${shorten(titleOf(index), 40)} ${said}. ${progress} are done.` + (next < 0 ? " This was the last of the list." : ""));
  scrollToCard();
}

/** The next row of the list that is not decided yet; -1 if there is none. */
function nextOpen() {
  for (let step = 1; step <= visible.length; step++) {
    const position = (cursor + step) % visible.length;
    if (isOpen(visible[position])) return position;
  }
  return -1;
}

function takeBack() {
  const rows = undo();
  if (!rows.length) return;
  const position = visible.indexOf(rows[0]);
  if (position >= 0) cursor = position;
  refresh();
  scrollToCard();
  announce(rows.length > 1 ? `${plural(rows.length, "decision")} taken back.` : `Taken back: ${shorten(titleOf(rows[0]), 40)}.`);
}

/** The next suspect starts at its top, and the list follows. */
function scrollToCard() {
  const wide = matchMedia("(min-width: 60em)").matches;
  const top = $("card").getBoundingClientRect().top;
  if (top < 0 || (!wide && top > innerHeight / 2)) $("card").scrollIntoView();
  const [list, row] = [$("queue"), $("rows").querySelector("[aria-current]")];
  if (!wide || !row) return;
  const [outer, inner] = [list.getBoundingClientRect(), row.getBoundingClientRect()];
  if (inner.bottom > outer.bottom) list.scrollTop += inner.bottom - outer.bottom + 8;
  if (inner.top < outer.top) list.scrollTop -= outer.top - inner.top + 48;
}

function refresh() {
  drawRows();
  showCard(cursor < 0 ? -1 : visible[cursor]);
  showProgress();
  showGuarantee();
}

function showProgress() {
  const { correct, wrong, unclear, skip, checked, planned: ofPlan, before } = tally();
  const goal = planned.size || toCheck || total;
  const reached = planned.size ? ofPlan : toCheck ? checked : decisions.size - before;
  $("progress").max = goal;
  $("progress").value = reached;
  const parts = [[wrong, "changed"], [correct, "kept"], [unclear, "cannot tell"], [skip, "skipped"]].filter(([count]) => count);
  const counts = parts.map(([count, name]) => `${count.toLocaleString("en")} ${name}`).join(", ");
  const done = `${reached.toLocaleString("en")} of ${goal.toLocaleString("en")} ${planned.size ? "planned rows " : ""}reviewed`;
  const earlier = before ? `, ${before.toLocaleString("en")} checked before` : "";
  $("progress-text").textContent = (counts ? `${done}: ${counts}` : done) + earlier;
  $("export").disabled = !decisions.size && !comments.size;
}

const keys = {
  j: () => moveTo(cursor + 1),
  k: () => moveTo(cursor - 1),
  ArrowDown: () => moveTo(cursor + 1),
  ArrowUp: () => moveTo(cursor - 1),
  c: () => review("correct"),
  w: () => cursor >= 0 && suspects.given[visible[cursor]] !== suspects.suggested[visible[cursor]] && review("wrong"),
  t: () => review("unclear"),
  s: () => review("skip"),
  u: takeBack,
  m: () => $("card").querySelector(".comment")?.focus(),
  e: () => exportCorrections(),
  "/": () => $("filter-text").focus(),
  "?": () => $("help").showModal(),
};

const shortcuts = { on: true };

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || $("help").open) return;
  const leaves = event.key === "Escape" ? ["filter-text", "reviewer"] : [];
  if (leaves.includes(event.target.id) || (["Escape", "Enter"].includes(event.key) && event.target.matches?.(".comment"))) event.target.blur();
  if (event.target.closest?.("input, select, textarea, summary") || !shortcuts.on) return;
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  const digit = /^[1-9]$/.test(key) ? Number(key) - 1 : -1;
  if (digit >= 0 && digit < report.names.length) review("wrong", digit);
  else if (Object.hasOwn(keys, key)) keys[key]();
  else return;
  event.preventDefault();
}

function buildHelp() {
  const rows = [
    ["J / ↓", "next suspect"],
    ["K / ↑", "previous suspect"],
    ["C", "the given label is correct"],
    ["W", "it is wrong: take the suggested label"],
    ["1 – 9", "take this label instead"],
    ["T", "cannot tell"],
    ["S", "skip"],
    ["U", "undo"],
    ["/", "search"],
    ["M", "write a comment"],
    ["E", "export the corrections"],
    ["?", "these keys"],
  ];
  const digits = report.names.slice(0, 9).map((name, code) => el("li", {}, el("kbd", {}, String(code + 1)), data(shorten(name, 40))));
  const toggle = el("input", { type: "checkbox", checked: true, id: "shortcuts" });
  toggle.addEventListener("change", () => (shortcuts.on = toggle.checked));
  $("help").append(
    el("h2", { id: "help-title" }, "Keys"),
    el("table", { class: "keys-table" }, el("tbody", {}, rows.map(([key, does]) => el("tr", {}, el("th", { scope: "row" }, el("kbd", {}, key)), el("td", {}, does))))),
    el("ul", { class: "digits", "aria-label": "Labels at the digit keys" }, digits),
    el("label", { class: "toggle" }, toggle, "React to these keys"),
    el("button", { type: "button", class: "primary", on: { click: () => $("help").close() } }, "Close"),
  );
}

/** What to do and by which keys, until the reader has seen it once. */
function buildWelcome() {
  const key = (letter, does) => el("span", { class: "hint" }, el("kbd", {}, letter), ` ${does}`);
  const close = () => {
    $("welcome").hidden = true;
    remember("kernelwise-welcomed", "yes");
  };
  $("welcome").append(
    el("p", {}, `Keep or change one ${planned.size ? "row" : "suspect"} after the other, then export.`),
    el("p", { class: "hints" }, key("C", "keep"), key("W", "change"), key("T", "cannot tell"), key("U", "undo"), key("J K", "next, previous"), key("?", "all keys")),
    el("button", { type: "button", id: "welcome-close", on: { click: close } }, "Got it"),
  );
  $("welcome").hidden = recalled("kernelwise-welcomed") === "yes";
}

/** What holds for all pages in this browser. */
function remember(name, value) {
  try {
    localStorage.setItem(name, value);
  } catch {
    // the page says so when it cannot keep decisions
  }
}

function recalled(name) {
  try {
    return localStorage.getItem(name);
  } catch {
    return null;
  }
}

$("list").classList.toggle("of-pairs", isPairs);
fitLabels();
if (report.slices?.length) $("count").before(el("ul", { class: "slices", "aria-label": "Where the suspects are" }, report.slices.map((said) => el("li", {}, data(said)))));
$("reviewer").value = recalled("kernelwise-reviewer") ?? "";
buildWelcome();
buildFilters();
buildBulk();
showOrder();
buildHelp();
sortRows();
restore();
updateList();
showCard(cursor < 0 ? -1 : visible[cursor]);
showProgress();
showGuarantee();
buildCharts();
$("export").addEventListener("click", exportCorrections);
$("reviewer").addEventListener("input", () => remember("kernelwise-reviewer", reviewerName()));
$("bulk").addEventListener("toggle", showBulk);
$("load").addEventListener("click", () => $("file").click());
$("file").addEventListener("change", async () => {
  if ($("file").files.length) await loadCorrections($("file").files[0]);
  $("file").value = ""; // so that the same file can be loaded again
});
$("help-open").addEventListener("click", () => $("help").showModal());
document.addEventListener("keydown", onKey);
requestAnimationFrame(() => setTimeout(() => performance.mark("kernelwise-ready")));
// Safari has no idle callbacks: there the first search prepares all of it.
globalThis.requestIdleCallback?.(prepareSearch);
