// How objective and bound came together.
function traceView(points) {
  const known = points.filter(([, objective]) => objective !== null);
  if (known.length < 2) return [];
  const values = points.flatMap(([, objective, bound]) => [objective, bound]).filter((value) => value !== null);
  const first = points[0][0], last = points[points.length - 1][0], least = Math.min(...values), most = Math.max(...values);
  const line = (k, name) => {
    const shown = points.filter((point) => point[k] !== null);
    if (!shown.length) return null;
    const at = ([seconds, ...rest]) => [(300 * (seconds - first)) / (last - first || 1), 70 - (64 * (rest[k - 1] - least)) / (most - least || 1)];
    const steps = shown.map((point, i) => { const [px, py] = at(point); return i ? `H${px.toFixed(1)}V${py.toFixed(1)}` : `M${px.toFixed(1)} ${py.toFixed(1)}`; });
    return svg("path", { class: name, d: `${steps.join("")}H300` });
  };
  const place = (value) => ({ y: 70 - (64 * (value - least)) / (most - least || 1) + 3 });
  const levels = [...new Set([least, most])].map((value) => svg("text", { x: 306, ...place(value) }, value.toFixed(1)));
  return [h("p", { class: "note" }, "Objective (solid) and bound (dashed) over time"),
    svg("svg", { class: "histogram trace", viewBox: "0 0 340 78", role: "img", "aria-label": `Objective and bound, from ${least.toFixed(1)} to ${most.toFixed(1)}, over ${last.toFixed(1)} seconds` },
      svg("line", { x1: 0, x2: 300, y1: 74, y2: 74 }), svg("line", { x1: 300, x2: 300, y1: 2, y2: 74 }), levels, line(2, "bound"), line(1, "objective")),
    h("div", { class: "axis trace-axis", "aria-hidden": "true" }, h("span", null, `${first.toFixed(1)} s`), h("span", null, `${last.toFixed(1)} s`))];
}
