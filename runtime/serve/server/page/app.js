// The page: which conversation is shown, and what its buttons and keys do.

import {APIError, events, get, setKey} from './api.js';
import * as branches from './branches.js';
import * as calls from './calls.js';
import {byId, el} from './dom.js';
import {Attached, read, withFiles} from './files.js';
import * as list from './list.js';
import * as settings from './settings.js';
import * as store from './store.js';
import {Message, perSecond} from './view.js';

const log = byId('log'), input = byId('input'), notice = byId('notice');
const attached = new Attached(byId('attached'));
let chat = store.current() ?? store.newChat();
let views = [];
let running = null; // the answer under way: {controller, view, chat}
let props = null; // of the server

const wait = (ms) => new Promise((done) => { setTimeout(done, ms); });

function say(text) {
  notice.textContent = text;
  notice.hidden = !text;
}

// —— the server ——

// connect waits until the server is there, and learns what it serves.
async function connect() {
  for (;; await wait(1000)) {
    try {
      await get('health');
      const {data} = await get('v1/models');
      showModels(data.map((m) => m.id));
      const chosen = data.find((m) => m.id === byId('model').value);
      if (chosen?.meta?.loaded !== false) await showProps();
      return say('');
    } catch (e) {
      if (e.status === 401) await askKey();
      else say(e.message);
    }
  }
}

function showModels(names) {
  const select = byId('model'), {model} = store.settings();
  select.replaceChildren(...names.map((n) => el('option', {value: n, text: n})));
  if (names.includes(model)) select.value = model;
  select.hidden = names.length < 2;
  byId('model-name').textContent = names.length < 2 ? names[0] ?? '' : '';
}

// showProps learns about the model. Of several ones, asking loads it, so that has to wait
// until an answer has.
async function showProps() {
  props = await get(`props?model=${encodeURIComponent(byId('model').value)}`);
  showContext();
  settings.showDefaults(defaults());
}

// defaults are the server's own values of settings, where they are known.
const defaults = () => props?.default_generation_settings?.params;

// askKey resolves when a key was entered.
function askKey() {
  const dialog = byId('key');
  byId('key-input').value = '';
  dialog.showModal();
  return new Promise((done) => {
    dialog.addEventListener('close', () => {
      setKey(byId('key-input').value.trim(), byId('key-keep').checked);
      done();
    }, {once: true});
  });
}

// —— what is shown ——

function showChat() {
  store.setCurrent(chat.id);
  showNames();
  views = chat.messages.map(view);
  log.replaceChildren(...views.map((v) => v.node));
  if (!views.length) log.append(el('p', {class: 'empty', text: 'What do you want to know?'}));
  showRunning();
  showContext();
  showList();
  log.scrollTop = log.scrollHeight;
}

function showNames() {
  byId('title').textContent = chat.title || 'New conversation';
  document.title = chat.title || 'Chat';
}

function view(message) {
  const index = chat.messages.indexOf(message);
  const actions = {user: {Edit: () => edit(index)}, tool: {}}[message.role] ?? {Regenerate: () => regenerate(index)};
  if (running?.message === message) return running.view;
  const branch = branches.at(chat, index);
  const v = new Message(message, actions, branch && {...branch, choose: (which) => choose(index, which)});
  v.update(false);
  return v;
}

const showList = () => list.show(chat.id, {open, remove: removeChat, rename});

function showContext() {
  const size = props?.default_generation_settings?.n_ctx ?? 0;
  const last = chat.messages.findLast((m) => m.usage);
  const used = last?.usage.total_tokens ?? 0;
  byId('context').value = size ? used / size : 0;
  byId('context-text').textContent = size ? `${used.toLocaleString('en')} of ${size.toLocaleString('en')} tokens` : '';
  byId('speed').textContent = perSecond(last?.timings?.predicted_per_second);
}

function showRunning() {
  const here = running?.chat === chat;
  byId('send').hidden = here;
  byId('stop').hidden = !here;
  log.querySelector('.results')?.remove();
  const last = chat.messages.at(-1);
  const open = here || !last ? [] : calls.complete(last);
  if (open.length) follow(() => log.append(calls.resultsForm(open, (texts) => results(open, texts))));
}

const atEnd = () => log.scrollHeight - log.scrollTop - log.clientHeight < 48;

