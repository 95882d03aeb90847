// Pieces that several sections use: pictures with heat maps, sums, histograms.
function picture(id, j = null) {
  const sample = DATA.samples[id];
  const described = `Sample of ${className(sample.label)}` + (j === null ? "" : `, heat map of ${featureName(j)}`);
  if (sample.image !== undefined) {
    const image = h("img", { src: DATA.images[sample.image], alt: described, class: DATA.sharp ? "sharp" : null, decoding: "async" });
    const frame = h("span", { class: "picture" }, image, j === null ? null : heatOver(id, j));
    frame.style.aspectRatio = sample.ratio;
    return frame;
  }
  if (sample.words) {
    const levels = wordLevels(id, j), full = strength(id, j ?? 0);
    const words = sample.words.map((word, i) => {
      const shown = h("span", { class: "word" }, word);
      if (levels && levels[i] > 8) shown.style.setProperty("--heat", `${(((levels[i] / 255) * full) * 80).toFixed(0)}%`);
      return [shown, " "];
    });
    return h("span", { class: "picture text", title: described }, words);
  }
  if (sample.row) {
    return h("span", { class: "picture row", title: described },
      sample.row.map(([name, value]) => h("span", { class: "cell", title: name }, h("span", null, name), h("b", null, value))));
  }
  if (sample.series) {
    const lines = sample.series.map((line) => {
      const step = 100 / Math.max(1, line.length - 1);
      return svg("polyline", { points: line.map((y, i) => `${(i * step).toFixed(2)},${(56 - 52 * y).toFixed(2)}`).join(" ") });
    });
    const drawing = svg("svg", { viewBox: "0 0 100 60", preserveAspectRatio: "none", role: "img", "aria-label": described }, lines);
    return h("span", { class: "picture series" }, j === null ? null : heatOver(id, j), drawing);
  }
  return h("span", { class: "picture missing" }, `sample ${sample.index}`);
}

const tile = (id, j, ...caption) => h("figure", { class: "tile" }, picture(id, j), caption.length ? h("figcaption", null, caption) : null);
// Without maps all pictures of a sample are the same: there the value alone is shown.
const valueTile = (id, j, value = DATA.samples[id].z[j]) => (DATA.located ? tile(id, j, h("b", null, signed(value))) : h("b", { class: "value" }, signed(value)));
const mapless = () => (DATA.located ? null : h("p", { class: "note" }, "This model has no feature maps, so the values of the features are shown, not where they fire."));
const namedTile = (id, j) => tile(id, j, classLink(DATA.samples[id].label), " ", h("b", null, signed(DATA.samples[id].z[j])));

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

function chips(classes, most = 10) {
  const list = (members) => h("ul", { class: "chips" }, members.map((c) => h("li", null, classLink(c))));
  if (classes.length <= most + 2) return list(classes);
  return [list(classes.slice(0, most)), h("details", null, h("summary", null, `${classes.length - most} more`), list(classes.slice(most)))];
}

function search(label, onInput) {
  return h("label", null, label, h("input", { type: "search", autocomplete: "off", spellcheck: "false", on: { input: (event) => onInput(event.target.value) } }));
}
