// Elements. Data become text nodes, never markup.

const $ = (id) => document.getElementById(id);

/** Make an element: attributes, `on` handlers, then children (elements, texts, or nothing). */
function el(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "on") {
      for (const [event, handler] of Object.entries(value)) node.addEventListener(event, handler);
    } else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) node.setAttribute(name, value);
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

/** Text of the user's, isolated so that right-to-left text does not reorder what stands around it. */
function data(value, attributes = {}) {
  const text = value === null || value === undefined ? "–" : String(value);
  // What may have to be scrolled must be within reach of the keyboard.
  return el("bdi", text.length > 100 ? { tabindex: "0", ...attributes } : attributes, text);
}

/** Build the contents of a node anew and leave the focus on what took the place of the focused part. */
function rebuild(node, children) {
  const focused = node.contains(document.activeElement) && document.activeElement !== node;
  const part = focused ? document.activeElement.dataset.part : null;
  node.replaceChildren(...children.filter(Boolean));
  if (!focused) return;
  const heir = part && node.querySelector(`[data-part="${part}"]:not(:disabled)`);
  (heir || document.querySelector("[aria-current] button") || $("card")).focus({ preventScroll: true });
}

/** A bar as long as its share; styles are set by script, since the policy of the page forbids style attributes. */
function bar(share, kind = "") {
  const inner = el("span", { class: "bar-fill" });
  inner.style.setProperty("inline-size", `${(100 * Math.min(1, Math.max(0, share))).toFixed(1)}%`);
  return el("span", { class: `share ${kind}`, "aria-hidden": "true" }, inner);
}

function percent(share) {
  if (share === null) return "–";
  const value = 100 * share;
  return value > 0 && value < 1 ? "<1\u00a0%" : value > 99 && value < 100 ? ">99\u00a0%" : `${Math.round(value)}\u00a0%`;
}

function plural(count, one, many = `${one}s`) {
  return `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
}

/** Say something that stays to be read until the next decision; a warning stays until it is closed. */
function notify(message, { more = [], warning = false } = {}) {
  const close = el("button", { type: "button", class: "plain", "aria-label": "Close this message", on: { click: hideNotice } }, "✕");
  $("notice").replaceChildren(el("p", {}, message), ...more, close);
  $("notice").dataset.warning = warning;
  $("notice").hidden = false;
}

function hideNotice() {
  $("notice").hidden = true;
}

function announce(message) {
  $("live").textContent = message;
}

function shorten(value, length) {
  const characters = Array.from(value);
  return characters.length > length ? `${characters.slice(0, length - 1).join("")}…` : value;
}
