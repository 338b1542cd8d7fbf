// The text of a paragraph, to DOM nodes: emphasis, code, links, formulas. See markdown.js.

import {el} from './dom.js';
import {formula} from './maths.js';

const maxDepth = 12; // of marks within each other

// inline makes a fragment of the text of a paragraph.
export function inline(text) {
  return new Inline(text).run();
}

const link = /!?\[((?:[^[\]\\]|\\.)*)\]\(\s*<?([^\s<>()]*(?:\([^\s()]*\)[^\s<>()]*)*)>?(?:\s+"[^"]*")?\s*\)/y;
const address = /<?(https?:\/\/[^\s<>"'`]*[^\s<>"'`.,:;!?)\]*_~|])>?/y;
const newline = /(?: {0,8}|\\)\n|<br ?\/?>/y;
const tags = {'*': 'em', _: 'em', '**': 'strong', __: 'strong', '~~': 'del'};
const word = /[\p{L}\p{N}]/u;

// Inline reads a text from left to right. Marks that have been opened wait on a stack,
// with what was written since; one that is never closed becomes text again.
class Inline {
  constructor(text) {
    this.text = text;
    this.at = 0;
    this.plain = '';
    this.stack = [{mark: '', nodes: []}];
    this.unclosed = new Set(); // marks of formulas, and lengths of backtick runs, that are known to have no end
  }

  get top() { return this.stack[this.stack.length - 1]; }

  run() {
    while (this.at < this.text.length) {
      const step = steps[this.text[this.at]];
      if (!step || !step.call(this)) this.plain += this.text[this.at++];
    }
    this.flush();
    while (this.stack.length > 1) this.open();
    const all = document.createDocumentFragment();
    for (const node of this.top.nodes) all.append(node);
    return all;
  }

  flush() {
    if (this.plain) this.top.nodes.push(document.createTextNode(this.plain));
    this.plain = '';
  }

  put(node) {
    this.flush();
    this.top.nodes.push(node);
    return true;
  }

  match(pattern) {
    pattern.lastIndex = this.at;
    const m = pattern.exec(this.text);
    if (m) this.at += m[0].length;
    return m;
  }

  // open makes the last mark text, with what stands after it.
  open() {
    const {mark, nodes} = this.stack.pop();
    this.top.nodes = this.top.nodes.concat(document.createTextNode(mark), nodes);
  }

  escape() {
    const next = this.text[this.at + 1];
    if (next === '(' || next === '[') return this.maths(`\\${next}`, next === '(' ? '\\)' : '\\]');
    if (next === '\n') return this.break();
    if (!next || !'\\`*_{}[]()#+-.!|<>~"\'$'.includes(next)) return false;
    this.plain += next;
    this.at += 2;
    return true;
  }

  // maths is a formula; a mark without an end is text, with its backslash: models write \( for
  // formulas, and hardly ever for brackets.
  maths(mark, end) {
    const begin = this.at + mark.length;
    const stop = this.unclosed.has(mark) ? -1 : this.text.indexOf(end, begin);
    if (stop < 0) {
      this.unclosed.add(mark);
      this.plain += mark;
      this.at = begin;
      return true;
    }
    const source = this.text.slice(this.at, stop + end.length);
    this.at = stop + end.length;
    return this.put(formula(source.slice(mark.length, -end.length), source, mark !== '\\('));
  }

  // dollar is a formula, too, unless the signs stand for money: none begins before a blank, ends
  // after one, or ends before a digit.
  dollar() {
    if (this.text.startsWith('$$', this.at)) return this.maths('$$', '$$');
    if (/\s/.test(this.text[this.at + 1] ?? ' ') || this.unclosed.has('$')) return false;
    let stop = this.at + 1;
    do {
      stop = this.text.indexOf('$', stop + 1);
      if (stop < 0) {
        this.unclosed.add('$');
        return false;
      }
    } while (/[\s\\]/.test(this.text[stop - 1]) || /\d/.test(this.text[stop + 1] ?? ''));
    const source = this.text.slice(this.at, stop + 1);
    this.at = stop + 1;
    return this.put(formula(source.slice(1, -1), source, false));
  }

  break() {
    return this.match(newline) ? this.put(el('br')) : false;
  }

  code() {
    const size = /`+/y;
    size.lastIndex = this.at;
    const n = size.exec(this.text)[0].length;
    for (let from = this.at + n; !this.unclosed.has(n);) {
      const start = this.text.indexOf('`', from);
      if (start < 0) {
        this.unclosed.add(n);
        break;
      }
      size.lastIndex = start;
      const m = size.exec(this.text)[0].length;
      if (m === n) {
        const body = this.text.slice(this.at + n, start).replaceAll('\n', ' ');
        this.at = start + n;
        return this.put(el('code', {text: /^ .*[^ ].* $/.test(body) ? body.slice(1, -1) : body}));
      }
      from = start + m;
    }
    this.plain += '`'.repeat(n);
    this.at += n;
    return true;
  }

  link() {
    const m = this.match(link);
    if (!m) return false;
    const label = m[1].replace(/\\(.)/g, '$1') || m[2];
    return this.put(anchor(m[2], label) ?? document.createTextNode(m[0]));
  }

  address() {
    if (this.text[this.at] === 'h' && word.test(this.text[this.at - 1] ?? '')) return false;
    const m = this.match(address);
    return m ? this.put(anchor(m[1], m[1]) ?? document.createTextNode(m[0])) : false;
  }

  tag() {
    return this.break() || this.address();
  }

  // emphasis closes the mark that was opened last, or opens one.
  emphasis() {
    const c = this.text[this.at];
    const before = this.text[this.at - 1] ?? ' ';
    const double = this.text[this.at + 1] === c;
    if (c === '~' && !double) return false;
    const {mark} = this.top;
    const same = mark && mark[0] === c && (mark.length === 1 || double);
    const opened = double && this.stack.some((f) => f.mark === c + c) ? c + c : c;
    const size = same ? mark.length : double ? 2 : 1;
    const after = this.text[this.at + size] ?? ' ';
    const inside = c === '_' && word.test(before) && word.test(after);
    if (!inside && /\S/.test(before) && this.stack.some((f) => f.mark === (same ? mark : opened))) return this.close(same ? mark : opened);
    if (inside || /\s/.test(after) || this.stack.length > maxDepth) return false;
    this.flush();
    this.stack.push({mark: c.repeat(size), nodes: []});
    this.at += size;
    return true;
  }

  close(mark) {
    this.flush();
    while (this.top.mark !== mark) this.open();
    const {nodes} = this.stack.pop();
    this.at += mark.length;
    const node = el(tags[mark]);
    for (const n of nodes) node.append(n);
    return this.put(node);
  }
}

const p = Inline.prototype;
const steps = {'\\': p.escape, $: p.dollar, '\n': p.break, ' ': p.break, '`': p.code, '!': p.link, '[': p.link, '<': p.tag, h: p.address, '*': p.emphasis, _: p.emphasis, '~': p.emphasis};

const schemes = ['http:', 'https:', 'mailto:'];

// anchor is a link to another site; null if its address is none of one. It says where it
// leads, tells that site nothing, and gives it no hold on the page.
function anchor(target, label) {
  let url;
  try {
    url = new URL(target);
  } catch {
    return null;
  }
  if (!schemes.includes(url.protocol)) return null;
  const shown = /[<]|:\/\//.test(label) ? label : inline(label); // no link within a link
  return el('a', {href: url.href, title: url.href, target: '_blank', rel: 'noopener noreferrer nofollow'}, shown);
}
