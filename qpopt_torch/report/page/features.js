// The gallery of features, and one feature.
function featuresView() {
  const status = h("p", { class: "note", role: "status" });
  const list = h("ul", { class: "cards" });
  const names = DATA.features.map((_, j) => plainText([featureName(j), ...usersOf[j].map(className)].join(" ")));
  const cards = DATA.features.map((feature, j) => h("li", null,
    h("div", { class: "card-title" }, featureLink(j)),
    h("div", { class: "tiles three" }, feature.samples.slice(0, 6).map((id) => tile(id, j))),
    histogram(j, false),
    h("div", { class: "note" }, `${plural(usersOf[j].length, "class", "classes")}: `,
      usersOf[j].slice(0, 4).map((c, i) => [i ? ", " : "", className(c)]), usersOf[j].length > 4 ? " …" : "",
      absentIn[j].length ? `; must be absent in ${plural(absentIn[j].length, "class", "classes")}` : "")));
  const update = (query) => {
    // A feature is found by its own name and by the names of its classes.
    const shown = cards.filter((_, j) => holds(names[j], query));
    list.replaceChildren(...shown);
    status.textContent = plural(shown.length, "feature") + (query ? " found" : "");
  };
  update("");
  return [h("h2", { tabindex: -1 }, "Features"),
    h("div", { class: "controls" }, search("Find a feature or a class that uses it", update)), status, legend(), list];
}

function featureView(j) {
  const feature = DATA.features[j];
  const users = [...usersOf[j]].sort((a, b) => (DATA.means[b][j] ?? -99) - (DATA.means[a][j] ?? -99));
  const others = DATA.means.map((row, c) => [row[j], c]).filter(([mean, c]) => mean !== null && !has(c, j)).sort((a, b) => b[0] - a[0]).slice(0, 5);
  const table = (caption, entries) => {
    const [body, more] = rowsByPage(entries.map(([mean, c]) => () => h("tr", null, h("th", { scope: "row" }, classLink(c)), h("td", { class: "number" }, mean === null ? "–" : signed(mean)))));
    return [h("table", { class: "plain" }, h("thead", null, h("tr", null, h("th", { scope: "col" }, caption), h("th", { scope: "col", class: "number" }, "Usual value"))), body), more];
  };
  return [
    h("a", { class: "back", href: "#/features" }, "← All features"),
    h("h2", { tabindex: -1 }, feature.name),
    h("p", { class: "lede" }, `Used by ${plural(users.length, "class", "classes")}. `, absentIn[j].length ? `Must be absent in ${plural(absentIn[j].length, "class", "classes")}. ` : "", feature.parts ? "" : `Number ${feature.index} of the dense model.`),
    feature.parts ? h("p", null, `An adapter mixes it from ${feature.mixed} features of the frozen network, starting from feature ${feature.index}; its correlation with that is ${signed(feature.correlation)}. `,
      `Its largest parts: ${feature.parts.map(([d, share]) => `feature ${d} (${share.toFixed(1)} %)`).join(", ")}.`) : null,
    truthView(feature.truth),
    h("details", null, h("summary", null, "Rename it, keep it or do without it"),
      h("pre", null, `sparse.rename_features({${feature.index}: "a name"})\nsparsify(…, include=[${feature.index}])\nsparsify(…, exclude=[${feature.index}])`)),
    h("div", { class: "feature-top" },
      h("div", null, h("h3", null, "Where it is strongest"), heatLegend(),
        h("div", { class: "tiles" }, feature.samples.map((id) => namedTile(id, j))),
        h("p", { class: "note" }, "At most two samples of a class are shown.")),
      h("div", null, h("h3", null, "Its values"), histogram(j, true),
        h("p", { class: "note" }, feature.modes.length ? `The two modes share ${(100 - feature.contrastiveness).toFixed(1)} % of their area: contrastiveness ${feature.contrastiveness.toFixed(1)} %.` : "All values are the same."),
        h("h3", null, "Classes"), table("Use it", users.map((c) => [DATA.means[c][j], c])),
        absentIn[j].length ? table("Must lack it", absentIn[j].map((c) => [DATA.means[c][j], c])) : null,
        others.length ? [h("h3", null, "Strongest where it is not used"), table("Do not use it", others)] : null)),
  ];
}
