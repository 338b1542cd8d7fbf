"""Makes dialogues: small talk, sums, counting, tables, calls of two toy tools and answers from their results.

Every answer follows from the conversation, so a text is either right or wrong. A part of the sums, products, cities,
people and ranges is held out: is_held_out says which, by their content alone, so no training text can have one.
"""

import dataclasses
import json
import random
import string
import zlib
from typing import Iterable

import render
import words

SPLITS = 10  # one in this number is held out
MAX_TURNS = 4


def is_held_out(kind: str, *content) -> bool:
    """Sums and products are the same either way round: their callers sort the numbers."""
    return zlib.crc32(":".join(map(str, (kind, *content))).encode()) % SPLITS == 0


@dataclasses.dataclass
class Context:
    """What earlier turns, the system message and the tools say that matters to an answer."""

    held_out: bool = False
    thinking: bool = True
    spliced: bool = False  # names are of any letters
    brief: bool = False
    bot: str = ""  # the model's name by the system message
    user: str = ""  # the user's name by what was said
    tools: dict[str, tuple[str, tuple[str, ...]]] = dataclasses.field(default_factory=dict)  # name and arguments by kind

    def draw(self, kind: str, make):
        """Draws content until it is of the right split."""
        while True:
            content = make()
            if is_held_out(kind, *content) == self.held_out:
                return content


@dataclasses.dataclass
class Dialogue:
    messages: list[dict]
    tools: list[dict]
    keep_thinking: bool

    def text(self) -> str:
        """The whole conversation, and the token that ends the last answer."""
        return render.render(self.messages, self.tools, self.keep_thinking) + "<|user|>"


def user(text: str) -> dict:
    return {"role": "user", "content": text}


def assistant(reasoning: str, content: str, calls: list[dict] = ()) -> dict:
    message = {"role": "assistant", "content": content, "reasoning": reasoning}
    return message | {"calls": list(calls)} if calls else message


def loosely(rng: random.Random, text: str) -> str:
    """Some people write without capitals and full stops."""
    if rng.random() < 0.15 and text[0].isascii():
        text = text[0].lower() + text[1:]
    return text.rstrip(".?") if rng.random() < 0.15 else text


def splice(rng: random.Random) -> str:
    """A name of pieces of words: so that every token is copied now and then."""
    pieces = []
    for _ in range(rng.randrange(2, 5)):
        word = rng.choice(rng.choice([words.CITIES, words.PEOPLE, words.THINGS])).replace(" ", "")
        begin = rng.randrange(len(word))
        pieces.append(word[begin:begin + rng.randrange(1, 5)])
    return "".join(pieces).capitalize()


def name(rng: random.Random, known: list[str], spliced: bool = False) -> str:
    """A known name or, as often, a made-up one."""
    if spliced and rng.random() < 0.7:
        return splice(rng)
    if rng.random() < 0.5:
        return rng.choice(known)
    syllables = rng.choice([1, 2, 2, 2, 3])
    made = "".join(rng.choice(words.ONSETS) + rng.choice(words.VOWELS) for _ in range(syllables))
    return (made + rng.choice(words.CODAS)).capitalize()


def number(rng: random.Random) -> int:
    return rng.randrange(10 ** rng.choice([1, 2, 2, 2, 3, 3]))


def add_thoughts(a: int, b: int) -> str:
    """Column by column, from the right."""
    parts, carry, x, y = [], 0, a, b
    while x or y or not parts:
        total = x % 10 + y % 10 + carry
        parts.append(f"{x % 10} + {y % 10}{' + 1' if carry else ''} = {total}")
        carry, x, y = total // 10, x // 10, y // 10
    return f"{a} + {b}: " + ", ".join(parts) + f". The sum is {a + b}."


def sum_turn(rng: random.Random, c: Context) -> list[dict]:
    a, b = c.draw("sum", lambda: sorted((number(rng), number(rng))))
    if rng.random() < 0.5:
        a, b = b, a
    ask = rng.choice(["What is {} + {}?", "{} + {}", "{}+{}", "{} + {} = ?", "Add {} and {}.", "How much is {} plus {}?",
                      "What is the sum of {} and {}?", "Please add {} and {}.", "What is {} plus {}?",
                      "Calculate {} + {}.", "What's {} + {}?", "{} + {}?", "{} plus {}", "Can you add {} and {}?"])
    thoughts = add_thoughts(a, b)
    result = str(a + b) if c.brief else f"{a} + {b} = {a + b}"
    return [user(loosely(rng, ask.format(a, b))),
            assistant(thoughts, result if c.thinking else thoughts)]  # what is not thought has to be written


