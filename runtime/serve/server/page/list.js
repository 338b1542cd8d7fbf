// The list of conversations: search, names, import and export.

import {texts} from './branches.js';
import {byId, el} from './dom.js';
import * as store from './store.js';

const search = byId('search');

// found says whether a conversation has the text that is searched for.
function found(chat) {
  const wanted = search.value.trim().toLowerCase();
  if (!wanted || chat.title.toLowerCase().includes(wanted)) return true;
  for (const text of texts(chat)) if (text.toLowerCase().includes(wanted)) return true;
  return false;
}

// show lists the conversations; on has what happens to one: open, remove and rename.
export function show(current, on) {
  const all = store.chats().filter(found);
  byId('conversations').replaceChildren(...all.map((c) => {
    const button = el('button', {class: 'open', text: c.title || 'Untitled', title: c.title, 'aria-current': c.id === current ? 'page' : undefined, onclick: () => on.open(c.id)});
    const row = el('li', {class: c.id === current ? 'current' : undefined}, button,
      el('button', {class: 'icon rename', text: '✎', title: 'Rename', 'aria-label': `Rename ${c.title}`, onclick: () => rename(row, c, on)}),
      el('button', {class: 'icon delete', text: '✕', title: 'Delete', 'aria-label': `Delete ${c.title}`, onclick: () => on.remove(c.id)}));
    return row;
  }));
  if (!all.length && search.value) byId('conversations').append(el('li', {class: 'hint', text: 'No conversation has this text.'}));
}

// rename puts a field in the place of a title.
function rename(row, chat, on) {
  const field = el('input', {'aria-label': 'Name of the conversation', maxlength: 200});
  field.value = chat.title;
  const end = (title) => {
    if (ended) return;
    ended = true; // leaving the field ends it once more
    on.rename(chat.id, title.trim() || chat.title);
  };
  let ended = false;
  field.addEventListener('keydown', (e) => {
    if (e.isComposing || e.key !== 'Enter' && e.key !== 'Escape') return;
    e.stopPropagation();
    end(e.key === 'Enter' ? field.value : chat.title);
  });
  field.addEventListener('blur', () => end(field.value));
  row.replaceChildren(field);
  field.select();
}

export const onSearch = (changed) => search.addEventListener('input', changed);

// exportAll saves all conversations as a file.
export function exportAll() {
  const url = URL.createObjectURL(new Blob([JSON.stringify(store.chats(), null, 1)], {type: 'application/json'}));
  el('a', {href: url, download: 'conversations.json'}).click();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}

// importFile adds the conversations of an exported file. One that is there already is left alone.
// It returns a sentence on what was done.
export async function importFile(file) {
  let list;
  try {
    list = JSON.parse(await file.text());
  } catch {
    return `${file.name} is no file of conversations: it is not JSON.`;
  }
  const all = Array.isArray(list) ? list : [list];
  const good = all.filter(store.isChat);
  if (!good.length) return `${file.name} has no conversations.`;
  const fresh = good.filter((c) => JSON.stringify(store.load(c.id)) !== JSON.stringify(c));
  for (const c of fresh) {
    const own = store.load(c.id) ? {...c, id: store.newChat().id} : c;
    if (!store.save(own)) return 'The browser has no room left for conversations: delete old ones.';
  }
  const left = all.length - good.length;
  return `${fresh.length} of ${all.length} conversations imported${left ? `; ${left} could not be read` : ''}.`;
}
