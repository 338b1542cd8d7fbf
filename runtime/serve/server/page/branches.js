// Branches of a conversation. chat.messages is the branch that is shown. chat.forks has, by the
// index of a message, the ways on from there: {active, tails}, where a tail is what follows in
// another branch, {messages, forks}, and that of the active branch is null.

const tailsOf = (chat, index) => chat.forks?.[index];

// cut takes the messages from an index on out of a conversation, with the forks after it.
function cut(chat, index) {
  const tail = {messages: chat.messages.splice(index), forks: {}};
  for (const at of Object.keys(chat.forks ?? {})) {
    if (Number(at) <= index) continue;
    tail.forks[at] = chat.forks[at];
    delete chat.forks[at];
  }
  return tail;
}

// begin begins another branch at a message: what stood there stays as a branch of its own.
export function begin(chat, index) {
  chat.forks ??= {};
  const tail = cut(chat, index);
  const fork = (chat.forks[index] ??= {active: 0, tails: [null]});
  fork.tails[fork.active] = tail;
  fork.active = fork.tails.push(null) - 1;
}

// choose shows another branch at a message.
export function choose(chat, index, which) {
  const fork = tailsOf(chat, index);
  const next = fork?.tails[which];
  if (!next) return;
  fork.tails[fork.active] = cut(chat, index);
  fork.tails[which] = null;
  fork.active = which;
  chat.messages.push(...next.messages);
  Object.assign(chat.forks, next.forks);
}

// at says which branch is shown at a message, of how many; null: there is only one.
export function at(chat, index) {
  const fork = tailsOf(chat, index);
  return fork ? {active: fork.active, count: fork.tails.length} : null;
}

const maxDepth = 50;

// isForks says whether something that was stored are forks.
export const isForks = (forks, isMessage, depth = 0) => depth < maxDepth && Boolean(forks) && typeof forks === 'object' && Object.values(forks).every((f) => f &&
  Number.isInteger(f.active) && Array.isArray(f.tails) && f.active >= 0 && f.active < f.tails.length && f.tails.every((t, i) => (i === f.active ? t === null :
    t && Array.isArray(t.messages) && t.messages.every(isMessage) && isForks(t.forks, isMessage, depth + 1))));

// texts are those of all messages, in every branch.
export function* texts(chat) {
  for (const m of chat.messages) yield m.content;
  for (const f of Object.values(chat.forks ?? {})) for (const t of f.tails) if (t) yield* texts(t);
}
