// Calls of tools and what they have answered. Both are shown as text, folded. The page runs
// no tool: whoever sits in front of it says what came of a call.

import {el} from './dom.js';

// isObject says whether a text is a JSON object, as the arguments of a call have to be.
function isObject(text) {
  try {
    const v = JSON.parse(text);
    return typeof v === 'object' && v !== null && !Array.isArray(v);
  } catch {
    return false;
  }
}

// complete are the calls of a message that the model has written to their end.
export const complete = (message) => (message.calls ?? []).filter((c) => isObject(c.arguments));

// isCalls says whether something that was stored is a list of calls.
export const isCalls = (list) => Array.isArray(list) && list.every((c) => c && [c.id, c.name, c.arguments].every((v) => typeof v === 'string'));

// add adds a piece of a stream to a message's calls.
export function add(message, pieces) {
  for (const {index, id, function: f} of pieces) {
    message.calls ??= [];
    while (message.calls.length <= index) message.calls.push({id: '', name: '', arguments: ''});
    const call = message.calls[index];
    call.id += id ?? '';
    call.name += f?.name ?? '';
    call.arguments += f?.arguments ?? '';
  }
}

// asked is a message with calls, or what a call has come to, as the API has them.
export const asked = (message) => ({
  tool_calls: complete(message).length ? complete(message).map((c) => ({id: c.id, type: 'function', function: {name: c.name, arguments: c.arguments}})) : undefined,
  tool_call_id: message.role === 'tool' ? message.id : undefined,
});

// indented is a JSON text with line breaks, if that changes nothing else in it: numbers may
// have more digits than JavaScript keeps.
function indented(text) {
  try {
    const v = JSON.parse(text);
    return JSON.stringify(v) === text.replace(/("(?:\\.|[^"\\])*")|\s+/g, '$1') ? JSON.stringify(v, null, 2) : text;
  } catch {
    return text;
  }
}

// folded is a part of a message that can be opened: what it is, its name, its text.
class Folded {
  constructor(what) {
    this.what = el('span', {text: what});
    this.name = el('code');
    this.preview = el('span', {class: 'preview'});
    this.body = el('pre', {tabindex: 0});
    this.node = el('details', {class: 'call'}, el('summary', {}, this.what, ' ', this.name, ' ', this.preview), this.body);
  }

  update(name, text, note = '') {
    this.name.textContent = name;
    this.preview.textContent = note || text.slice(0, 200);
    this.body.textContent = indented(text);
  }
}

// Calls are those of a message on the screen.
export class Calls {
  constructor() {
    this.node = el('div', {class: 'calls'});
    this.shown = [];
  }

  // update shows the calls that the message has by now, or what one has come to.
  update(message, running) {
    const list = message.role === 'tool' ? [{name: message.name ?? '', arguments: message.content}] : message.calls ?? [];
    this.node.hidden = !list.length;
    list.forEach((c, i) => {
      if (!this.shown[i]) {
        this.shown[i] = new Folded(message.role === 'tool' ? 'Result of' : 'Call of');
        this.node.append(this.shown[i].node);
      }
      const broken = message.role !== 'tool' && !running && !isObject(c.arguments);
      this.shown[i].update(c.name, c.arguments, broken ? 'was not written to its end' : '');
    });
  }
}

// resultsForm asks for the results of calls; send gets their texts.
export function resultsForm(calls, send) {
  const fields = calls.map((c) => el('textarea', {rows: 2, 'aria-label': `Result of ${c.name}`, placeholder: 'What the tool has answered'}));
  return el('form', {class: 'results edit', onsubmit: (e) => {
    e.preventDefault();
    send(fields.map((f) => f.value));
  }}, ...calls.flatMap((c, i) => [el('label', {}, 'Result of ', el('code', {text: c.name})), fields[i]]),
  el('div', {class: 'bar'}, el('button', {type: 'submit', class: 'primary', text: calls.length > 1 ? 'Send the results' : 'Send the result'})));
}
