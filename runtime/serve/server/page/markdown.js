// Markdown as models write it, to DOM nodes. Nothing here parses HTML and no text is ever
// assigned to anything but text nodes, so what a model writes cannot run: tags stay text,
// links lead to http, https and mail only, and pictures are links, as loading one would
// tell its server that and what the model has written.

import {copyButton, el} from './dom.js';
import {colour} from './highlight.js';
import {inline} from './inline.js';
import {formula} from './maths.js';

const maxDepth = 12; // of quotes and lists within each other; deeper ones are text

// render shows a text in an element. Blocks that have not changed stay as they are, so a
// growing text costs its last block, and a selection in it survives.
export function render(root, text) {
  const blocks = split(text.replaceAll('\r', '').split('\n'), 0);
  blocks.forEach((b, i) => {
    const there = root.childNodes[i];
    if (there && there.source === b.source) return;
    const node = b.build();
    node.source = b.source;
    if (there) there.replaceWith(node);
    else root.append(node);
  });
  while (root.childNodes.length > blocks.length) root.lastChild.remove();
}

const fence = /^ {0,3}(`{3,}|~{3,}) *([^`]*)$/;
const heading = /^ {0,3}(#{1,6})(?: +(.*))?$/;
const rule = /^ {0,3}(?:(?:- *){3,}|(?:\* *){3,}|(?:_ *){3,})$/;
const quote = /^ {0,3}> ?/;
const item = /^( *)([-*+]|\d{1,9}[.)])(?: +|$)/;
const dashes = /^ *\|?(?: *:?-+:? *\|)+(?: *:?-+:? *)?$/;

const blank = (line) => line.trim() === '';
const isTable = (lines, i) => lines[i].includes('|') && i + 1 < lines.length && dashes.test(lines[i + 1]);

// starts says whether a line ends the paragraph before it.
const starts = (lines, i) => blank(lines[i]) || fence.test(lines[i]) || heading.test(lines[i]) || rule.test(lines[i]) ||
  quote.test(lines[i]) || item.test(lines[i]) || isTable(lines, i) || opens.test(lines[i]) && displayed.end(lines, i) > i;

// split makes blocks of lines: each has its source, and builds its node.
function split(lines, depth) {
  const blocks = [];
  for (let i = 0; i < lines.length;) {
    if (blank(lines[i])) {
      i++;
      continue;
    }
    const kind = kinds.find((k) => k.begins(lines, i, depth)) ?? paragraph;
    const end = kind.end(lines, i);
    const part = lines.slice(i, end);
    blocks.push({source: part.join('\n'), build: () => kind.build(part, depth)});
    i = end;
  }
  return blocks;
}

// nested makes nodes of lines within a block.
const nested = (lines, depth) => split(lines, depth + 1).map((b) => b.build());

const paragraph = {
  end(lines, i) {
    for (i++; i < lines.length && !starts(lines, i); i++);
    return i;
  },
  build: (lines) => el('p', {}, inline(lines.map((l) => l.trimStart()).join('\n'))),
};

const code = {
  begins: (lines, i) => fence.test(lines[i]),
  end(lines, i) {
    const mark = fence.exec(lines[i])[1];
    for (i++; i < lines.length; i++) {
      const line = lines[i].trim();
      if (line.length >= mark.length && line === mark[0].repeat(line.length)) return i + 1;
    }
    return i;
  },
  build(lines) {
    const [, mark, language] = fence.exec(lines[0]);
    const last = lines[lines.length - 1].trim();
    const closed = lines.length > 1 && last.length >= mark.length && last === mark[0].repeat(last.length);
    const body = el('code', {text: lines.slice(1, closed ? -1 : undefined).join('\n')});
    if (closed && language.trim() === 'math') return formula(body.textContent, lines.join('\n'), true);
    if (closed) colour(body, language.trim().split(/\s/)[0].toLowerCase());
    return el('div', {class: 'code'},
      el('div', {class: 'bar'}, el('span', {text: language.trim() || 'text'}), copyButton(() => body.textContent)),
      el('pre', {tabindex: 0}, body));
  },
};

