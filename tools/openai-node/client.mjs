// Talks to a server with OpenAI's client for JavaScript, and prints what came as one JSON
// object: node client.mjs http://127.0.0.1:8080/v1

import OpenAI from 'openai';

const client = new OpenAI({baseURL: process.argv[2], apiKey: 'key', maxRetries: 0});
const chat = (text, more = {}) => ({model: 'any', messages: [{role: 'user', content: text}], ...more});
const tools = [
  {type: 'function', function: {name: 'weather', parameters: {type: 'object', properties: {city: {type: 'string'}, days: {type: 'integer'}}}}},
  {type: 'function', function: {name: 'now'}},
];
const schema = {type: 'object', properties: {city: {type: 'string'}, days: {type: 'integer'}}, required: ['city', 'days'], additionalProperties: false};
const format = {type: 'json_schema', json_schema: {name: 'place', strict: true, schema}};

// failure is what a call that has to fail has failed with.
async function failure(call) {
  try {
    await call();
    return 'it did not fail';
  } catch (e) {
    return {kind: e.constructor.name, status: e.status, param: e.param, code: e.code, id: typeof e.requestID};
  }
}

// brief is what a message says.
const brief = (m) => ({content: m.content, reasoning: m.reasoning_content, calls: m.tool_calls?.map((c) => [c.function.name, c.function.arguments])});

// whole and streamed are two ways to the same completion.
const ways = {
  whole: (q) => client.chat.completions.create(q),
  streamed: async (q) => {
    let reasoning = ''; // the client keeps only the last piece of a field that it does not know
    const stream = client.chat.completions.stream({...q, stream_options: {include_usage: true}});
    stream.on('chunk', (c) => { reasoning += c.choices[0]?.delta.reasoning_content ?? ''; });
    const all = await stream.finalChatCompletion();
    all.choices[0].message.reasoning_content = reasoning || undefined;
    return all;
  },
};

const out = {};
for (const [way, get] of Object.entries(ways)) {
  const hello = await get(chat('Hello'));
  const weather = await get(chat('Weather?', {tools}));
  const results = weather.choices[0].message.tool_calls.map((c, i) => ({role: 'tool', tool_call_id: c.id, content: ['12 degrees', 'noon'][i]}));
  const {message} = weather.choices[0];
  const answer = await get({model: 'any', tools, messages: [{role: 'user', content: 'Weather?'}, {role: 'assistant', content: message.content, tool_calls: message.tool_calls}, ...results]});
  const city = await get(chat('City?', {response_format: format}));
  const likely = await get(chat('Hello', {logprobs: true, top_logprobs: 2, max_completion_tokens: 1}));
  out[way] = {
    hello: brief(hello.choices[0].message), finish: hello.choices[0].finish_reason, usage: hello.usage.total_tokens,
    weather: brief(weather.choices[0].message), why: weather.choices[0].finish_reason,
    answer: brief(answer.choices[0].message).content, cached: answer.usage.prompt_tokens_details.cached_tokens > 64,
    city: city.choices[0].message.content, likely: likely.choices[0].logprobs.content.map((l) => [l.token, l.top_logprobs.length]),
  };
}

const parsed = await client.chat.completions.parse(chat('City?', {response_format: format}));
out.parsed = parsed.choices[0].message.parsed ?? JSON.parse(parsed.choices[0].message.content);
out.text = (await client.completions.create({model: 'any', prompt: 'Quick', max_tokens: 5})).choices[0].text;
out.response = (await client.responses.create({model: 'any', input: 'Hello'})).output_text;
const kinds = [];
const stream = client.responses.stream({model: 'any', input: 'Hello'});
for await (const event of stream) if (!kinds.includes(event.type)) kinds.push(event.type);
out.events = kinds;
out.final = (await stream.finalResponse()).output.map((o) => [o.type, o.content[0].text]);
out.models = (await client.models.list()).data.map((m) => m.id);
out.bad = await failure(() => client.chat.completions.create(chat('x', {temperature: -1})));
out.missing = await failure(() => client.models.retrieve('nothing'));

// A client that goes ends its request, which the server's metrics say.
const gone = await client.chat.completions.create(chat('Endless', {stream: true}));
for await (const piece of gone) if (piece.choices[0]?.delta) break;
gone.controller.abort();
console.log(JSON.stringify(out));
