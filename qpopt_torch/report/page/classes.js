// The list of classes, and one class.
function classesView() {
  const status = h("p", { class: "note", role: "status" });
  const order = { name: "Name", accuracy: "Least recognised first" };
  let query = "", sorted = "name";
  const made = new Map();
  const card = (entry, c) => h("li", null,
    entry.samples.length ? h("a", { href: `#/class/${c}`, tabindex: -1, "aria-hidden": "true" }, picture(entry.samples[0])) : null,
    h("div", { class: "card-title" }, classLink(c)),
    h("div", { class: "note" }, entry.n ? `${percent(entry.right, entry.n)} of ${entry.n} recognised` : "no samples"));
  const cardOf = (c) => { if (!made.has(c)) made.set(c, card(DATA.classes[c], c)); return made.get(c); };
  const more = h("button", { type: "button", class: "more", on: { click: () => { most += 240; update(); } } }, "Show more");
  let most = 240;
  const list = h("ul", { class: "cards small" });
  const update = () => {
    const shown = classesByName().filter((c) => isNamed(c, query));
    const share = (c) => (DATA.classes[c].n ? DATA.classes[c].right / DATA.classes[c].n : 2);
    if (sorted === "accuracy") shown.sort((a, b) => share(a) - share(b));
    list.replaceChildren(...shown.slice(0, most).map(cardOf));
    more.hidden = shown.length <= most;
    status.textContent = plural(shown.length, "class", "classes") + (query ? " found" : "") + (more.hidden ? "" : `; ${most} shown`);
  };
  const select = h("select", { on: { change: (event) => { sorted = event.target.value; most = 240; update(); } } },
    Object.entries(order).map(([key, text]) => h("option", { value: key }, text)));
  update();
  return [h("h2", { tabindex: -1 }, "Classes"),
    h("div", { class: "controls" }, search("Find a class", (text) => { query = text; most = 240; update(); }), h("label", null, "Order", select)),
    status, list, more];
}

function classView(c) {
  const entry = DATA.classes[c], columns = DATA.assignment[c], weights = DATA.weights ? DATA.weights[c] : null;
  const constant = weights && (DATA.biased || !DATA.signed);
  const weight = (j, i) => (DATA.signed ? (lacks(c, j) ? " must be absent" : null) : ` × ${signed(weights[i], 3)}`);
  const heading = columns.map((j, i) => h("th", { scope: "col" }, featureLink(j), weights ? h("span", { class: "note" }, weight(j, i)) : null));
  if (constant) heading.push(h("th", { scope: "col" }, DATA.signed ? "Class bias" : "Constant"));
  const rows = entry.samples.map((id, row) => h("tr", null,
    h("td", null, tile(id, null, "score ", h("b", null, signed(entry.sums[row][0])))),
    columns.map((j, i) => h("td", null, valueTile(id, j, entry.sums[row][1][i]))),
    constant ? h("td", null, h("b", { class: "value" }, signed(entry.sums[row][1][columns.length]))) : null));
  const near = weights ? [] : sharedWith(c).slice(0, 6);
  const confused = DATA.confusions.filter(([label]) => label === c).slice(0, 8);
  return [
    h("a", { class: "back", href: "#/classes" }, "← All classes"),
    h("h2", { tabindex: -1 }, entry.name),
    h("p", { class: "lede" }, entry.n ? `${entry.right} of ${entry.n} samples recognised. ` : "",
      `Its score is the sum of ${plural(columns.length, "feature")}${weights ? weighed(c) : ""}.`),
    rows.length ? [h("h3", null, "What the model sees in it"), mapless(), scrolling("Samples and heat maps of the features",
      h("table", { class: "grid" }, h("thead", null, h("tr", null, h("th", { scope: "col" }, "Highest scores"), heading)), h("tbody", null, rows)))] : null,
    h("h3", null, "Its features"),
    h("ul", { class: "parts" }, columns.map((j) => classPart(c, j))),
    weights ? null : h("h3", null, "Nearest classes"),
    weights ? null : near.length ? h("table", { class: "plain" },
      h("thead", null, h("tr", null, h("th", { scope: "col" }, "Class"), h("th", { scope: "col", class: "few" }, "Shared"), h("th", { scope: "col" }, h("span", { class: "visually-hidden" }, "Contrast")))),
      h("tbody", null, near.map(({ other, shared }) => h("tr", null, h("th", { scope: "row" }, classLink(other)),
        h("td", { class: "few" }, `${shared} of ${columns.length}`),
        h("td", { class: "number" }, h("a", { href: `#/contrast/${c}/${other}`, "aria-label": `Contrast with ${className(other)}` }, "Contrast")))))) : h("p", null, "No other class shares a feature with it."),
    confused.length ? [h("h3", null, "Taken for"), h("ul", { class: "chips" }, confused.map(([, other, count]) =>
      h("li", null, h("a", { href: weights ? `#/class/${other}` : `#/contrast/${c}/${other}` }, `${className(other)} × ${count}`))))] : null,
  ];
}

function weighed(c) {
  if (!DATA.signed) return ", each times its weight, and a constant";
  const absent = DATA.assignment[c].some((j) => lacks(c, j)) ? ", where one that must be absent counts by its opposite" : "";
  return absent + (DATA.biased ? `${absent ? "," : ""} and a class bias, as classes differ in how many features they have` : "");
}

function classPart(c, j) {
  const here = DATA.means[c][j], elsewhere = meanElsewhere(j), absent = lacks(c, j);
  const others = (absent ? absentIn : usersOf)[j].filter((other) => other !== c);
  return h("li", null,
    h("div", null, h("div", { class: "card-title" }, featureLink(j), absent ? " must be absent" : null),
      h("p", { class: "note" }, here === null ? null : [`usually ${signed(here)} here`, elsewhere === null ? "" : `, ${signed(elsewhere)} where it is not used`]),
      others.length ? [h("div", { class: "note" }, absent ? "Must also be absent in" : "Also part of"), chips(others)] : h("div", { class: "note" }, absent ? "In no other class it must be" : "Part of no other class")),
    h("div", null, h("div", { class: "note" }, "Strongest, at most two samples of a class"),
      h("div", { class: "tiles" }, DATA.features[j].samples.slice(0, 4).map((id) => namedTile(id, j)))));
}
