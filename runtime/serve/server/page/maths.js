// Maths as models write it, by KaTeX. What KaTeX cannot read stays the text that it is.

import {el} from './dom.js';

let katex; // the library, once it is there
let loading;

// The library comes with the first formula: most answers have none.
const load = () => (loading ??= import('./vendor/katex.js').then(() => { ({katex} = globalThis); }));

// No formula may define macros without end, be larger than the page, or lead anywhere.
const options = {output: 'html', throwOnError: true, trust: false, strict: false, maxSize: 30, maxExpand: 200};

// longest is the longest formula that is set, in characters: the time goes with the length.
const longest = 10000;

// formula is a node with maths; source is what stands there if it is none.
export function formula(tex, source, display) {
  const node = el(display ? 'div' : 'span', {class: 'maths', text: source});
  if (tex.length > longest) return node;
  const set = () => {
    try {
      katex.render(tex, node, {...options, displayMode: display, macros: {}});
      node.setAttribute('role', 'img');
      node.setAttribute('aria-label', tex.trim());
    } catch {
      node.textContent = source;
    }
  };
  if (katex) set();
  else load().then(set, () => {}); // without the library the source has to do
  return node;
}