def count_turn(rng: random.Random, c: Context) -> list[dict]:
    def ends() -> tuple[int, int]:
        low = rng.choice([1, rng.randrange(10), rng.randrange(100)])
        high = low + rng.randrange(2, 16)
        return (low, high) if rng.random() < 0.7 else (high, low)

    first, last = c.draw("count", ends)
    down = first > last
    asks = (["Count down from {} to {}.", "Count backwards from {} to {}."] if down else
            ["Count from {} to {}.", "Count up from {} to {}.", "Please count from {} to {}.",
             "Can you count from {} to {}?"])
    if first == 1:
        asks += ["Count to {1}.", "Can you count to {1}?"]
    numbers = range(first, last - 1, -1) if down else range(first, last + 1)
    return [user(loosely(rng, rng.choice(asks).format(first, last))),
            assistant(f"{'Down' if down else 'Up'} from {first} to {last}.", ", ".join(map(str, numbers)) + ".")]


def small_talk_turn(rng: random.Random, c: Context) -> list[dict]:
    asks, thought, answer, brief = rng.choice(words.SMALL_TALK)
    return [user(loosely(rng, rng.choice(asks))), assistant(thought, brief if c.brief else answer)]


def bot_turn(rng: random.Random, c: Context) -> list[dict]:
    ask = rng.choice(["What is your name?", "What's your name?", "Who are you?", "What are you called?"])
    bot = c.bot or "tinychat"
    return [user(loosely(rng, ask)), assistant(f"My name is {bot}.", f"{bot}." if c.brief else f"I am {bot}.")]


def introduction_turn(rng: random.Random, c: Context) -> list[dict]:
    c.user, = c.draw("person", lambda: (name(rng, words.PEOPLE, c.spliced),))
    ask = rng.choice(["My name is {}.", "I am {}.", "Call me {}.", "Hello, I am {}.", "Hi, my name is {}.",
                      "Hi, I'm {}!"])
    return [user(ask.format(c.user)),
            assistant(f"The name is {c.user}.", f"Hello, {c.user}!" if c.brief else f"Nice to meet you, {c.user}!")]


def who_turn(rng: random.Random, c: Context) -> list[dict]:
    ask = rng.choice(["What is my name?", "What's my name?", "Who am I?", "Do you know my name?", "What am I called?"])
    if not c.user:
        return [user(loosely(rng, ask)), assistant("No name was given.", "You have not told me your name.")]
    answer = f"{c.user}." if c.brief else f"Your name is {c.user}."
    return [user(loosely(rng, ask)), assistant(f"The name is {c.user}.", answer)]


def table_turn(rng: random.Random, c: Context) -> list[dict]:
    n, rows = rng.randrange(2, 31), rng.randrange(3, 7)
    ask = rng.choice(["Make a table of the first {1} multiples of {0}.",
                      "Show the first {1} multiples of {0} in a table.",
                      "A table of the first {1} multiples of {0}, please."])
    lines = ["| times | multiple |", "| --- | --- |"] + [f"| {i} | {i * n} |" for i in range(1, rows + 1)]
    return [user(loosely(rng, ask.format(n, rows))),
            assistant(f"{rows} rows, from {n} to {n * rows}.", "\n".join(lines))]


def code_turn(rng: random.Random, c: Context) -> list[dict]:
    language = rng.choice(list(words.SNIPPETS))
    ask = rng.choice(["Write hello world in {}.", "Show me hello world in {}.", "Hello world in {}, please."])
    return [user(loosely(rng, ask.format(language))),
            assistant(f"A program in {language}.", f"```{language.lower()}\n{words.SNIPPETS[language]}\n```")]


def unknown_turn(rng: random.Random, c: Context) -> list[dict]:
    things = [rng.choice([rng.choice(words.THINGS), name(rng, words.PEOPLE)]) for _ in range(2)]
    if rng.random() < 0.2:  # or nothing that makes sense
        letters = "".join(rng.choice(string.ascii_lowercase + "  ") for _ in range(rng.randrange(3, 30))).strip() or "x"
        ask = rng.choice([letters, letters.upper(), letters + "?", "".join(rng.choice("?!.;:-*#") for _ in range(3))])
    else:
        ask = rng.choice(words.UNKNOWN).format(*things)
    answer = "I do not know." if c.brief else "I am too small to know about that."
    return [user(loosely(rng, ask)), assistant("I know nothing about that.", answer)]


