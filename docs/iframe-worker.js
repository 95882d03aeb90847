// The search runs in a worker, and a page that is opened from a file may not start one. A hidden
// frame does as well: it is a window of its own, in which the same script answers the same messages.
if (location.protocol === "file:") {
  const load = (inside, url) => new Promise((done, failed) => {
    const script = inside.document.createElement("script");
    script.addEventListener("load", done);
    script.addEventListener("error", failed);
    script.src = url;
    inside.document.head.append(script);
  });
  window.Worker = window.IFrameWorker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      const inside = frame.contentWindow;
      inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      inside.importScripts = async (...urls) => { for (const each of urls) await load(inside, each); };
      this.inside = load(inside, new URL(url, document.baseURI)).then(() => inside);
    }
    postMessage(data) {
      this.inside.then((inside) => inside.dispatchEvent(new inside.MessageEvent("message", { data })));
    }
    terminate() {
      this.inside.then((inside) => inside.frameElement.remove());
    }
  };
}
