// Colours of code, by highlight.js. Its tree of tokens becomes DOM nodes here; the markup that it
// could make as well is never used.

import {el} from './dom.js';

let library; // once it is there
let loading;
const load = () => (loading ??= import('./vendor/highlight.js').then((m) => { library = m.default; }));

// longest is the longest code that gets colours, in characters.
const longest = 50000;

// nodes are those of a tree's children: texts, and tokens of a scope.
const nodes = (tree) => tree.children.map((c) => (typeof c === 'string' ? c : el('span', {class: c.scope ? `hl-${c.scope.split('.')[0].replace(/[^\w-]/g, '')}` : undefined}, ...nodes(c))));

// colour colours the code in an element, if its language is known.
export function colour(body, language) {
  const text = body.textContent;
  if (!language || text.length > longest) return;
  const set = () => {
    if (!library.getLanguage(language)) return;
    const {_emitter: emitter} = library.highlight(text, {language, ignoreIllegals: true});
    const fragment = document.createDocumentFragment();
    fragment.append(...nodes(emitter.root));
    if (fragment.textContent === text) body.replaceChildren(fragment); // no colour may change code
  };
  if (library) set();
  else load().then(set, () => {});
}
