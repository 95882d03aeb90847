// All classes in the order of a tree, with the features that they use.
function mapView() {
  const narrow = window.matchMedia("(max-width: 46rem)").matches;
  const rowHeight = 20, treeWidth = narrow ? 36 : 110, columnWidth = 15;
  const longest = Math.max(...DATA.classes.map((entry) => entry.name.length));
  const nameWidth = Math.min(narrow ? 150 : 320, 16 + 6.6 * longest), left = treeWidth + nameWidth;
  const label = (j) => (featureName(j).length > 26 ? `${featureName(j).slice(0, 25)}…` : featureName(j));
  const top = 24 + 5.2 * Math.max(...DATA.features.map((_, j) => label(j).length));
  const order = DATA.class_order, columns = DATA.feature_order;
  const width = left + columns.length * columnWidth + 60, height = top + order.length * rowHeight + 10;
  const most = Math.floor((nameWidth - 16) / 6.6);
  const short = (name) => (name.length > most ? `${name.slice(0, most - 1)}…` : name);
  const y = (row) => top + (row + 0.5) * rowHeight;
  const rows = order.map((c, row) => svg("g", null,
    svg("rect", { class: "row", x: treeWidth, y: y(row) - rowHeight / 2, width: width - treeWidth, height: rowHeight }),
    svg("a", { href: `#/class/${c}` }, svg("text", { x: treeWidth + 8, y: y(row) + 4 }, short(className(c)))),
    columns.map((j, k) => (has(c, j) ? svg("rect", { class: "cell", x: left + k * columnWidth + 2, y: y(row) - 6, width: columnWidth - 4, height: 12, rx: 2 },
      svg("title", null, `${className(c)} uses ${featureName(j)}`)) : null))));
  const labels = columns.map((j, k) => svg("a", { href: `#/feature/${j}` },
    svg("text", { class: "column", transform: `translate(${left + k * columnWidth + 10} ${top - 6}) rotate(-60)` }, label(j))));
  const drawing = svg("svg", { class: "map", width, height, viewBox: `0 0 ${width} ${height}` }, branches(order, y, treeWidth), rows, labels);
  const pairs = DATA.pairs.slice(0, 200);
  return [h("h2", { tabindex: -1 }, "Class map"),
    h("p", { class: "lede" }, "Classes that share many features stand together. A square means that a class uses a feature."),
    scrolling("Tree of the classes and the features that they use", drawing),
    h("h3", null, "Pairs that differ in one feature"),
    pairs.length ? [h("p", { class: "note" }, `${plural(DATA.pairs.length, "pair")} of classes` + (DATA.pairs.length > pairs.length ? `; ${pairs.length} shown` : "")),
      scrolling("Pairs of classes", h("table", { class: "plain pairs" },
        h("thead", null, h("tr", null, ["Class", "has", "where", "has", ""].map((text) => h("th", { scope: "col" }, text || h("span", { class: "visually-hidden" }, "Contrast"))))),
        h("tbody", null, pairs.map(([a, b, i, j]) => h("tr", null, h("td", null, classLink(a)), h("td", null, featureLink(i)), h("td", null, classLink(b)), h("td", null, featureLink(j)),
          h("td", { class: "number" }, h("a", { href: `#/contrast/${a}/${b}`, "aria-label": `Contrast ${className(a)} with ${className(b)}` }, "Contrast")))))))] : h("p", null, "There are none: all pairs differ in at least two."),
  ];
}

function branches(order, y, treeWidth) {
  // Distances are shares of features not in common: 0 at the names, 1 at the far left.
  const n = order.length, x = (distance) => 4 + (treeWidth - 8) * (1 - Math.min(1, distance));
  const nodes = [];
  order.forEach((c, row) => { nodes[c] = { y: y(row), distance: 0 }; });
  return DATA.tree.map(([a, b, distance], i) => {
    const first = nodes[a], second = nodes[b];
    nodes[n + i] = { y: (first.y + second.y) / 2, distance };
    return svg("path", { class: "branch", d: `M${x(first.distance)} ${first.y}H${x(distance)}V${second.y}H${x(second.distance)}` });
  });
}

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
