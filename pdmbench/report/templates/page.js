"use strict";
// Charts are drawn already; this only chooses among them, hides series and reads points out.
for (const chart of document.querySelectorAll(".chart")) {
  const series = JSON.parse(chart.querySelector("script").textContent);
  const figure = chart.querySelector("figure");
  const output = chart.querySelector("output");
  const hidden = new Set();
  let cursor = null; // the value on the axis that is read out

  const panel = () => figure.querySelector(".panel:not([hidden])");
  const shown = () => series.filter((one) => !hidden.has(one.class));
  const number = (value) =>
    value >= 1e6 || (value > 0 && value < 1e-3) ? value.toExponential(2) : String(Number(value.toPrecision(4)));

  // Every value on the axis that a visible solver has a point at, in order.
  function stops() {
    const x = panel().dataset.x;
    const values = shown().flatMap((one) => one[x].filter((value) => value > 0));
    return [...new Set(values)].sort((a, b) => a - b);
  }

  function read(value) {
    figure.querySelectorAll(".cursor").forEach((line) => line.remove());
    cursor = value;
    output.textContent = "";
    if (value === null) return;
    const { x } = panel().dataset;
    for (const drawing of panel().children) {
      const { low, high, start, end } = drawing.dataset;
      const px = Number(start) + (Math.log(value / low) / Math.log(high / low)) * (end - start);
      const line = document.createElementNS("http://www.w3.org/2000/svg", "line");
      const [y1, y2] = ["y1", "y2"].map((key) => drawing.querySelector(".grid").getAttribute(key));
      for (const [key, v] of Object.entries({ class: "cursor", x1: px, x2: px, y1, y2 })) line.setAttribute(key, v);
      drawing.append(line);
    }
    add("b", `${number(value)} ${x === "seconds" ? "s" : x}, 10⁴γ between`);
    for (const one of shown()) {
      let k = -1; // the last point at or before the cursor
      while (k + 1 < one[x].length && one[x][k + 1] <= value) k += 1;
      if (k < 0 || !(one[x][k] > 0)) continue;
      const gap = one.bound[k] > 0 ? ` (${number(100 * (1 - one.margin[k] / one.bound[k]))} %)` : "";
      const bound = one.bound[k] === null ? "∞" : number(one.bound[k]);
      add("span", `${one.title} ${number(one.margin[k])} and ${bound}${gap}`);
    }
  }

  function add(kind, text) {
    const element = document.createElement(kind);
    element.textContent = text;
    output.append(element, " ");
  }

  function step(by) {
    const values = stops();
    if (!values.length) return;
    const at = cursor === null ? (by > 0 ? -1 : values.length) : values.indexOf(cursor);
    read(values[Math.max(0, Math.min(values.length - 1, at + by))]);
  }

  figure.addEventListener("pointermove", (event) => {
    const drawing = event.target.closest(".panel > svg");
    const values = stops();
    if (!drawing || !values.length) return;
    const box = drawing.getBoundingClientRect();
    const { low, high, start, end } = drawing.dataset;
    const px = ((event.clientX - box.left) / box.width) * drawing.viewBox.baseVal.width;
    const target = Math.log(low) + ((px - start) / (end - start)) * Math.log(high / low);
    const off = (value) => Math.abs(Math.log(value) - target);
    read(values.reduce((best, value) => (off(value) < off(best) ? value : best)));
  });
  figure.addEventListener("pointerleave", () => read(null));
  figure.addEventListener("keydown", (event) => {
    const moves = { ArrowRight: 1, ArrowLeft: -1, End: Infinity, Home: -Infinity };
    if (event.key in moves) {
      event.preventDefault();
      step(moves[event.key]);
    } else if (event.key === "Escape") {
      read(null);
    }
  });
  chart.addEventListener("change", ({ target }) => {
    if (target.type === "radio") {
      for (const one of figure.children) one.hidden = one.dataset.x !== target.value;
    } else {
      target.checked ? hidden.delete(target.value) : hidden.add(target.value);
      for (const mark of figure.querySelectorAll(`.series.${target.value}`)) {
        mark.classList.toggle("off", !target.checked);
      }
    }
    read(null);
  });
  chart.querySelector(".controls").hidden = false;
}
// On paper nothing can be opened.
addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((one) => (one.open = true)));
