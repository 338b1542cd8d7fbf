// Talks to a server with Ollama's client, and prints what it understood as JSON.
import { Ollama } from 'ollama'

const ollama = new Ollama({ host: process.argv[2] })
const model = 'tiny'
const weather = {
	type: 'function',
	function: { name: 'weather', description: 'The weather', parameters: { type: 'object', properties: { city: { type: 'string' }, days: { type: 'integer' } } } },
}
const now = { type: 'function', function: { name: 'now', description: 'The time', parameters: { type: 'object', properties: {} } } }

// gather joins the pieces of a stream.
async function gather(stream) {
	const out = { content: '', thinking: '', calls: [], pieces: 0 }
	for await (const part of stream) {
		out.pieces++
		out.content += part.message?.content ?? part.response ?? ''
		out.thinking += part.message?.thinking ?? part.thinking ?? ''
		out.calls.push(...(part.message?.tool_calls ?? []))
		out.last = part
	}
	return out
}

const short = (a) => ({ content: a.content, thinking: a.thinking, calls: (a.calls ?? a.tool_calls ?? []).map((c) => [c.function.name, c.function.arguments]) })
const out = {}

const hello = { model, messages: [{ role: 'user', content: 'Hello' }] }
const whole = await ollama.chat(hello)
out.whole = short(whole.message)
out.done = [whole.done, whole.done_reason, whole.prompt_eval_count > 0, whole.eval_count > 0, whole.total_duration > 1000]
const streamed = await gather(await ollama.chat({ ...hello, stream: true }))
out.streamed = short(streamed)
out.pieces = streamed.pieces > 2
out.last = [streamed.last.done, streamed.last.done_reason]

const messages = [{ role: 'user', content: 'Weather?' }]
const asked = await ollama.chat({ model, messages, tools: [weather, now] })
out.asked = short(asked.message)
out.askedStreamed = short(await gather(await ollama.chat({ model, messages, tools: [weather, now], stream: true })))
messages.push(asked.message, { role: 'tool', tool_name: 'weather', content: '12 degrees' })
out.answer = short((await ollama.chat({ model, messages, tools: [weather, now] })).message)

out.generate = (await ollama.generate({ model, prompt: 'Quick', raw: true })).response
out.limited = (await ollama.generate({ model, prompt: 'Quick', raw: true, options: { num_predict: 3 } })).done_reason
out.loaded = (await ollama.generate({ model, prompt: '' })).done_reason
out.list = (await ollama.list()).models.map((m) => m.name)
out.ps = (await ollama.ps()).models.map((m) => m.name)
out.show = (await ollama.show({ model })).capabilities
out.version = typeof (await ollama.version()).version

const failed = async (promise) => {
	try {
		await promise
		return 'no error'
	} catch (e) {
		return [e.status_code, e.error ?? e.message]
	}
}
out.embed = await failed(ollama.embed({ model, input: 'x' }))
out.pull = await failed(ollama.pull({ model: 'other' }))
out.remove = await failed(ollama.delete({ model: 'other' }))
out.wrong = await failed(ollama.chat({ ...hello, options: { temperature: -1 } }))
console.log(JSON.stringify(out))
