// Small drawings in SVG. Colours come from the style sheet, so that they follow light and dark.

/** Where a value lies between the medians of the given and the suggested label, in the bulk of a column. */
function strip(value, column, given, suggested) {
  if (typeof value !== "number" || !column.range) return null;
  const [low, high] = column.range;
  const at = (x) => 6 + 108 * (high > low ? Math.min(1, Math.max(0, (x - low) / (high - low))) : 0.5);
  const [typicalGiven, typicalSuggested] = [column.medians[given], column.medians[suggested]];
  const parts = [svg("line", { x1: 2, x2: 118, y1: 9, y2: 9, class: "axis" })];
  if (typicalGiven !== null) {
    const x = at(typicalGiven);
    parts.push(svg("path", { d: `M${x} 4l5 5-5 5-5-5z`, class: "mark-given" }));
  }
  if (typicalSuggested !== null) {
    const x = at(typicalSuggested);
    parts.push(svg("path", { d: `M${x - 4.5} 4.5h9v9h-9z`, class: "mark-suggested" }));
  }
  parts.push(svg("circle", { cx: at(value), cy: 9, r: 4, class: "mark-row" }));
  return svg("svg", { viewBox: "0 0 120 18", class: "strip", "aria-hidden": "true" }, parts);
}

/** A histogram of the chance to be wrong; bars above the threshold stand out. */
function histogram({ counts, threshold }) {
  const most = Math.max(...counts, 1);
  const width = 420, height = 190, bottom = 34, top = 12;
  const left = 14 + 8 * Math.max(3, most.toLocaleString("en").length); // room for the largest number
  const step = (width - left - 14) / counts.length;
  const y = (count) => height - bottom - (count / most) * (height - bottom - top);
  const bars = counts.map((count, j) =>
    svg(
      "rect",
      {
        x: left + j * step + 1,
        y: y(count),
        width: step - 2,
        height: height - bottom - y(count),
        class: threshold !== null && (j + 1) / counts.length > threshold ? "fill-given" : "fill-quiet",
      },
      svg("title", {}, `${percent(j / counts.length)} to ${percent((j + 1) / counts.length)}: ${count}`),
    ),
  );
  const ticks = [0, 0.25, 0.5, 0.75, 1].map((share) =>
    svg("text", { x: left + share * (width - left - 14), y: height - bottom + 15, "text-anchor": "middle" }, `${100 * share}`),
  );
  return svg(
    "svg",
    { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": histogramText(counts, threshold) },
    svg("line", { x1: left, x2: width - 14, y1: height - bottom, y2: height - bottom, class: "axis" }),
    svg("text", { x: left - 6, y: top + 6, "text-anchor": "end" }, most.toLocaleString("en")),
    svg("text", { x: left - 6, y: height - bottom, "text-anchor": "end" }, "0"),
    bars,
    ticks,
    svg("text", { x: (left + width) / 2, y: height - 3, "text-anchor": "middle" }, "chance that it is wrong, %"),
  );
}

function histogramText(counts, threshold) {
  const all = counts.reduce((sum, count) => sum + count, 0);
  const half = counts.slice(counts.length / 2).reduce((sum, count) => sum + count, 0);
  const check = threshold === null ? "" : ` Worth checking from a chance of ${percent(threshold)}.`;
  return `Histogram of the chance to be wrong: ${half} of ${all} are above 50 %.${check}`;
}

/** The gap between the bounds by iteration, on a logarithmic scale. */
function gapLine(points) {
  const shown = points.filter(([, gap]) => gap > 0);
  if (shown.length < 2) return null;
  const width = 420, height = 190, left = 52, bottom = 34, top = 12;
  const logs = shown.map(([, gap]) => Math.log10(gap));
  const [low, high] = [Math.floor(Math.min(...logs)), Math.ceil(Math.max(...logs))];
  const [first, last] = [shown[0][0], shown.at(-1)[0]];
  const x = (iteration) => left + ((iteration - first) / (last - first || 1)) * (width - left - 12);
  const y = (log) => top + ((high - log) / (high - low || 1)) * (height - bottom - top);
  const path = shown.map(([iteration], j) => `${j ? "L" : "M"}${x(iteration).toFixed(1)} ${y(logs[j]).toFixed(1)}`);
  const every = Math.max(1, Math.ceil((high - low) / 4));
  const ticks = [];
  for (let power = low; power <= high; power += every) {
    ticks.push(
      svg("line", { x1: left, x2: width - 12, y1: y(power), y2: y(power), class: "grid" }),
      svg("text", { x: left - 6, y: y(power) + 4, "text-anchor": "end" }, `1e${power}`),
    );
  }
  return svg(
    "svg",
    {
      viewBox: `0 0 ${width} ${height}`,
      role: "img",
      "aria-label": `The gap falls from ${shown[0][1]} to ${shown.at(-1)[1]} in ${last} iterations.`,
    },
    ticks,
    svg("path", { d: path.join(""), class: "curve" }),
    svg("text", { x: left, y: height - bottom + 15, "text-anchor": "middle" }, String(first)),
    svg("text", { x: width - 12, y: height - bottom + 15, "text-anchor": "middle" }, String(last)),
    svg("text", { x: (left + width) / 2, y: height - 3, "text-anchor": "middle" }, "iteration"),
  );
}
