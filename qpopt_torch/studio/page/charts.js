// Bars for a few shares, and any picture or chart as a file.
function bars(rows, label) {
  const width = 480, line = 34, left = 150, right = 70;
  const largest = Math.max(1e-9, ...rows.map((row) => row.value ?? 0));
  const drawn = rows.map((row, i) => {
    const long = ((width - left - right) * (row.value ?? 0)) / largest;
    return svg("g", { transform: `translate(0 ${i * line})` },
      svg("text", { x: left - 10, y: line / 2 + 4, "text-anchor": "end" }, row.name),
      svg("rect", { class: row.kind, x: left, y: 7, width: Math.max(1, long), height: line - 14, rx: 2 }),
      svg("text", { x: left + long + 8, y: line / 2 + 4, class: "figure" }, row.text));
  });
  return h("div", { class: "chart" }, svg("svg", { viewBox: `0 0 ${width} ${rows.length * line}`, role: "img", "aria-label": label, class: "bars" }, drawn));
}

function download(name, address) {
  const link = h("a", { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
}

// The colours of a drawing are the page's; in a file they have to stand in it, and so does the ground behind it.
function standalone(drawing, ground = null) {
  const copy = drawing.cloneNode(true);
  const box = drawing.getBoundingClientRect();
  const pairs = [[drawing, copy], ...[...drawing.querySelectorAll("*")].map((node, i) => [node, copy.querySelectorAll("*")[i]])];
  for (const [node, twin] of pairs) {
    const style = getComputedStyle(node);
    for (const key of ["fill", "stroke", "stroke-width", "stroke-dasharray", "vector-effect", "font-family", "font-size", "font-weight"]) twin.setAttribute(key, style.getPropertyValue(key));
    twin.removeAttribute("class");
  }
  if (ground) copy.prepend(svg("rect", { width: "100%", height: "100%", fill: ground }));
  copy.setAttribute("xmlns", SVG);
  copy.setAttribute("width", box.width);
  copy.setAttribute("height", box.height);
  return `data:image/svg+xml;charset=utf-8,${encodeURIComponent(new XMLSerializer().serializeToString(copy))}`;
}

async function decodedImage(address) {
  const image = new Image();
  image.src = address;
  await image.decode();
  return image;
}

async function rasterised(address, width, height, over) {
  const image = await decodedImage(address);
  const scale = Math.max(1, Math.ceil(800 / width));
  const canvas = h("canvas", { width: width * scale, height: height * scale });
  const context = canvas.getContext("2d");
  context.drawImage(image, 0, 0, canvas.width, canvas.height);
  if (over) {
    context.globalAlpha = Number(over.style.opacity || 1);
    const layer = over.tagName.toLowerCase() === "svg" ? await decodedImage(standalone(over)) : over;
    context.drawImage(layer, 0, 0, canvas.width, canvas.height);
  }
  return canvas.toDataURL("image/png");
}

function takeAlong(node) {
  const drawing = node.tagName.toLowerCase() === "svg" ? node : null;
  const image = drawing ? null : node.querySelector("img");
  if (!drawing && !image && node.classList.contains("waiting")) {
    new MutationObserver((_, self) => { self.disconnect(); takeAlong(node); }).observe(node, { childList: true });
    return;
  }
  if ((!drawing && !image) || node.dataset.taken) return;
  node.dataset.taken = "yes";
  const save = async (kind) => {
    const box = (drawing || image).getBoundingClientRect();
    const source = drawing ? standalone(drawing, getComputedStyle(document.body).backgroundColor) : image.src;
    const heat = drawing || document.body.classList.contains("no-heat") ? null : node.querySelector(".heat");
    download(`qpopt.${kind}`, kind === "svg" ? source : await rasterised(source, box.width, box.height, heat));
  };
  const button = (kind) => h("button", { type: "button", title: `Save as ${kind.toUpperCase()}`, on: { click: (event) => { event.preventDefault(); event.stopPropagation(); save(kind); } } }, kind.toUpperCase());
  const tools = h("span", { class: "take" }, button("png"), drawing ? button("svg") : null);
  if (drawing) drawing.after(tools);
  else node.append(tools);
}
const takeAll = (root) => root.querySelectorAll("svg.histogram, svg.map, .trace svg, svg.bars, .picture").forEach(takeAlong);