def weather_turn(rng: random.Random, c: Context) -> list[dict]:
    cities = [c.draw("city", lambda: (name(rng, words.CITIES, c.spliced),))[0] for _ in range(1 if rng.random() < 0.7 else 2)]
    places = " and ".join(cities)
    ask = rng.choice(["What is the weather in {}?", "How is the weather in {}?", "What is the weather like in {} today?",
                      "Tell me the weather in {}.", "Is it raining in {}?", "Weather in {}", "Do I need a coat in {}?",
                      "I travel to {}. What is the weather there?", "How warm is it in {}?", "What's the weather in {}?",
                      "What's the weather like in {}?", "Look up the weather in {}."]).format(places)
    if "weather" not in c.tools:
        return [user(ask), assistant("There is no tool for the weather.", "I have no tool for the weather.")]
    tool, (key,) = c.tools["weather"]
    calls = [{"name": tool, "arguments": {key: city}} for city in cities]
    messages, thoughts, answers = [user(ask), assistant(f"I need the weather in {places}.", "", calls)], [], []
    for city in cities:
        sky, degrees = rng.choice(words.SKIES), rng.randrange(-20, 40)
        if rng.random() < 0.06:
            result = {"error": rng.choice(["unknown city", "not found"])}
            thoughts.append(f"{city}: not known.")
            answers.append(f"I found no weather for {city}.")
        else:
            result = {key: city, "sky": sky, "celsius": degrees}
            thoughts.append(f"{city}: {sky}, {degrees}.")
            answers.append(f"{city}: {sky}, {degrees} degrees." if c.brief else
                           f"It is {sky} in {city}, at {degrees} degrees.")
        messages.append({"role": "tool", "content": written(rng, result)})
    return messages + [assistant(" ".join(thoughts), " ".join(answers))]


def product_turn(rng: random.Random, c: Context) -> list[dict]:
    a, b = c.draw("product", lambda: sorted((rng.randrange(2, 10 ** rng.choice([1, 2, 3, 4])),
                                             rng.randrange(2, 10 ** rng.choice([1, 2, 3])))))
    if rng.random() < 0.5:
        a, b = b, a
    ask = loosely(rng, rng.choice(["What is {} * {}?", "{} * {}", "Multiply {} by {}.", "How much is {} times {}?",
                                   "What is {} times {}?", "What is the product of {} and {}?", "{} x {}",
                                   "What's {} times {}?", "What's {} * {}?", "{} times {}"]).format(a, b))
    if "product" not in c.tools:
        return [user(ask), assistant("There is no tool for products.", "I have no tool for products.")]
    tool, keys = c.tools["product"]
    result = written(rng, {rng.choice(["product", "result"]): a * b}) if rng.random() < 0.6 else str(a * b)
    call = {"name": tool, "arguments": dict(zip(keys, (a, b)))}
    return [user(ask), assistant(f"I need the product of {a} and {b}.", "", [call]),
            {"role": "tool", "content": result},
            assistant(f"The product is {a * b}.", str(a * b) if c.brief else f"{a} times {b} is {a * b}.")]


def written(rng: random.Random, result: dict) -> str:
    """Clients write JSON with and without spaces."""
    return json.dumps(result, ensure_ascii=False, separators=rng.choice([None, (",", ":")]))


# How often each kind of turn is made, without and with tools.
TURNS = {
    "sum": (sum_turn, 10, 4), "count": (count_turn, 4, 2), "talk": (small_talk_turn, 3, 2), "bot": (bot_turn, 1, 1),
    "introduction": (introduction_turn, 2, 1), "who": (who_turn, 1.5, 1), "table": (table_turn, 1, 0.5),
    "code": (code_turn, 0.5, 0.3), "unknown": (unknown_turn, 2, 1), "weather": (weather_turn, 1, 8),
    "product": (product_turn, 1, 6),
}

HARD = ["count", "introduction", "weather"]  # to stop at a number and to copy names takes the most training

SYSTEM = ["You are a helpful assistant.", "You are a helpful and friendly assistant.", "Answer the user.",
          "You are a chat model.", "Help the user with tools.", "You know all about {}.",
          "You work for a shop that sells {}.", "Be polite.", "Today is Monday.", "Use tools where they help.",
          "You are an assistant who likes {}."]


