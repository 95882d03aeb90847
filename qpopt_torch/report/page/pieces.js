// Pieces that several sections use: pictures with heat maps, sums, histograms.
function picture(id, j = null) {
  const frame = h("span", { class: "picture" });
  if (DATA.samples[id].ratio) frame.style.aspectRatio = DATA.samples[id].ratio;
  return whenThere(id, frame, (sample) => {
    const described = `Sample of ${className(sample.label)}` + (j === null ? "" : `, heat map of ${featureName(j)}`);
    if (sample.image !== undefined) {
      fill(frame, null, [h("img", { src: sample.image, alt: described, class: DATA.sharp ? "sharp" : null, decoding: "async" }), j === null ? null : heatOver(id, j)]);
    } else pictureOfNumbers(frame, sample, id, j, described);
  });
}

function pictureOfNumbers(frame, sample, id, j, described) {
  const made = (kind, ...children) => {
    frame.classList.add(kind);
    if (kind !== "series" && kind !== "missing") frame.title = described;
    fill(frame, null, children);
  };
  if (sample.words) {
    const levels = wordLevels(id, j), full = strength(id, j ?? 0);
    const words = sample.words.map((word, i) => {
      const shown = h("span", { class: "word" }, word);
      if (levels && levels[i] > 8) shown.style.setProperty("--heat", `${(((levels[i] / 255) * full) * 80).toFixed(0)}%`);
      return [shown, " "];
    });
    return made("text", words);
  }
  if (sample.row) {
    return made("row", sample.row.map(([name, value]) => h("span", { class: "cell", title: name }, h("span", null, name), h("b", null, value))));
  }
  if (sample.series) {
    const lines = sample.series.map((line) => {
      const step = 100 / Math.max(1, line.length - 1);
      return svg("polyline", { points: line.map((y, i) => `${(i * step).toFixed(2)},${(56 - 52 * y).toFixed(2)}`).join(" ") });
    });
    const drawing = svg("svg", { viewBox: "0 0 100 60", preserveAspectRatio: "none", role: "img", "aria-label": described }, lines);
    return made("series", j === null ? null : heatOver(id, j), drawing);
  }
  return made("missing", `sample ${sample.index}`);
}

const tile = (id, j, ...caption) => h("figure", { class: "tile" }, picture(id, j), caption.length ? h("figcaption", null, caption) : null);
// Without maps all pictures of a sample are the same: there the value alone is shown.
const valueOf = (id, j) => { const node = h("b"); return whenThere(id, node, (sample) => { node.textContent = signed(sample.z[j]); }); };
function valueTile(id, j, value) {
  const shown = value === undefined ? valueOf(id, j) : h("b", null, signed(value));
  if (DATA.located) return tile(id, j, shown);
  shown.classList.add("value");
  return shown;
}
const mapless = () => (DATA.located ? null : h("p", { class: "note" }, "This model has no feature maps, so the values of the features are shown, not where they fire."));
const namedTile = (id, j) => tile(id, j, classLink(DATA.samples[id].label), " ", valueOf(id, j));

function scrolling(label, ...children) {
  return h("div", { class: "scroll", role: "region", "aria-label": label, tabindex: 0 }, children);
}

function sumTable(sum, range, marked, note) {
  const [low, high] = range;
  const at = (value) => (100 * (value - low)) / (high - low || 1);
  const rows = DATA.assignment[sum.class].map((j, i) => {
    const value = sum.terms[i];
    const bar = h("span", { class: value >= 0 ? "up" : null });
    bar.style.left = `${at(Math.min(0, value))}%`;
    bar.style.width = `${at(Math.max(0, value)) - at(Math.min(0, value))}%`;
    const zero = h("i");
    zero.style.left = `${at(0)}%`;
    return h("tr", { class: marked === j ? "marked" : null },
      h("th", { scope: "row" }, featureLink(j)), h("td", { class: "bar-cell", "aria-hidden": "true" }, bar, zero), h("td", null, signed(value)));
  });
  return h("table", { class: "sum" },
    h("caption", null, classLink(sum.class), note ? h("span", { class: "note" }, ` ${note}`) : null),
    h("tbody", null, rows),
    h("tfoot", null, h("tr", null, h("th", { scope: "row", colspan: 2 }, "adds up to"), h("td", null, signed(sum.total)))));
}

function valueRange(sums) {
  const values = sums.flatMap((sum) => sum.terms);
  return [Math.min(0, ...values), Math.max(0, ...values)];
}

const legend = () => h("p", { class: "legend" },
  h("span", null, h("i", { class: "k-users" }), "classes that use it"),
  h("span", null, h("i", { class: "k-others" }), "all others"),
  h("span", null, h("i", { class: "k-line" }), "two modes fitted"),
  h("span", null, "samples by value, heights by square root"));

