// Settings: how answers are asked for.

import {byId, el} from './dom.js';
import {saveSettings, settings} from './store.js';

// fields are those of a request that can be set. at puts a value into the request.
const number = (name, label, attributes, hint) => ({name, label, hint, attributes: {type: 'number', ...attributes}, at: (q, v) => { q[name] = Number(v); }});
const fields = [
  {name: 'system', label: 'System prompt', tag: 'textarea', attributes: {rows: 3}, at: (q, v) => q.messages.unshift({role: 'system', content: v})},
  number('temperature', 'Temperature', {min: 0, max: 2, step: 0.05}, '0: always the likeliest token'),
  number('top_p', 'Top p', {min: 0, max: 1, step: 0.01}),
  number('top_k', 'Top k', {min: 0, step: 1}),
  number('min_p', 'Min p', {min: 0, max: 1, step: 0.01}),
  number('repeat_penalty', 'Repeat penalty', {min: 0.01, max: 100, step: 0.01}),
  number('max_tokens', 'Longest answer', {min: 1, step: 1}, 'tokens'),
  number('seed', 'Seed', {min: 0, step: 1}, 'the same seed and text: the same answer'),
  {name: 'thinking', label: 'Thinking', tag: 'select', options: {'': 'as the model has it', on: 'on', off: 'off'},
    at: (q, v) => { q.chat_template_kwargs = {enable_thinking: v === 'on'}; }},
  number('reasoning_budget', 'Thinking budget', {min: 0, step: 1}, 'tokens, then the answer begins'),
  {name: 'tools', label: 'Tools', tag: 'textarea', attributes: {rows: 4, spellcheck: 'false', placeholder: '[{"name": "weather", "description": "…", "parameters": {"type": "object", "properties": {}}}]'},
    hint: 'functions that the model may call, as JSON; you say what came of a call', wrong: (v) => (toolList(v) ? '' : 'A list of functions with names, as JSON'),
    at: (q, v) => { q.tools = toolList(v); }},
];

// toolList is a list of tools as the API has them, from JSON that may have the functions
// alone; undefined: it is no such list.
function toolList(text) {
  try {
    const list = JSON.parse(text);
    if (!Array.isArray(list) || !list.every((t) => typeof (t?.function?.name ?? t?.name) === 'string')) return undefined;
    return list.map((t) => (t.function ? t : {type: 'function', function: t}));
  } catch {
    return undefined;
  }
}

// request adds the settings to a request.
export function request(q) {
  const values = settings();
  for (const f of fields) if (values[f.name]) f.at(q, values[f.name]);
  return q;
}

// show fills the dialog.
export function show(defaults) {
  const values = settings();
  byId('fields').replaceChildren(...fields.map((f) => {
    const id = `setting-${f.name}`;
    const input = el(f.tag ?? 'input', {id, ...f.attributes});
    for (const [value, text] of Object.entries(f.options ?? {})) input.append(el('option', {value, text}));
    input.value = values[f.name] ?? '';
    input.addEventListener('change', () => {
      input.setCustomValidity(input.value ? f.wrong?.(input.value) ?? '' : '');
      if (!input.checkValidity()) return input.reportValidity();
      saveSettings({...settings(), [f.name]: input.value});
    });
    return el('label', {class: f.tag === 'textarea' ? 'wide' : undefined}, el('span', {text: f.label}), input, el('small', {text: f.hint ?? ''}));
  }));
  showDefaults(defaults);
  byId('settings').showModal();
}

// showDefaults has the server's own values as placeholders; they may come when the dialog is open.
export function showDefaults(defaults) {
  for (const f of fields) {
    const input = byId(`setting-${f.name}`);
    if (input && defaults?.[f.name] !== undefined) input.placeholder = String(Math.round(defaults[f.name] * 1e4) / 1e4);
  }
}

const themes = {'': 'System', light: 'Light', dark: 'Dark'};

// theme applies the theme, after a step to the next one if asked to.
export function theme(next) {
  const names = Object.keys(themes);
  let {theme: now = ''} = settings();
  if (!(now in themes)) now = '';
  if (next) {
    now = names[(names.indexOf(now) + 1) % names.length];
    saveSettings({...settings(), theme: now});
  }
  document.documentElement.dataset.theme = now;
  byId('theme').textContent = `◐ ${themes[now]}`;
}