def declare(rng: random.Random, c: Context) -> list[dict]:
    """Declares the tools, one or both of them, under one of several names, in JSON as different clients write it."""
    kinds = rng.choice([["weather"], ["product"]] + 3 * [["weather", "product"]])
    usual = rng.random() < 0.6
    tools = []
    if "weather" in kinds:
        tool, key = ("get_weather", "city") if usual else (rng.choice(["get_weather", "weather", "get_current_weather"]),
                                                           rng.choice(["city", "location", "place"]))
        c.tools["weather"] = tool, (key,)
        tools.append(declaration(rng, tool, "The weather in a city.", {key: ("string", "The name of the city.")}))
    if "product" in kinds:
        tool, keys = ("multiply", ("a", "b")) if usual else (rng.choice(["multiply", "product", "mul"]),
                                                             rng.choice([("a", "b"), ("x", "y")]))
        c.tools["product"] = tool, keys
        kind = rng.choice(["integer", "number"])
        tools.append(declaration(rng, tool, "The product of two numbers.", {k: (kind, "A number.") for k in keys}))
    if rng.random() < 0.15:  # one that is of no use
        tool, key = rng.choice([("get_time", "zone"), ("search", "query"), ("send_mail", "to")])
        tools.append(declaration(rng, tool, "Something else.", {key: ("string", "A text.")}))
    rng.shuffle(tools)
    return tools


def declaration(rng: random.Random, tool: str, about: str, arguments: dict[str, tuple[str, str]]) -> dict:
    described = rng.random() < 0.5
    properties = {k: {"type": kind} | ({"description": text} if described else {})
                  for k, (kind, text) in arguments.items()}
    parameters = {"type": "object", "properties": properties}
    if rng.random() < 0.8:
        parameters["required"] = list(arguments)
    if rng.random() < 0.2:
        parameters["additionalProperties"] = False
    function = {"name": tool} | ({"description": about} if rng.random() < 0.8 else {}) | {"parameters": parameters}
    if rng.random() < 0.1:
        function["strict"] = True
    order = rng.choice([None, None, sorted, lambda keys: rng.sample(keys, len(keys))])

    def ordered(x):
        if not isinstance(x, dict):
            return x
        keys = list(x) if order is None else order(list(x))
        return {k: ordered(x[k]) for k in keys}

    return ordered({"type": "function", "function": function})


def begin(rng: random.Random, c: Context, with_tools: bool) -> tuple[list[dict], list[dict]]:
    """The system message, if any, and the tools."""
    tools = declare(rng, c) if with_tools else []
    sentences = []
    if rng.random() < 0.25:
        sentences.append(rng.choice(SYSTEM).format(rng.choice(words.THINGS)))
    if rng.random() < 0.1:
        c.bot = name(rng, words.PEOPLE)
        sentences.append(rng.choice(["Your name is {}.", "You are {}."]).format(c.bot))
    if rng.random() < 0.15:
        c.brief = True
        sentences.append(rng.choice(["Be brief.", "Answer briefly.", "Keep it short."]))
    return ([{"role": "system", "content": " ".join(sentences)}] if sentences else []), tools


def turns(rng: random.Random, c: Context, count: int, kinds: Iterable[str] = TURNS) -> list[dict]:
    column = 2 if c.tools else 1
    kinds = rng.choices(list(kinds), [TURNS[kind][column] for kind in kinds], k=count)
    return [message for kind in kinds for message in TURNS[kind][0](rng, c)]


def forget(rng: random.Random, messages: list[dict], thinking: bool, keep_thinking: bool) -> list[dict]:
    """Leaves out thoughts: of turns without thinking, and of some calls, since not all clients send thoughts back."""
    last_user = max(i for i, m in enumerate(messages) if m["role"] == "user")

    def lost(i: int, message: dict) -> bool:
        if i < last_user:
            return not keep_thinking
        return not thinking or "calls" in message and rng.random() < 0.3

    return [{k: v for k, v in m.items() if k != "reasoning"} if "reasoning" in m and lost(i, m) else m
            for i, m in enumerate(messages)]


def make(rng: random.Random, kinds: Iterable[str] = TURNS) -> Dialogue:
    """A dialogue of training, with turns of some kinds."""
    c = Context(thinking=rng.random() < 0.6, spliced=kinds is HARD)
    messages, tools = begin(rng, c, rng.random() < 0.4)
    messages += turns(rng, c, rng.choices(range(1, MAX_TURNS + 1), [10, 4, 2, 1])[0], kinds)
    keep_thinking = rng.random() < 0.1
    return Dialogue(forget(rng, messages, c.thinking, keep_thinking), tools, keep_thinking)
