// How a message looks.

import {Calls} from './calls.js';
import {copyButton, el} from './dom.js';
import {shown} from './files.js';
import {render} from './markdown.js';

const number = (n, digits = 0) => n.toLocaleString('en', {maximumFractionDigits: n < 100 ? digits : 0});

// perSecond is a speed; '' if it is not known.
export const perSecond = (n) => (n ? `${number(n, 1)} tokens/s` : '');

// speed says how fast an answer came, from llama-server's timings.
function speed(t) {
  if (!t) return '';
  const prompt = `prompt ${number(t.prompt_n + t.cache_n)}${t.cache_n ? ` (${number(t.cache_n)} cached)` : ''}`;
  return [`${number(t.predicted_n)} tokens`, perSecond(t.predicted_per_second), `${prompt}${t.prompt_per_second ? ` at ${perSecond(t.prompt_per_second)}` : ''}`]
    .filter(Boolean).join(' · ');
}

// branches are the buttons that lead to other branches.
const branches = (b) => (b ? [
  el('button', {type: 'button', text: '‹', 'aria-label': 'Branch before', disabled: b.active === 0, onclick: () => b.choose(b.active - 1)}),
  el('span', {class: 'branch', text: `${b.active + 1} / ${b.count}`}),
  el('button', {type: 'button', text: '›', 'aria-label': 'Next branch', disabled: b.active === b.count - 1, onclick: () => b.choose(b.active + 1)}),
] : []);

// Message is a message on the screen.
export class Message {
  // actions are buttons below the message: {name: handler}. branch is which of the branches here is
  // shown, and what shows another one: {active, count, choose}; null: there is one.
  constructor(message, actions, branch = null) {
    this.message = message;
    this.text = el('div', {class: 'text'});
    this.thoughts = el('div', {class: 'text'});
    this.summary = el('summary', {text: 'Thoughts'});
    this.thinking = el('details', {class: 'thinking'}, this.summary, this.thoughts);
    this.calls = new Calls();
    this.error = el('p', {class: 'error', role: 'alert'});
    this.stats = el('span', {class: 'stats'});
    this.buttons = el('span', {class: 'buttons'}, copyButton(() => this.message.content || (this.message.calls ?? []).map((c) => `${c.name} ${c.arguments}`).join('\n')),
      ...Object.entries(actions).map(([name, onclick]) => el('button', {type: 'button', text: name, onclick})), ...branches(branch));
    const [kind, who] = {user: ['user', 'You'], tool: ['tool', 'Tool']}[message.role] ?? ['assistant', 'Model'];
    this.node = el('article', {class: `message ${kind}`},
      el('h2', {class: 'offscreen', text: who}), this.thinking, ...shown(message.files), this.text, this.calls.node, this.error, el('div', {class: 'below'}, this.buttons, this.stats));
    this.thinking.addEventListener('toggle', () => this.update());
  }

  // update shows what the message has by now.
  update(running = this.running) {
    this.running = running;
    const m = this.message;
    if (m.role === 'user') this.text.textContent = m.content; // as it was typed
    else if (m.role !== 'tool') render(this.text, m.content);
    this.calls.update(m, running);
    this.thinking.hidden = !m.reasoning;
    this.summary.textContent = running && !m.content ? 'Thinking …' : `Thoughts${m.thoughtFor ? ` · ${(m.thoughtFor / 1000).toFixed(1)} s` : ''}`;
    if (m.reasoning && this.thinking.open) render(this.thoughts, m.reasoning); // folded ones cost nothing
    this.error.textContent = m.error ?? '';
    this.error.hidden = !m.error;
    this.stats.textContent = m.stopped ? 'stopped' : m.cut ? `${speed(m.timings)} · the answer reached its limit` : speed(m.timings);
    this.node.classList.toggle('running', Boolean(running));
    this.node.setAttribute('aria-busy', String(Boolean(running)));
    this.buttons.hidden = Boolean(running);
  }

  // edit puts a field in the place of the text; save gets what was typed, cancel nothing.
  edit(save) {
    const field = el('textarea', {'aria-label': 'Edit the message', rows: Math.min(12, this.message.content.split('\n').length + 1)});
    field.value = this.message.content;
    const close = () => {
      form.replaceWith(this.text);
      this.buttons.hidden = false;
    };
    const form = el('form', {class: 'edit', onsubmit: (e) => {
      e.preventDefault();
      close();
      if (field.value.trim()) save(field.value);
    }}, field, el('div', {class: 'bar'},
      el('button', {type: 'button', text: 'Cancel', onclick: close}), el('button', {type: 'submit', class: 'primary', text: 'Send'})));
    field.addEventListener('keydown', (e) => {
      if (e.key === 'Escape') {
        e.stopPropagation();
        close();
      }
      if (e.key === 'Enter' && !e.shiftKey && !e.isComposing) {
        e.preventDefault();
        form.requestSubmit();
      }
    });
    this.text.replaceWith(form);
    this.buttons.hidden = true;
    field.focus();
  }
}
