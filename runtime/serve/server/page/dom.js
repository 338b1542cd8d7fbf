// Building elements. Texts become text nodes, never markup.

// el makes an element with properties (class, text, on… handlers, or attributes) and children.
export function el(tag, properties = {}, ...children) {
  const e = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === false) continue;
    if (name === 'text') e.textContent = value;
    else if (name.startsWith('on')) e.addEventListener(name.slice(2), value);
    else e.setAttribute(name, value === true ? '' : value);
  }
  e.append(...children);
  return e;
}

export const byId = (id) => document.getElementById(id);

// copy puts a text on the clipboard; over plain HTTP browsers have only the old way.
export async function copy(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const area = el('textarea', {class: 'offscreen', 'aria-hidden': 'true'});
  area.value = text;
  document.body.append(area);
  area.select();
  const done = document.execCommand('copy');
  area.remove();
  if (!done) throw new Error('the browser does not allow it');
}

// copyButton copies what text() returns, and says so for a moment.
export function copyButton(text) {
  const button = el('button', {type: 'button', text: 'Copy', onclick: async () => {
    try {
      await copy(text());
      button.textContent = 'Copied';
    } catch {
      button.textContent = 'Not copied';
    }
    setTimeout(() => { button.textContent = 'Copy'; }, 1500);
  }});
  return button;
}
