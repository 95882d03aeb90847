// All classes in the order of a tree, with the features that they use; of many, groups that open.
const ROW = 20, COLUMN = 15, GROUPS = 40;
const leafCount = DATA.classes.length;
const sizeOf = (node) => (node < leafCount ? 1 : DATA.tree[node - leafCount][3]);
const rootOf = () => leafCount + DATA.tree.length - 1;

function leavesOf(node) {
  const found = [], open = [node];
  while (open.length) {
    const next = open.pop();
    if (next < leafCount) found.push(next);
    else open.push(DATA.tree[next - leafCount][1], DATA.tree[next - leafCount][0]);
  }
  return found;
}

// The largest group is taken apart until there are enough; they stay in the order of the tree.
function groupsOf(node) {
  const groups = [node];
  while (groups.length < GROUPS) {
    const place = groups.reduce((best, group, i) => (sizeOf(group) > sizeOf(groups[best]) ? i : best), 0);
    if (groups[place] < leafCount) break;
    const [a, b] = DATA.tree[groups[place] - leafCount];
    groups.splice(place, 1, a, b);
  }
  return groups;
}
const rowsOf = (node) => (sizeOf(node) > DATA.map_rows ? groupsOf(node) : leavesOf(node));

// From the whole map down to the drawing of a class or a group, as a reader would open one after another.
function pathTo(goal) {
  const members = new Set(leavesOf(goal)), path = [rootOf()];
  for (;;) {
    const node = path[path.length - 1];
    if (node === goal || sizeOf(node) <= DATA.map_rows) return path;
    const next = groupsOf(node).find((group) => sizeOf(group) >= members.size && leavesOf(group).some((c) => members.has(c)));
    if (next === undefined || next < leafCount) return path;
    path.push(next);
  }
}

function mapView(node = rootOf(), marked = null) {
  const path = node === rootOf() ? [node] : [...pathTo(node).filter((group) => group !== node), node];
  const many = leafCount > DATA.map_rows, rows = rowsOf(node), grouped = rows.some((row) => row >= leafCount);
  const finder = many ? h("div", { class: "controls" }, classChooser("Find a class on the map", marked, "map-find", (c) => { location.hash = `#/map/${pathTo(c).pop()}/${c}`; })) : null;
  const trail = path.length > 1 ? h("p", { class: "trail" }, path.map((group, i) => {
    const text = i ? plural(sizeOf(group), "class", "classes") : `All ${leafCount} classes`;
    return [i ? " › " : "", i === path.length - 1 ? h("b", null, text) : h("a", { href: i ? `#/map/${group}` : "#/map" }, text)];
  })) : null;
  const pairs = DATA.pairs.slice(0, 200);
  return [h("h2", { tabindex: -1 }, "Class map"),
    h("p", { class: "lede" }, grouped
      ? "Classes that share many features stand together, and here many classes make one row. The darker a square, the more of them use the feature. A row opens."
      : "Classes that share many features stand together. A square means that a class uses a feature."),
    finder, trail,
    scrolling("Tree of the classes and the features that they use", mapDrawing(node, rows, marked)),
    h("h3", null, "Pairs that differ in one feature"),
    pairs.length ? [h("p", { class: "note" }, `${plural(DATA.n_pairs, "pair")} of classes` + (DATA.n_pairs > pairs.length ? `; ${pairs.length} shown` : "")),
      scrolling("Pairs of classes", h("table", { class: "plain pairs" },
        h("thead", null, h("tr", null, ["Class", "has", "where", "has", ""].map((text) => h("th", { scope: "col" }, text || h("span", { class: "visually-hidden" }, "Contrast"))))),
        h("tbody", null, pairs.map(([a, b, i, j]) => h("tr", null, h("td", null, classLink(a)), h("td", null, featureLink(i)), h("td", null, classLink(b)), h("td", null, featureLink(j)),
          h("td", { class: "number" }, h("a", { href: `#/contrast/${a}/${b}`, "aria-label": `Contrast ${className(a)} with ${className(b)}` }, "Contrast")))))))] : h("p", null, "There are none: all pairs differ in at least two."),
  ];
}

