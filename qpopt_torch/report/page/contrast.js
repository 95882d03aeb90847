// Any two classes side by side.
function contrastView(a, b) {
  if (!DATA.classes[1]) return [h("h2", { tabindex: -1 }, "Contrast"), h("p", null, "There is only one class.")];
  const firstLabel = classChooser("First class", a, "contrast-first", (c) => { location.hash = `#/contrast/${c}/${b}`; });
  const secondLabel = classChooser("Second class", b, "contrast-second", (c) => { location.hash = `#/contrast/${a}/${c}`; });
  const swap = h("button", { type: "button", id: "contrast-swap", on: { click: () => { location.hash = `#/contrast/${b}/${a}`; } } }, "Swap");
  const onlyA = DATA.assignment[a].filter((j) => !has(b, j));
  const onlyB = DATA.assignment[b].filter((j) => !has(a, j));
  const both = DATA.assignment[a].filter((j) => has(b, j));
  const mistakes = DATA.confusions.filter(([x, y]) => (x === a && y === b) || (x === b && y === a))
    .map(([x, y, n]) => `${plural(n, "sample")} of ${className(x)} ${n === 1 ? "was" : "were"} taken for ${className(y)}.`).join(" ");
  const twins = DATA.twins.find(([x, y]) => (x === a && y === b) || (x === b && y === a));
  // Of twins, what is of the part in which they differ comes first.
  const ofPart = ({ truth }) => Boolean(truth?.aligned && twins && truth.best[0].endsWith(` ${twins[2]}`));
  const apart = [...onlyA, ...onlyB].sort((x, y) => ofPart(DATA.features[y]) - ofPart(DATA.features[x]));
  return [
    h("h2", { tabindex: -1 }, "Contrast"),
    h("div", { class: "controls" }, firstLabel, secondLabel, swap),
    a === b ? h("p", null, "Choose two different classes.") : [
      h("p", { class: "lede", role: "status" }, `They share ${both.length} of ${DATA.assignment[a].length} features.`, mistakes ? ` ${mistakes}` : "", twins ? ` In truth they differ in the ${twins[2]}, nothing else.` : ""),
      mapless(), h("h3", null, "What tells them apart"), contrastGrid(apart, a, b),
      both.length ? [h("h3", null, "What they share"), contrastGrid(both, a, b)] : null,
    ],
  ];
}

function contrastGrid(features, a, b) {
  // Words and numbers need more room than pictures.
  const perClass = (window.matchMedia("(max-width: 46rem)").matches ? 2 : 3) - (DATA.written ? 1 : 0);
  const samples = (c) => DATA.classes[c].samples.slice(0, perClass);
  const cells = (c, j) => samples(c).map((id) => h("td", null, valueTile(id, j)));
  const gap = () => h("td", { class: "gap", "aria-hidden": "true" });
  const owner = (j) => (has(a, j) && has(b, j) ? "of both" : `of ${className(has(a, j) ? a : b)}`);
  const usual = (c, j) => (DATA.means[c][j] === null ? "–" : signed(DATA.means[c][j]));
  return scrolling("Heat maps of the features on samples of both classes", h("table", { class: "grid contrast" },
    h("thead", null, h("tr", null, h("th", { scope: "col" }, "Feature"),
      h("th", { scope: "colgroup", colspan: Math.max(1, samples(a).length) }, classLink(a)), gap(),
      h("th", { scope: "colgroup", colspan: Math.max(1, samples(b).length) }, classLink(b)))),
    h("tbody", null, DATA.located ? null : h("tr", null, h("td", null), samples(a).map((id) => h("td", null, tile(id, null))), gap(), samples(b).map((id) => h("td", null, tile(id, null)))),
      features.map((j) => h("tr", { "data-feature": j },
      h("th", { scope: "row" }, featureLink(j), h("small", null, owner(j)), h("small", null, `usually ${usual(a, j)} | ${usual(b, j)}`)),
      cells(a, j), gap(), cells(b, j))))));
}