function histogram(j, withLegend) {
  const feature = DATA.features[j];
  const bins = feature.users.length;
  const width = 200, height = withLegend ? 80 : 60, step = width / bins;
  const total = feature.users.reduce((a, b, i) => a + b + feature.others[i], 0);
  const binWidth = (feature.high - feature.low) / bins || 1;
  // A bar counts what falls into its width: a mode narrower than that is drawn as wide as one.
  const density = (x) => feature.modes.reduce((sum, [mean, narrow, weight]) => {
    const std = Math.hypot(narrow, binWidth / Math.sqrt(12));
    return sum + (weight * Math.exp(-0.5 * ((x - mean) / std) ** 2)) / (std * Math.sqrt(2 * Math.PI));
  }, 0) * total * binWidth;
  const points = Array.from({ length: 161 }, (_, i) => density(feature.low + (i / 160) * (feature.high - feature.low)));
  // Few samples are of classes that use a feature; the square root of the counts keeps them visible.
  const tallest = Math.sqrt(Math.max(...feature.users.map((n, i) => n + feature.others[i]), ...points, 1));
  const y = (count) => Math.min(height, (height * Math.sqrt(Math.max(0, count))) / tallest);
  const bars = feature.users.map((users, i) => {
    const all = y(users + feature.others[i]), rest = y(feature.others[i]);
    return [svg("rect", { class: "others", x: i * step, y: height - rest, width: step * 0.9, height: rest }),
      svg("rect", { class: "users", x: i * step, y: height - all, width: step * 0.9, height: all - rest })];
  });
  const curve = svg("path", { d: points.map((value, i) => `${i ? "L" : "M"}${((i / 160) * width).toFixed(1)} ${(height - y(value)).toFixed(1)}`).join("") });
  const label = `Values of ${feature.name} from ${signed(feature.low)} to ${signed(feature.high)}; contrastiveness ${feature.contrastiveness} %`;
  return h("div", null,
    svg("svg", { class: "histogram", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label }, bars, feature.modes.length ? curve : null,
      svg("line", { x1: 0, x2: width, y1: height, y2: height })),
    h("div", { class: "axis", "aria-hidden": "true" }, h("span", null, signed(feature.low)), h("span", null, signed(feature.high))),
    withLegend ? legend() : null);
}

// Items behind a line that opens them; where there are very many they are made only then.
function folded(items, node, most = 10) {
  const list = (members) => h("ul", { class: "chips" }, members.map(node));
  if (items.length <= most + 2) return [list(items)];
  const rest = items.slice(most), box = h("details", null, h("summary", null, `${rest.length} more`));
  if (rest.length <= MANY) box.append(list(rest));
  else box.addEventListener("toggle", () => box.append(list(rest)), { once: true });
  return [list(items.slice(0, most)), box];
}
const chips = (classes) => folded(classes, (c) => h("li", null, classLink(c)));

// Rows of a table, the first ones at once and the others when they are asked for.
function rowsByPage(rows, most = 100) {
  const body = h("tbody");
  const more = h("button", { type: "button", class: "more", on: { click: () => extend() } }, "Show more");
  let shown = 0;
  const extend = () => { body.append(...rows.slice(shown, shown + most).map((row) => row())); shown += most; more.hidden = shown >= rows.length; };
  extend();
  return [body, more];
}

// Of few classes one is chosen from a list, of many by a search.
function classChooser(label, chosen, id, go) {
  if (DATA.classes.length <= MANY) {
    const select = h("select", { id, on: { change: (event) => go(Number(event.target.value)) } },
      classesByName().map((c) => h("option", { value: c, selected: c === chosen }, className(c))));
    return h("label", null, label, select);
  }
  const found = h("ul", { class: "found", hidden: true });
  const input = h("input", { type: "search", id, autocomplete: "off", spellcheck: "false", value: chosen === null ? "" : className(chosen) });
  const pick = (c) => { found.hidden = true; input.value = className(c); go(c); };
  input.addEventListener("input", () => {
    const hits = input.value.trim() ? classesByName().filter((c) => isNamed(c, input.value)).slice(0, 12) : [];
    found.hidden = !hits.length;
    found.replaceChildren(...hits.map((c) => h("li", null, h("button", { type: "button", on: { click: () => pick(c) } }, className(c)))));
  });
  input.addEventListener("keydown", (event) => {
    if (event.key === "Escape") found.hidden = true;
    if (event.key === "Enter" && !found.hidden) found.querySelector("button").click();
  });
  return h("div", { class: "chooser" }, h("label", null, label, input), found);
}

function search(label, onInput) {
  return h("label", null, label, h("input", { type: "search", autocomplete: "off", spellcheck: "false", on: { input: (event) => onInput(event.target.value) } }));
}
