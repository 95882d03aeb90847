// A picture or a text of one's own: what the model sees in it.
DATA.own = [];

function ownView() {
  const result = h("div"), status = h("p", { class: "note", role: "status" });
  const input = h("input", { type: "file", accept: "image/*", id: "own-file" });
  const zone = h("label", { class: "zone", for: "own-file" }, h("b", null, "Choose a picture"), " or drop one here", input);
  const take = async (path, body) => {
    if (!body) return;
    status.textContent = "Looking at it …";
    try {
      const told = await reply(await fetch(path, { method: "POST", body }));
      const sample = told.samples[0];
      if (sample.image !== undefined) sample.image = told.images[sample.image];
      const place = DATA.own.push({ ...told.entry, sample: DATA.samples.push(sample) - 1 }) - 1;
      status.textContent = "";
      result.replaceChildren(h("h3", null, `It is taken for ${className(sample.pred)}`),
        ...decisionView("own", place).slice(3).flat(Infinity).filter((node) => node instanceof Node));
      takeAll(result);
    } catch (error) {
      status.textContent = error.message;
    }
  };
  input.addEventListener("change", () => take("picture", input.files[0]));
  for (const name of ["dragover", "dragleave", "drop"]) {
    zone.addEventListener(name, (event) => {
      event.preventDefault();
      zone.classList.toggle("over", name === "dragover");
      if (name === "drop") take("picture", event.dataTransfer.files[0]);
    });
  }
  if (STUDIO.texts) {
    const words = h("textarea", { id: "own-text", rows: 5 });
    const decide = press("Decide", () => take("text", words.value.trim() ? JSON.stringify(words.value) : ""), "primary");
    return [h("h2", { tabindex: -1 }, "Own text"), h("p", { class: "lede" }, "See how the model that was opened decides on a text, and what would have to change."),
      h("label", { class: "text-field" }, "A text", words), h("div", { class: "row actions" }, decide), status, result];
  }
  return [h("h2", { tabindex: -1 }, "Own picture"), h("p", { class: "lede" }, "See how the model that was opened decides on a picture, and what would have to change."), zone, status, result];
}
extraViews.own = ownView;