function mapDrawing(node, rows, marked) {
  const narrow = window.matchMedia("(max-width: 46rem)").matches;
  const treeWidth = narrow ? 36 : 110;
  const names = rows.map((row) => (row < leafCount ? className(row) : groupName(row)));
  const longest = names.reduce((most, name) => Math.max(most, name.length), 0);
  const nameWidth = Math.min(narrow ? 150 : 320, 16 + 6.6 * longest), left = treeWidth + nameWidth;
  const label = (j) => (featureName(j).length > 26 ? `${featureName(j).slice(0, 25)}…` : featureName(j));
  const letters = Math.max(...DATA.features.map((_, j) => label(j).length)), top = 24 + 5.2 * letters;
  const columns = DATA.feature_order;
  const width = left + columns.length * COLUMN + 30 + 3.2 * letters, height = top + rows.length * ROW + 10;
  const most = Math.floor((nameWidth - 16) / 6.6);
  const short = (name) => (name.length > most ? `${name.slice(0, most - 1)}…` : name);
  const y = (place) => top + (place + 0.5) * ROW;
  const drawn = rows.map((row, place) => {
    const one = row < leafCount, counts = new Map(), size = sizeOf(row);
    for (const c of leavesOf(row)) for (const j of DATA.assignment[c]) counts.set(j, (counts.get(j) || 0) + 1);
    return svg("g", null,
      svg("rect", { class: one && row === marked ? "row marked" : "row", x: treeWidth, y: y(place) - ROW / 2, width: width - treeWidth, height: ROW }),
      svg("a", { href: one ? `#/class/${row}` : `#/map/${row}` }, svg("text", { x: treeWidth + 8, y: y(place) + 4 }, short(names[place]), names[place].length > most ? svg("title", null, names[place]) : null)),
      columns.map((j, k) => (counts.has(j) ? svg("rect", { class: "cell", x: left + k * COLUMN + 2, y: y(place) - 6, width: COLUMN - 4, height: 12, rx: 2, opacity: one ? null : (0.12 + (0.88 * counts.get(j)) / size).toFixed(2) },
        svg("title", null, one ? `${className(row)} uses ${featureName(j)}` : `${counts.get(j)} of ${size} use ${featureName(j)}`)) : null)));
  });
  const labels = columns.map((j, k) => svg("a", { href: `#/feature/${j}` },
    svg("text", { class: "column", transform: `translate(${left + k * COLUMN + 10} ${top - 6}) rotate(-60)` }, label(j))));
  return svg("svg", { class: "map", width, height, viewBox: `0 0 ${width} ${height}` }, branches(node, rows, y, treeWidth), drawn, labels);
}

function groupName(node) {
  const [first, ...rest] = leavesOf(node);
  return `${plural(sizeOf(node), "class", "classes")}: ${className(first)} … ${className(rest[rest.length - 1])}`;
}

function branches(root, rows, y, treeWidth) {
  // Distances are shares of features not in common: 0 at the names, 1 at the far left.
  const x = (distance) => 4 + (treeWidth - 8) * (1 - Math.min(1, distance));
  const ends = new Map(rows.map((row, place) => [row, { y: y(place), distance: row < leafCount ? 0 : DATA.tree[row - leafCount][2] }]));
  const inner = [], open = [root];
  while (open.length) {
    const node = open.pop();
    if (ends.has(node)) continue;
    inner.push(node);
    open.push(DATA.tree[node - leafCount][0], DATA.tree[node - leafCount][1]);
  }
  // A group is merged after its parts, so it has the larger number.
  return inner.sort((a, b) => a - b).map((node) => {
    const [a, b, distance] = DATA.tree[node - leafCount], first = ends.get(a), second = ends.get(b);
    ends.set(node, { y: (first.y + second.y) / 2, distance });
    return svg("path", { class: "branch", d: `M${x(first.distance)} ${first.y}H${x(distance)}V${second.y}H${x(second.distance)}` });
  });
}
