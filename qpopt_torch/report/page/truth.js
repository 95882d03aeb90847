// What is known of a feature where the data knows what its pictures show.
function truthView(truth) {
  if (!truth) return null;
  const number = (value) => (value === null ? "–" : value.toFixed(2));
  const [name, auroc] = truth.best, [next, weaker] = truth.second;
  // What falls short of the threshold is not shown as if it reached it.
  const area = (value) => (!truth.aligned && value.toFixed(2) === "0.95" ? value.toFixed(3) : value.toFixed(2));
  const part = (variant) => variant.split(" ").at(-1);
  const said = !truth.aligned ? `It recognises nothing by itself; the nearest is ${name}` : truth.most ? `It goes with one thing: ${name}` : `It recognises one thing: ${name}`;
  const rows = [["without", "Its part is taken off"], ["swapped", "Another variant in its place"]]
    .filter(([way]) => truth[way])
    .map(([way, title]) => h("tr", null, h("th", { scope: "row" }, title),
      h("td", { class: "number" }, number(truth[way][0])), h("td", { class: "number" }, number(truth[way][1])),
      h("td", { class: "number" }, `${truth[way][2]} %`)));
  return h("section", { class: "truth" }, h("h3", null, "What it means"),
    h("p", null, `${said} (AUROC ${area(auroc)}); the next is ${next} (${number(weaker)}).`,
      truth.most ? ` But it falls most without the ${truth.most}, not the ${part(name)}: the name is in doubt.` : "",
      truth.pointing ? ` Its maximum lies on that part in ${truth.pointing[0]} % of ${plural(truth.pointing[2], "picture")}; any place would in ${truth.pointing[1]} %.` : ""),
    rows.length ? scrolling("What happens when its part is changed", h("table", { class: "plain" },
      h("thead", null, h("tr", null, h("th", { scope: "col" }, "In the same picture"), h("th", { scope: "col", class: "number" }, "It falls by"),
        h("th", { scope: "col", class: "number" }, "Others move by"), h("th", { scope: "col", class: "number" }, "Other decision"))),
      h("tbody", null, rows))) : null,
    rows.length ? h("p", { class: "note" }, "In standard deviations of each feature, over birds that have the part; others are the features of other parts.") : null);
}
