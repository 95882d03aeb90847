// Right and wrong decisions, and one decision in full.
const PAGE = 24;

function misled(entry) {
  const sample = DATA.samples[entry.sample];
  if (entry.feature === undefined) return null;
  // As the sum of the class shows it, whose terms are rounded together.
  const owner = entry.fired ? sample.pred : sample.label, [, , terms] = entry.sums.find(([c]) => c === owner);
  const value = signed(terms[DATA.assignment[owner].indexOf(entry.feature)]), usual = signed(entry.usual);
  return entry.fired
    ? [featureLink(entry.feature), ` of ${className(sample.pred)} is ${value}; in ${className(sample.label)} it is usually ${usual}.`]
    : [featureLink(entry.feature), ` of ${className(sample.label)} is only ${value}; it is usually ${usual}.`];
}

function decisionCard(kind, entry) {
  const sample = DATA.samples[entry.sample];
  const shown = entry.feature === undefined ? null : entry.feature;
  return h("li", null, h("a", { href: `#/decision/${kind}/${entry.place}`, "aria-label": `Decision on sample ${sample.index}` }, picture(entry.sample, shown)),
    kind === "wrong"
      ? [h("div", { class: "card-title" }, className(sample.label), h("div", { class: "wrong" }, "taken for ", className(sample.pred))), misled(entry) ? h("div", { class: "note" }, "What misled: ", misled(entry)) : null]
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
    const what = !members.length ? `There are no ${kind} decisions.` : kind === "wrong" ? `${plural(members.length, "wrong decision")} of ${total}, the largest lead over the true class first` : `${plural(members.length, "right decision")}, drawn by chance`;
    status.textContent = what + (members.length > shown ? `; ${shown} shown` : "");
  };
  const segment = (key, text) => h("label", { class: "segment" }, h("input", { type: "radio", name: "kind", value: key, checked: key === kind, on: { change: () => { kind = key; shown = PAGE; update(); } } }), h("span", null, text));
  const involved = [...new Set([...all.wrong, ...all.right].flatMap((e) => [DATA.samples[e.sample].label, DATA.samples[e.sample].pred]))]
    .sort((a, b) => alphabetic(className(a), className(b)));
  const select = h("select", { on: { change: (event) => { chosen = event.target.value; shown = PAGE; update(); } } },
    h("option", { value: "" }, "All classes"), involved.map((c) => h("option", { value: c }, className(c))));
  update();
  return [h("h2", { tabindex: -1 }, "Decisions"),
    h("div", { class: "controls" }, h("fieldset", null, h("legend", { class: "visually-hidden" }, "Which decisions"), h("div", null, segment("wrong", "Wrong"), segment("right", "Right"))),
      h("label", null, "Class", select)), status, list, more];
}

function decisionView(kind, place) {
  const entry = DATA[kind][place], sample = DATA.samples[entry.sample];
  const back = h("a", { class: "back", href: "#/decisions" }, "← All decisions");
  const heading = h("h2", { tabindex: -1 }, className(sample.label), sample.label === sample.pred ? "" : h("span", { class: "wrong" }, ` taken for ${className(sample.pred)}`));
  if (!isKnown(entry.part)) {
    const address = location.hash;
    whenKnown(entry.part, () => { if (location.hash === address) show(true); });
    if (!isKnown(entry.part)) return [back, heading, h("p", { class: "note waiting" }, "Loading …")];
  }
  const sums = entry.sums.map(([c, total, terms]) => ({ class: c, total, terms }));
  const range = valueRange(sums);
  const note = (c) => (c === sample.pred ? "predicted" : c === sample.label ? "true class" : "rival");
  const missed = entry.changes.filter(([rival]) => rival === sample.label);
  const others = entry.changes.filter(([rival]) => rival !== sample.label);
  return [
    back, heading,
    h("p", { class: "lede" }, `Sample ${sample.index}. The class with the highest sum wins.`,
      entry.level.length ? [" ", listed(entry.level.map((c) => classLink(c)), " and "), ` ${entry.level.length > 1 ? "are" : "is"} level with `, classLink(sample.pred), ": nothing in this sample decides between them."] : null),
    misled(entry) ? h("p", { class: "callout" }, h("b", null, "What misled: "), misled(entry)) : null,
    h("div", { class: "decision" }, tile(entry.sample, null),
      h("div", { class: "sums" }, sums.map((sum) => sumTable(sum, range, entry.feature, note(sum.class))))),
    levelsView(entry, sums[0].terms),
    DATA.located ? [h("h3", null, "Where the features fire"), heatLegend(),
      scrolling("Heat maps of the features of each class", h("table", { class: "grid" }, h("tbody", null, sums.map((sum) => h("tr", null,
        h("th", { scope: "row" }, classLink(sum.class), h("small", null, note(sum.class))),
        DATA.assignment[sum.class].map((j, i) => h("td", null, tile(entry.sample, j, featureLink(j), " ", h("b", null, signed(sum.terms[i]))))))))))] : null,
    missed.length ? [h("h3", null, "What it would have taken"), missed.map((change) => changeView(sums, change, entry.level.includes(change[0])))] : null,
    others.length ? [h("h3", null, "What would have to change"), others.map((change) => changeView(sums, change, entry.level.includes(change[0])))] : null,
    entry.changes.length ? h("p", { class: "note" }, "Each change is by itself, all else as it is, and the class named then has the highest sum of all classes. Numbers are rounded to 0.01 such that every sum adds up, so a feature of two classes may differ by 0.01 between them.") : null,
  ];
}

const listed = (items, last = " or ") => items.map((item, i) => [i ? (i === items.length - 1 ? last : ", ") : "", item]);

function changeView(sums, [rival, ways, more, idle], level) {
  const [winner, other] = [sums[0], sums.find((sum) => sum.class === rival)];
  const lead = Math.abs(winner.total - other.total).toFixed(2);
  const begin = [classLink(rival), level ? " is level with " : ` is ${lead} behind `, classLink(winner.class), ". "];
  if (!ways.length) return h("div", { class: "change" }, h("p", null, begin, "No change of one or two features would make it win."));
  if (ways[0].length > 1) {
    return h("div", { class: "change" }, h("p", null, begin, "No single feature would make it win; of all pairs, this one needs the smallest changes in sum:"),
      h("ul", null, h("li", null, ways[0].map((move, i) => [i ? ", and " : "", moved(move)]))));
  }
  return h("div", { class: "change" }, h("p", null, begin, "It would win with any one of these:"),
    h("ul", null, ways.map(([move]) => h("li", null, moved(move)))),
    more || idle.length ? h("p", { class: "note" }, more ? `${plural(more, "other feature")} would do, too. ` : "",
      idle.length ? ["No change of ", listed(idle.map((j) => featureLink(j))), " alone would: a third class stays ahead."] : null) : null);
}

function moved([feature, falls, change, to, reach, limit]) {
  const size = change.toFixed(2);
  const text = falls ? ` lower by more than ${size}, below ${signed(to)}` : ` higher by more than ${size}, above ${signed(to)}`;
  const [end, far] = falls ? ["lowest", "least value"] : ["highest", "largest value"];
  const mark = [null, `no sample goes there: the ${end} is ${signed(limit)}`, `impossible: its ${far} is ${signed(limit)}`][reach];
  return [featureLink(feature), text, mark ? h("span", { class: "note" }, ` (${mark})`) : null];
}
