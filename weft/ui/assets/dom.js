"use strict";
/* Elements from data. Text is always text: nothing here, and nothing anywhere in these files, parses markup. */

const SVG = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "css") for (const [key, one] of Object.entries(value)) element.style.setProperty(key, one);
    else if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children.flat(3)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return element;
}

const h = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
const s = (tag, attributes, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);

/* Replace the content of a container, but only where it has become another one: whoever points at it keeps pointing. */
function put(container, said, build) {
  const now = JSON.stringify(said);
  if (container.weftSaid === now) return false;
  container.weftSaid = now;
  container.replaceChildren(...[build()].flat(3).filter(Boolean));
  return true;
}

const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/* A section with a heading, a line below it that says how to read it, and its content. */
function section(title, note, ...content) {
  const id = "h-" + title.toLowerCase().replace(/[^a-z]+/g, "-");
  return h("section", { "aria-labelledby": id },
    h("h2", { id }, title), note ? h("p", { class: "note" }, note) : null, ...content);
}

/* Call with the width of an element now, and whenever it changes. */
function sized(element, draw) {
  let last = 0;
  const watch = new ResizeObserver((entries) => {
    const width = Math.floor(entries[0].contentRect.width);
    if (width > 0 && width !== last) { last = width; draw(width); }
  });
  watch.observe(element);
  return () => watch.disconnect();
}

/* Say something else in an element: texts, elements, lists of both. */
function say(element, ...parts) {
  element.replaceChildren();
  return fill(element, {}, parts);
}