function follow(change) {
  const stay = atEnd();
  change();
  if (stay) log.scrollTop = log.scrollHeight;
  byId('to-end').hidden = atEnd();
}

// —— conversations ——

function open(id) {
  menu(false);
  chat = running?.chat.id === id ? running.chat : store.load(id) ?? store.newChat();
  showChat();
  input.focus();
}

function save(c) {
  c.updated = Date.now();
  if (!store.save(c)) say('The browser has no room left for conversations: delete old ones.');
  showList();
}

function removeChat(id) {
  if (!confirm('Delete this conversation?')) return;
  if (running?.chat.id === id) running.controller.abort();
  store.remove(id);
  if (id === chat.id) open('');
  else showList();
}

function rename(id, title) {
  const c = id === chat.id ? chat : running?.chat.id === id ? running.chat : store.load(id);
  if (!c) return;
  c.title = title;
  if (!store.save(c)) say('The browser has no room left for conversations: delete old ones.');
  showNames();
  showList();
}

// choose shows another branch of the conversation.
function choose(index, which) {
  if (running?.chat === chat) return;
  branches.choose(chat, index, which);
  save(chat);
  const top = log.scrollTop;
  showChat();
  log.scrollTop = top;
}

async function importFiles(files) {
  for (const f of files) say(await list.importFile(f));
  showList();
}

// —— answers ——

async function send(text, files) {
  if (running || !text.trim() && !files?.length) return;
  if (!chat.title) chat.title = (text.trim() || files[0].name).replace(/\s+/g, ' ').slice(0, 60);
  chat.messages.push({role: 'user', content: text, files: files?.length ? files : undefined});
  await answer();
}

// edit asks again from a message on. What was said before stays as a branch.
const edit = (index) => views[index].edit((text) => {
  if (running) return;
  const {content, files} = chat.messages[index];
  if (!index && chat.title === content.trim().replace(/\s+/g, ' ').slice(0, 60)) chat.title = '';
  branches.begin(chat, index);
  send(text, files);
});

function regenerate(index) {
  if (running) return;
  branches.begin(chat, index);
  answer();
}

// results answers calls of the model.
function results(open, texts) {
  if (running) return;
  chat.messages.push(...open.map((c, i) => ({role: 'tool', id: c.id, name: c.name, content: texts[i]})));
  answer();
}

// asked are the messages as the API has them.
const asked = (messages) => messages.filter((m) => m.role === 'user' || m.role === 'tool' || m.content ||  m.reasoning || calls.complete(m).length)
  .map((m) => ({role: m.role, content: withFiles(m), reasoning_content: m.reasoning || undefined, ...calls.asked(m)}));

// answer adds the model's answer to the conversation, as it comes.
async function answer() {
  const body = settings.request({messages: asked(chat.messages), stream: true, stream_options: {include_usage: true}, model: byId('model').value || undefined});
  const message = {role: 'assistant', content: '', reasoning: ''};
  const controller = new AbortController();
  chat.messages.push(message);
  const index = chat.messages.length - 1;
  const branch = branches.at(chat, index);
  running = {controller, chat, message, view: new Message(message, {Regenerate: () => regenerate(index)}, branch && {...branch, choose: (which) => choose(index, which)})};
  const {chat: mine, view: v} = running;
  v.update(true);
  showChat();
  save(mine);
  const begin = performance.now();
  let drawn = true;
  const draw = () => {
    drawn = true;
    if (running?.view === v) follow(() => v.update(true));
  };
  try {
    for await (const piece of events('v1/chat/completions', body, controller.signal)) {
      add(message, piece, begin);
      if (drawn) {
        drawn = false;
        requestAnimationFrame(draw);
      }
    }
  } catch (e) {
    fail(message, e);
  }
  running = null;
  follow(() => v.update(false));
  if (store.load(mine.id)) save(mine); // unless it was deleted
  if (mine === chat) showContext();
  if (!props && !message.error) showProps().catch((e) => say(e.message));
  showRunning();
}

// add adds a piece of the stream to a message.
function add(message, piece, begin) {
  if (piece.usage) [message.usage, message.timings] = [piece.usage, piece.timings];
  const [choice] = piece.choices ?? [];
  if (!choice) return;
  const {content, reasoning_content: reasoning, tool_calls: pieces} = choice.delta ?? {};
  if (content && message.reasoning && !message.content) message.thoughtFor = performance.now() - begin;
  message.content += content ?? '';
  message.reasoning += reasoning ?? '';
  calls.add(message, pieces ?? []);
  message.cut = choice.finish_reason === 'length' || undefined;
}

