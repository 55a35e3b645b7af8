// The links around a pair: its ends left and right, common neighbours between them, the others outside.

function pairGraph(graph, given) {
  const [common, left, right] = graph.shown;
  const ends = [[170, 120], [390, 120]];
  const places = [
    ...ends,
    ...spread(common).map((share) => [280, 18 + 204 * share]),
    ...around(ends[0], left, -1),
    ...around(ends[1], right, 1),
  ];
  const lines = [];
  const line = (a, b, kind) => {
    const [[x1, y1], [x2, y2]] = [places[a], places[b]];
    lines.push(svg("line", { x1, y1, x2, y2, class: kind }));
  };
  for (const [a, b] of graph.edges) line(a, b, "link quiet");
  for (let k = 2; k < places.length; k++) {
    if (k < 2 + common) {
      line(0, k, "link");
      line(1, k, "link");
    } else line(k < 2 + common + left ? 0 : 1, k, "link");
  }
  line(0, 1, given ? "link suspect" : "link suspect apart");
  const nodes = places.map(([cx, cy], k) =>
    svg("circle", { cx, cy, r: k < 2 ? 9 : 5, class: k < 2 ? "node end" : "node" }, svg("title", {}, graph.ids[k])),
  );
  const names = ends.map(([x, y], k) =>
    svg("text", { x, y: y + 27, "text-anchor": "middle", class: "node-name" }, shorten(graph.ids[k], 16)),
  );
  const heights = places.map(([, y]) => y);
  const [top, bottom] = [Math.min(...heights) - 14, Math.max(...heights, ends[0][1] + 26) + 14];
  const reach = Math.max(170, ...places.map(([x]) => Math.abs(x - 280))) + 20;
  return svg("svg", { viewBox: `${280 - reach} ${top} ${2 * reach} ${bottom - top}`, role: "img", "aria-label": graphText(graph) }, lines, nodes, names);
}

/** Evenly spread heights; a single one stands above the link, so that they do not cover each other. */
function spread(count) {
  if (count === 1) return [0.12];
  // The middle is where the link itself runs.
  return Array.from({ length: count }, (_, k) => {
    const share = k / (count - 1);
    return share < 0.5 ? share * 0.8 : 0.2 + share * 0.8;
  });
}

function around([x, y], count, side) {
  return Array.from({ length: count }, (_, k) => {
    const angle = (count > 1 ? k / (count - 1) - 0.5 : 0) * Math.PI * 0.85;
    return [x + side * 110 * Math.cos(angle), y + 105 * Math.sin(angle)];
  });
}

function graphText({ total }) {
  const [common, left, right] = total;
  return `${plural(common, "common neighbour")}; ${left} more at the left end, ${right} more at the right end.`;
}
