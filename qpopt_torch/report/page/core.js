// Building the page: everything that comes from the data becomes text, never markup.
const DATA = JSON.parse(document.getElementById("data").textContent);
// Views that a served page has more than the file, by their names in addresses.
const extraViews = {};
const SVG = "http://www.w3.org/2000/svg";

function fill(node, attributes, children) {
  for (const [key, value] of Object.entries(attributes || {})) {
    if (key === "on") for (const [event, act] of Object.entries(value)) node.addEventListener(event, act);
    else if (value === true) node.setAttribute(key, "");
    else if (value !== false && value !== null && value !== undefined) node.setAttribute(key, value);
  }
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    node.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return node;
}
const h = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
const svg = (tag, attributes, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);

const className = (c) => DATA.classes[c].name;
const featureName = (j) => DATA.features[j].name;
const classLink = (c, text) => h("a", { href: `#/class/${c}` }, text || className(c));
const featureLink = (j, text) => h("a", { href: `#/feature/${j}` }, text || featureName(j));
const signed = (value, digits = 2) => (value < 0 ? "−" : "+") + Math.abs(value).toFixed(digits);
// All and none are said only where it is all or none.
const percent = (part, whole) => (part === 0 || part === whole ? `${part ? 100 : 0} %` : `${Math.min(99, Math.max(1, Math.round((100 * part) / whole)))} %`);
const plural = (count, one, many) => `${count} ${count === 1 ? one : many || one + "s"}`;
const has = (c, j) => DATA.assignment[c].includes(j);

// A feature that counts by its absence is one of the class all the same.
const lacks = (c, j) => Boolean(DATA.signed) && DATA.weights[c][DATA.assignment[c].indexOf(j)] < 0;

const usersOf = DATA.features.map(() => []);
const absentIn = DATA.features.map(() => []);
DATA.assignment.forEach((columns, c) => columns.forEach((j) => (lacks(c, j) ? absentIn : usersOf)[j].push(c)));

function sharedWith(c) {
  // Other classes by how many features they have in common with c.
  const counts = new Map();
  for (const j of DATA.assignment[c]) for (const other of usersOf[j]) counts.set(other, (counts.get(other) || 0) + 1);
  counts.delete(c);
  return [...counts].map(([other, shared]) => ({ other, shared }))
    .sort((a, b) => b.shared - a.shared || a.other - b.other);
}

function meanElsewhere(j) {
  // Mean over the classes that do not use a feature.
  const values = DATA.means.filter((row, c) => !has(c, j) && row[j] !== null).map((row) => row[j]);
  return values.length ? values.reduce((a, b) => a + b, 0) / values.length : null;
}

// What is more than a person reads at once is searched, folded or shown page by page.
const MANY = 300;
const alphabetic = new Intl.Collator(undefined, { numeric: true }).compare;
let sortedClasses = null;
function classesByName() {
  sortedClasses = sortedClasses || DATA.classes.map((_, c) => c).sort((a, b) => alphabetic(className(a), className(b)));
  return sortedClasses;
}

const plainText = (text) => text.toLowerCase().normalize("NFKD").replace(/[\u0300-\u036f]/g, "").replace(/[_\s]+/g, " ");
const holds = (plain, query) => plainText(query).split(" ").every((word) => plain.includes(word));
let plainNames = null;
const isNamed = (c, query) => {
  plainNames = plainNames || DATA.classes.map((entry) => plainText(entry.name));
  return holds(plainNames[c], query);
};
