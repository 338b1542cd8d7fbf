// Conversations and settings in the browser's storage: a conversation is an entry of its
// own, so that two tabs can write different ones.

import {isForks} from './branches.js';
import {isCalls} from './calls.js';
import {isFiles} from './files.js';

const prefix = 'mla.chat.';
const settingsName = 'mla.settings';

function read(name) {
  try {
    return JSON.parse(localStorage.getItem(name));
  } catch {
    return null; // not ours, or damaged
  }
}

const isMessage = (m) => m && typeof m.role === 'string' && typeof m.content === 'string' && (m.calls === undefined || isCalls(m.calls)) && (m.files === undefined || isFiles(m.files));
export const isChat = (c) => c && typeof c.id === 'string' && typeof (c.title ?? '') === 'string' && Array.isArray(c.messages) && c.messages.every(isMessage) &&
  (c.forks === undefined || isForks(c.forks, isMessage));

// chats are all conversations, the last one used in front.
export function chats() {
  const list = [];
  for (let i = 0; i < localStorage.length; i++) {
    const name = localStorage.key(i);
    const c = name.startsWith(prefix) ? read(name) : null;
    if (isChat(c)) list.push({...c, title: c.title ?? ''});
  }
  return list.sort((a, b) => (b.updated ?? 0) - (a.updated ?? 0));
}

export function load(id) {
  const c = read(prefix + id);
  return isChat(c) ? c : null;
}

// newChat is an empty conversation, which is stored with its first message.
export function newChat() {
  const random = crypto.getRandomValues(new Uint32Array(3));
  return {id: Array.from(random, (n) => n.toString(36)).join(''), title: '', updated: Date.now(), messages: []};
}

// save stores a conversation; false: the browser has no room left.
export function save(chat) {
  try {
    localStorage.setItem(prefix + chat.id, JSON.stringify(chat));
    return true;
  } catch {
    return false;
  }
}

// current is the conversation of this tab, which loading the page again shows.
const currentName = 'mla.current';
export const current = () => load(sessionStorage.getItem(currentName));
export const setCurrent = (id) => sessionStorage.setItem(currentName, id);

export const remove = (id) => localStorage.removeItem(prefix + id);

export const settings = () => ({...read(settingsName)});

export function saveSettings(values) {
  try {
    localStorage.setItem(settingsName, JSON.stringify(values));
  } catch { /* they hold until the page is left */ }
}

// watch calls back when another tab has changed something.
export const watch = (changed) => addEventListener('storage', changed);
