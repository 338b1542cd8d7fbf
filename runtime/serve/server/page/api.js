// The server's API, as any client uses it.

// APIError is an error that the server has named; status 0: it did not answer.
export class APIError extends Error {
  constructor(status, message, retryAfter) {
    super(message);
    this.status = status;
    this.retryAfter = retryAfter;
  }
}

const keyName = 'mla.key';
let key = sessionStorage.getItem(keyName) ?? localStorage.getItem(keyName) ?? '';

// setKey sets the API key, for this tab or for later visits too.
export function setKey(value, keep) {
  key = value;
  sessionStorage.removeItem(keyName);
  localStorage.removeItem(keyName);
  if (value) (keep ? localStorage : sessionStorage).setItem(keyName, value);
}

// call fetches a path. Paths are relative, so a proxy may put the server below one.
async function call(path, options = {}) {
  const headers = {...options.headers};
  if (key) headers.Authorization = `Bearer ${key}`;
  let r;
  try {
    r = await fetch(path, {...options, headers});
  } catch (e) {
    if (e.name === 'AbortError') throw e;
    throw new APIError(0, 'The server does not answer.');
  }
  if (r.ok) return r;
  let message = r.statusText || `status ${r.status}`;
  try {
    message = (await r.json()).error.message;
  } catch { /* a proxy's answer: the status has to do */ }
  throw new APIError(r.status, message, Number(r.headers.get('Retry-After')) || 0);
}

export const get = async (path) => (await call(path)).json();

// events yields the pieces of a streamed answer.
export async function* events(path, body, signal) {
  const r = await call(path, {method: 'POST', headers: {'Content-Type': 'application/json'}, body: JSON.stringify(body), signal});
  const reader = r.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  try {
    for (;;) {
      const {value, done} = await reader.read();
      if (done) break;
      const parts = (rest + value).split('\n\n');
      rest = parts.pop();
      for (const part of parts) {
        if (!part.startsWith('data: ')) continue; // a sign of life
        if (part === 'data: [DONE]') return;
        const piece = JSON.parse(part.slice(6));
        if (piece.error) throw new APIError(r.status, piece.error.message);
        yield piece;
      }
    }
  } catch (e) {
    if (e instanceof TypeError) throw new APIError(0, 'The connection to the server was lost.');
    throw e;
  }
  throw new APIError(0, 'The answer was cut off.');
}
