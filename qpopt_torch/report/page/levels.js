// A decision from general to specific: what is left after each feature, and sets for a wanted coverage.
function levelsView(entry, terms) {
  const sample = DATA.samples[entry.sample], winner = sample.pred;
  const { shares, n } = DATA.levels, last = shares.length - 1, every = DATA.classes.map((_, c) => c);
  const lasting = new Map(entry.lasting), wanted = new Map(entry.sets || []);
  const deepest = (c) => (c === winner ? last : lasting.get(c) || 0);
  const left = (level) => every.filter((c) => deepest(c) >= level);
  const value = (j) => signed(terms[DATA.assignment[winner].indexOf(j)]);
  let members = [];
  const chip = (c) => h("li", { "data-class": c, class: members.includes(c) ? "in" : null }, classLink(c));
  const gone = (classes) => (classes.length ? [h("span", { class: "note" }, "No longer possible: "), folded(classes, chip)] : null);
  const steps = shares.slice(1).map(([share, low, high], i) => {
    const level = i + 1, j = entry.order[i], some = left(level);
    const head = j === undefined ? `Level ${level}: nothing more is active` : [`Level ${level}: `, featureLink(j), " ", h("b", null, value(j))];
    const count = some.length === 1 ? `Only ${className(winner)} is left` : `${some.length} of ${every.length} classes are left`;
    return h("li", null, j === undefined || !DATA.located ? null : tile(entry.sample, j),
      h("div", null, h("div", { class: "level-head" }, head),
        h("p", { class: "note" }, `${count}. The level held the true class in ${share.toFixed(1)} % of ${n} samples (${low.toFixed(1)} to ${high.toFixed(1)}).`),
        gone(every.filter((c) => deepest(c) === level - 1))));
  });
  const ladder = h("ol", { class: DATA.grid.length ? "ladder" : "ladder bare" }, steps);
  const status = h("p", { role: "status" }), promise = h("p", { class: "note" }), chosen = h("div", null);
  const output = h("b", { class: "wanted" });
  const choose = (percentage) => {
    output.textContent = `${percentage} %`;
    if (DATA.sets) {
      members = [winner, ...every.filter((c) => c !== winner && wanted.has(c) && wanted.get(c) <= percentage)];
      status.textContent = `The set for ${percentage} % holds ${plural(members.length, "class", "classes")}:`;
      promise.textContent = `At least ${percentage} % of such sets hold the true class${DATA.sets.byClass ? ", whichever it is" : ""}, for samples like the ${DATA.sets.n} that calibrated them.`;
    } else {
      const level = Math.max(...shares.map(([share], at) => (share >= percentage || !at ? at : 0)));
      members = left(level);
      status.textContent = `Level ${level} is the deepest that held the true class in at least ${percentage} % of ${n} samples. It leaves ${plural(members.length, "class", "classes")}:`;
      promise.textContent = "That is what was seen, not a promise: qpopt_torch.conformal makes sets that promise it.";
    }
    chosen.replaceChildren(h("div", null, folded(members, (c) => h("li", { class: "in" }, classLink(c)))));
    const inside = new Set(members);
    for (const item of ladder.querySelectorAll("[data-class]")) item.classList.toggle("in", inside.has(Number(item.dataset.class)));
  };
  const { least, most, wanted: start } = DATA.sets || { least: 50, most: 99, wanted: 90 };
  const first = Math.min(most, Math.max(least, start));
  const slider = h("input", { type: "range", min: least, max: most, value: first, on: { input: (event) => choose(Number(event.target.value)) } });
  choose(first);
  return h("section", { class: "levels" }, h("h3", null, "From general to specific"),
    h("p", { class: "note" }, "A class stays possible as long as its most active features are those of the predicted class. What is not active is no evidence and opens no level."),
    ladder,
    h("div", { class: "controls" }, h("label", null, h("span", null, "Wanted coverage: ", output), slider)),
    status, chosen, promise);
}
