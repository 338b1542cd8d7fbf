// Text files that go with a message. The model gets them in front of it, each after its name.

import {el} from './dom.js';

export const largest = 512 << 10; // bytes of a file

// isFiles says whether something that was stored is a list of files.
export const isFiles = (list) => Array.isArray(list) && list.every((f) => f && typeof f.name === 'string' && typeof f.text === 'string');

// read reads files that somebody has chosen; problem is told what is no text.
export async function read(list, problem) {
  const files = [];
  for (const f of list) {
    if (f.size > largest) {
      problem(`${f.name} is larger than ${largest >> 10} KiB.`);
      continue;
    }
    try {
      files.push({name: f.name, text: new TextDecoder('utf-8', {fatal: true}).decode(await f.arrayBuffer()).replaceAll('\r\n', '\n')});
      if (files.at(-1).text.includes('\0')) throw new TypeError();
    } catch {
      if (files.at(-1)?.name === f.name) files.pop();
      problem(`${f.name} is no text file.`);
    }
  }
  return files;
}

// withFiles is the text of a message as the model gets it.
export function withFiles(message) {
  const blocks = (message.files ?? []).map(({name, text}) => {
    const longest = Math.max(2, ...Array.from(text.matchAll(/`+/g), (m) => m[0].length));
    const fence = '`'.repeat(longest + 1);
    return `${name}\n${fence}\n${text.replace(/\n$/, '')}\n${fence}\n\n`;
  });
  return blocks.join('') + message.content;
}

// shown are the files of a message on the screen, folded.
export const shown = (files) => (files ?? []).map((f) => el('details', {class: 'call file'},
  el('summary', {}, '📄 ', el('code', {text: f.name}), ' ', el('span', {class: 'preview', text: `${f.text.length.toLocaleString('en')} characters`})),
  el('pre', {tabindex: 0, text: f.text})));

// Attached are the files of the message that is being written.
export class Attached {
  constructor(node) {
    this.node = node;
    this.files = [];
  }

  add(files) {
    this.files.push(...files);
    this.show();
  }

  // take is all of them; none are left.
  take() {
    const {files} = this;
    this.files = [];
    this.show();
    return files;
  }

  show() {
    this.node.hidden = !this.files.length;
    this.node.replaceChildren(...this.files.map((f) => el('span', {class: 'chip'}, f.name, el('button', {type: 'button', class: 'icon', text: '✕', 'aria-label': `Remove ${f.name}`, onclick: () => {
      this.files = this.files.filter((other) => other !== f);
      this.show();
    }}))));
  }
}
