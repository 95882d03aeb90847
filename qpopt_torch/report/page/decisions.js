// Right and wrong decisions, and one decision in full.
const PAGE = 24;

function misled(entry) {
  const sample = DATA.samples[entry.sample];
  if (entry.feature === undefined) return null;
  const value = signed(sample.z[entry.feature], 1), usual = signed(entry.usual, 1);
  return entry.fired
    ? [featureLink(entry.feature), ` of ${className(sample.pred)} is ${value}; in ${className(sample.label)} it is usually ${usual}.`]
    : [featureLink(entry.feature), ` of ${className(sample.label)} is only ${value}; it is usually ${usual}.`];
}

function decisionCard(kind, entry) {
  const sample = DATA.samples[entry.sample];
  const shown = entry.feature === undefined ? null : entry.feature;
  return h("li", null, h("a", { href: `#/decision/${kind}/${entry.place}`, "aria-label": `Decision on sample ${sample.index}` }, picture(entry.sample, shown)),
    kind === "wrong"
      ? [h("div", { class: "card-title" }, className(sample.label), h("div", { class: "wrong" }, "taken for ", className(sample.pred))), h("div", { class: "note" }, "Misled by ", misled(entry))]
      : h("div", { class: "card-title" }, className(sample.label), h("div", { class: "right note" }, "recognised")));
}

function decisionsView() {
  const status = h("p", { class: "note", role: "status" });
  const list = h("ul", { class: "cards small" });
  const more = h("button", { type: "button", class: "more", on: { click: () => { shown += PAGE; update(); } } }, "Show more");
  let kind = DATA.wrong.length ? "wrong" : "right", chosen = "", shown = PAGE;
  const all = { wrong: DATA.wrong.map((e, place) => ({ ...e, place })), right: DATA.right.map((e, place) => ({ ...e, place })) };
  const total = DATA.confusions.reduce((sum, [, , count]) => sum + count, 0);
  const update = () => {
    const members = all[kind].filter((e) => chosen === "" || [DATA.samples[e.sample].label, DATA.samples[e.sample].pred].includes(Number(chosen)));
    list.replaceChildren(...members.slice(0, shown).map((e) => decisionCard(kind, e)));
    more.hidden = members.length <= shown;
    const what = kind === "wrong" ? `${plural(members.length, "wrong decision")} of ${total}, the largest lead over the true class first` : `${plural(members.length, "right decision")}, drawn by chance`;
    status.textContent = what + (members.length > shown ? `; ${shown} shown` : "");
  };
  const segment = (key, text) => h("label", { class: "segment" }, h("input", { type: "radio", name: "kind", value: key, checked: key === kind, on: { change: () => { kind = key; shown = PAGE; update(); } } }), h("span", null, text));
  const involved = [...new Set([...all.wrong, ...all.right].flatMap((e) => [DATA.samples[e.sample].label, DATA.samples[e.sample].pred]))]
    .sort((a, b) => className(a).localeCompare(className(b), undefined, { numeric: true }));
  const select = h("select", { on: { change: (event) => { chosen = event.target.value; shown = PAGE; update(); } } },
    h("option", { value: "" }, "All classes"), involved.map((c) => h("option", { value: c }, className(c))));
  update();
  return [h("h2", { tabindex: -1 }, "Decisions"),
    h("div", { class: "controls" }, h("fieldset", null, h("legend", { class: "visually-hidden" }, "Which decisions"), h("div", null, segment("wrong", "Wrong"), segment("right", "Right"))),
      h("label", null, "Class", select)), status, list, more];
}

function decisionView(kind, place) {
  const entry = DATA[kind][place], sample = DATA.samples[entry.sample];
  const ranked = DATA.classes.map((_, c) => c).filter((c) => c !== sample.pred).sort((x, y) => score(sample, y) - score(sample, x));
  const shown = [sample.pred, ...ranked.slice(0, 2)];
  if (!shown.includes(sample.label)) shown.push(sample.label);
  const range = valueRange(sample, shown);
  const isRight = sample.label === sample.pred;
  const note = (c) => (c === sample.pred ? "predicted" : c === sample.label ? "true class" : "rival");
  return [
    h("a", { class: "back", href: "#/decisions" }, "← All decisions"),
    h("h2", { tabindex: -1 }, className(sample.label), isRight ? "" : h("span", { class: "wrong" }, ` taken for ${className(sample.pred)}`)),
    h("p", { class: "lede" }, `Sample ${sample.index}. The class with the highest sum wins.`),
    misled(entry) ? h("p", { class: "callout" }, h("b", null, "What misled: "), misled(entry)) : null,
    h("div", { class: "decision" }, tile(entry.sample, null),
      h("div", { class: "sums" }, shown.map((c) => sumTable(sample, c, range, entry.feature, note(c))))),
    h("h3", null, "Where the features fire"),
    scrolling("Heat maps of the features of each class", h("table", { class: "grid" }, h("tbody", null, shown.map((c) => h("tr", null,
      h("th", { scope: "row" }, classLink(c), h("small", null, note(c))),
      DATA.assignment[c].map((j) => h("td", null, tile(entry.sample, j, featureLink(j), " ", h("b", null, signed(sample.z[j])))))))))),
    h("h3", null, "What would have to change"),
    h("ul", null, shown.slice(1).map((c) => h("li", null, change(sample, c)))),
  ];
}

function change(sample, c) {
  const lead = Math.max(0, score(sample, sample.pred) - score(sample, c)).toFixed(2);
  const lower = DATA.assignment[sample.pred].filter((j) => !has(c, j)), higher = DATA.assignment[c].filter((j) => !has(sample.pred, j));
  const listed = (columns) => columns.map((j, i) => [i ? (i === columns.length - 1 ? " or " : ", ") : "", featureLink(j)]);
  return [classLink(c), ` would win if `, listed(lower), lower.length ? " were lower" : "", lower.length && higher.length ? ", or " : "", listed(higher), higher.length ? " higher" : "", `, by more than ${lead} in all.`];
}