function fail(message, e) {
  if (e.name === 'AbortError') message.stopped = true;
  else message.error = e instanceof APIError && e.retryAfter ? `${e.message} (in ${e.retryAfter} s)` : e.message;
  if (e.status === 401 || e.status === 503) connect();
}

// —— buttons and keys ——

function fit() {
  input.rows = Math.min(10, input.value.split('\n').length);
}

function submit() {
  const text = input.value.replace(/^\s*\n|\s+$/g, '');
  if (running || !text && !attached.files.length) return;
  input.value = '';
  fit();
  send(text, attached.take());
}

async function attach(files) {
  const problems = [];
  attached.add(await read(files, (p) => problems.push(p)));
  if (problems.length) say(problems.join(' '));
}

// picks has a button open the choice of files, and passes on what was chosen.
function picks(button, field, chosen) {
  byId(button).addEventListener('click', () => byId(field).click());
  byId(field).addEventListener('change', async () => {
    await chosen([...byId(field).files]);
    byId(field).value = ''; // the same file may be chosen again
  });
}

picks('attach', 'files', attach);
picks('import', 'import-files', importFiles);
for (const kind of ['dragover', 'drop']) {
  addEventListener(kind, (e) => {
    if (!e.dataTransfer?.types.includes('Files')) return;
    e.preventDefault();
    if (kind === 'drop') attach([...e.dataTransfer.files]);
  });
}
input.addEventListener('paste', (e) => {
  const files = [...e.clipboardData.files];
  if (!files.length) return;
  e.preventDefault();
  attach(files);
});
list.onSearch(showList);

function menu(open) {
  document.body.classList.toggle('menu', open);
  byId('menu').setAttribute('aria-expanded', String(open));
}

const stop = () => { if (running?.chat === chat) running.controller.abort(); };

const keys = [
  {when: (e) => e.key === 'Escape' && !document.querySelector('dialog[open]'), run: () => (document.body.classList.contains('menu') ? menu(false) : stop())},
  {when: (e) => e.altKey && e.code === 'KeyN', run: () => open('')},
  {when: (e) => e.altKey && e.code === 'KeyS', run: () => byId('open-settings').click()},
  {when: (e) => e.key === '/' && !e.target.closest('input, textarea, select, dialog'), run: () => input.focus()},
  {when: (e) => e.key === 'ArrowUp' && e.target === input && !input.value.trim() && !running, run: () => {
    const last = chat.messages.findLastIndex((m) => m.role === 'user');
    if (last >= 0) edit(last);
  }},
];

addEventListener('keydown', (e) => {
  const key = keys.find((k) => k.when(e));
  if (!key) return;
  if (e.key !== 'Escape') e.preventDefault();
  key.run();
});
input.addEventListener('keydown', (e) => {
  if (e.key !== 'Enter' || e.shiftKey || e.isComposing) return;
  e.preventDefault();
  submit();
});
input.addEventListener('input', fit);
log.addEventListener('scroll', () => { byId('to-end').hidden = atEnd(); }, {passive: true});

const clicks = {
  new: () => open(''), stop, export: list.exportAll, theme: () => settings.theme(true),
  menu: () => menu(!document.body.classList.contains('menu')), shade: () => menu(false),
  'open-settings': () => settings.show(defaults()),
  'change-key': () => askKey().then(connect),
  'to-end': () => { log.scrollTop = log.scrollHeight; },
  'delete-all': () => {
    if (!confirm('Delete all conversations?')) return;
    running?.controller.abort();
    for (const c of store.chats()) store.remove(c.id);
    open('');
  },
};
for (const [id, run] of Object.entries(clicks)) byId(id).addEventListener('click', run);
byId('composer').addEventListener('submit', (e) => {
  e.preventDefault();
  submit();
});
byId('model').addEventListener('change', () => {
  store.saveSettings({...store.settings(), model: byId('model').value});
  props = null;
  showContext();
});
store.watch(() => {
  settings.theme();
  showList();
});

settings.theme();
showChat();
connect();
