// Renders every conversation with every template in this folder by
// @huggingface/jinja, the JavaScript implementation of the templates that
// transformers uses, and writes goldens.json. The Go tests compare with it.
//
//	npm install --no-save @huggingface/jinja@0.5.11 && node goldens.mjs
import fs from "node:fs";
import { Template } from "@huggingface/jinja";

const here = (name) => new URL(name, import.meta.url);
const conversations = JSON.parse(fs.readFileSync(here("conversations.json")));
const goldens = [];
for (const file of fs.readdirSync(here(".")).filter((f) => f.endsWith(".jinja")).sort()) {
  const template = new Template(fs.readFileSync(here(file), "utf8"));
  for (const { name, messages, ...options } of conversations) {
    const golden = { template: file.replace(".jinja", ""), conversation: name };
    try {
      golden.text = template.render({
        messages,
        ...options,
        tools: null,
        documents: null,
        bos_token: "<|bos|>",
        eos_token: "<|eos|>",
      });
    } catch (e) {
      golden.error = e.message;
    }
    goldens.push(golden);
  }
}
fs.writeFileSync(here("goldens.json"), JSON.stringify(goldens, null, 1) + "\n");