const title = {
  begins: (lines, i) => heading.test(lines[i]),
  end: (lines, i) => i + 1,
  build(lines) {
    const [, marks, text] = heading.exec(lines[0]);
    // The page's own title is h1, a speaker's name h2.
    return el(`h${Math.min(6, marks.length + 2)}`, {class: `level${marks.length}`}, inline((text ?? '').replace(/ +#+ *$/, '')));
  },
};

const line = {begins: (lines, i) => rule.test(lines[i]), end: (lines, i) => i + 1, build: () => el('hr')};

const quoted = {
  begins: (lines, i, depth) => quote.test(lines[i]) && depth < maxDepth,
  end(lines, i) {
    for (i++; i < lines.length && (quote.test(lines[i]) || !starts(lines, i)); i++);
    return i;
  },
  build: (lines, depth) => el('blockquote', {}, ...nested(lines.map((l) => l.replace(quote, '')), depth)),
};

const table = {
  begins: isTable,
  end(lines, i) {
    for (i += 2; i < lines.length && !blank(lines[i]) && lines[i].includes('|'); i++);
    return i;
  },
  build(lines) {
    const align = cells(lines[1]).map((c) => (c.endsWith(':') ? (c.startsWith(':') ? 'center' : 'right') : ''));
    const row = (text, tag) => {
      const list = cells(text);
      return el('tr', {}, ...align.map((a, i) => el(tag, {class: a || undefined}, inline(list[i] ?? ''))));
    };
    return el('div', {class: 'table', tabindex: 0}, el('table', {},
      el('thead', {}, row(lines[0], 'th')), el('tbody', {}, ...lines.slice(2).map((l) => row(l, 'td')))));
  },
};

// cells are those of a table's row; a bar in code or after a backslash is none.
function cells(text) {
  const list = [];
  let cell = '', ticks = false;
  const inner = text.trim().replace(/^\|/, '').replace(/(?<!\\)\|$/, '');
  for (let i = 0; i < inner.length; i++) {
    const c = inner[i];
    if (c === '`') ticks = !ticks;
    if (c === '\\' && inner[i + 1] === '|') {
      cell += '|';
      i++;
    } else if (c === '|' && !(ticks && inner.includes('`', i))) {
      list.push(cell.trim());
      cell = '';
      ticks = false;
    } else cell += c;
  }
  list.push(cell.trim());
  return list;
}

const indent = (text) => text.length - text.trimStart().length;
const ordered = (mark) => mark.length > 1;

const list = {
  begins: (lines, i, depth) => item.test(lines[i]) && depth < maxDepth,
  end(lines, i) {
    const [, space, mark] = item.exec(lines[i]);
    let gap = false;
    for (i++; i < lines.length; i++) {
      if (blank(lines[i])) {
        gap = true;
        continue;
      }
      const next = item.exec(lines[i]);
      if (next && next[1].length <= space.length + 1 && ordered(next[2]) !== ordered(mark)) break;
      if (!next && indent(lines[i]) <= space.length && (gap || starts(lines, i))) break;
      gap = false;
    }
    while (blank(lines[i - 1])) i--;
    return i;
  },
  build(lines, depth) {
    const [, space, mark] = item.exec(lines[0]);
    const items = [];
    for (const text of lines) {
      const m = item.exec(text);
      if (m && m[1].length <= space.length + 1) items.push({width: m[0].length, lines: [text.slice(m[0].length)]});
      else items[items.length - 1].lines.push(text.slice(Math.min(indent(text), items[items.length - 1].width)));
    }
    const start = ordered(mark) ? parseInt(mark, 10) : 1;
    return el(ordered(mark) ? 'ol' : 'ul', {start: start === 1 ? undefined : start},
      ...items.map((it) => el('li', {}, ...listItem(it.lines, depth))));
  },
};

// listItem has no paragraph around a first line that stands alone, and a box for a task.
function listItem(lines, depth) {
  const task = /^\[([ xX])\] +/.exec(lines[0]);
  if (task) lines = [lines[0].slice(task[0].length), ...lines.slice(1)];
  let nodes = nested(lines, depth);
  if (nodes.length && nodes[0].tagName === 'P' && !lines.some(blank)) nodes = [...nodes[0].childNodes, ...nodes.slice(1)];
  if (task) nodes.unshift(el('input', {type: 'checkbox', disabled: true, checked: task[1] !== ' '}), ' ');
  return nodes;
}

// ends are the marks that end a formula, by those that begin it.
const ends = {'$$': '$$', '\\[': '\\]'};
const opens = /^ {0,3}(\$\$|\\\[)/;

// displayed is a formula of its own, which may have lines that would begin something else.
const displayed = {
  begins: (lines, i) => opens.test(lines[i]) && displayed.end(lines, i) > i,
  end(lines, i) {
    const [whole, mark] = opens.exec(lines[i]);
    let rest = lines[i].slice(whole.length);
    for (; !rest.includes(ends[mark]); rest = lines[i]) if (++i === lines.length || blank(lines[i])) return -1;
    return rest.trimEnd().endsWith(ends[mark]) && rest.indexOf(ends[mark]) === rest.lastIndexOf(ends[mark]) ? i + 1 : -1;
  },
  build(lines) {
    const source = lines.join('\n').trim();
    return formula(source.slice(2, -2), source, true);
  },
};

const kinds = [code, displayed, title, line, quoted, table, list];
