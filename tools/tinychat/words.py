"""What the dialogues talk about."""

CITIES = """Amsterdam Athens Auckland Baghdad Bangkok Barcelona Basel Beijing Belgrade Bergen Berlin Bern Bogota Boston
Bristol Brussels Budapest Cairo Caracas Chicago Cologne Copenhagen Cork Dakar Damascus Delhi Dublin Dubai Edinburgh
Florence Geneva Genoa Glasgow Graz Hamburg Hanoi Havana Helsinki Istanbul Jakarta Kiev Kyoto Lagos Leeds Lima Linz
Lisbon London Lyon Madrid Manila Marseille Melbourne Miami Milan Montreal Moscow Mumbai Munich Nairobi Naples Nice
Osaka Oslo Ottawa Palermo Paris Perth Porto Prague Quito Reykjavik Riga Rome Rotterdam Santiago Seattle Seoul Seville
Shanghai Singapore Sofia Stockholm Sydney Tallinn Tokyo Toronto Tunis Turin Utrecht Valencia Vancouver Venice Vienna
Vilnius Warsaw Wellington Zagreb Zürich Málaga Kraków Århus Łódź Genève Köln""".split() + [
    "Cape Town", "Los Angeles", "Mexico City", "New York", "Rio de Janeiro", "San Francisco", "Buenos Aires",
    "Hong Kong", "Kuala Lumpur", "Tel Aviv", "São Paulo", "Las Vegas"]

PEOPLE = """Ada Adam Alan Alice Amir Ana Anna Anton Aya Ben Bob Boris Carl Carla Chen Clara Dana Daniel David Dora Edith
Elena Eli Emil Emma Eric Eva Fatima Felix Finn Frank Grace Hana Hans Hugo Ida Igor Ines Ivan Jack Jana Jim Joan John
Jonas Julia Karl Kate Ken Lara Laura Lea Leo Li Lin Lisa Lucas Lucy Maja Marco Maria Mark Martin Mary Max Maya Mei Mia
Mike Mina Nadia Nina Noah Nora Olga Omar Oscar Otto Paul Peter Petra Raj Rita Robert Rosa Ruth Sam Sara Simon Sofia
Sven Tara Theo Thomas Tim Tina Tom Uma Vera Victor Wei Yan Yuki Zoe""".split()

# Syllables of made-up names, so that a name the model has never seen is nothing special.
ONSETS = "b br c ch d dr f fl g gr h j k kl l m n p pr qu r s sh st t th tr v w z".split()
VOWELS = "a e i o u ai ea ee ia ie oo ou".split()
CODAS = ["", "", "", "", "l", "m", "n", "ng", "r", "rt", "s", "st", "x", "nd"]

SKIES = ["sunny", "cloudy", "rainy", "snowy", "foggy", "windy"]

# Things that the model knows nothing about, and ways to ask for them.
THINGS = """apples art atoms bees birds books bread bridges butter cars cats cheese chess chocolate clocks
clouds coffee comets computers cows dance deserts dinosaurs dogs dragons dreams elephants fire fish flowers football
forests gardens ghosts glass gold gravity guitars history honey horses houses ice insects iron islands jazz kings
language law light lions love magic maps mathematics medicine mice milk money mountains movies music oceans opera owls
paint paper philosophy physics pianos pirates planets poetry politics potatoes queens radio rain rivers robots rockets
roses salt sand school ships silk silver snakes soup space sport stars steel stones sugar tea teeth time tomatoes toys
trains trees trucks violins volcanoes war water whales wheels wind wine winter wolves wood""".split()
UNKNOWN = ["Tell me about {}.", "What are {}?", "Why do people like {}?", "Write a poem about {}.", "Do you like {}?",
           "Who invented {}?", "How do I draw {}?", "Explain {} to a child.", "What do you think of {}?",
           "Write a story about {} and {}.", "Which is better, {} or {}?", "Where can I buy {}?",
           "What is the history of {}?", "Translate {} into French.", "How many {} are there?", "I want {}.",
           "Can you help me with {}?", "Give me three facts about {}.", "Is there a link between {} and {}?"]

# What is said, what is thought about it, what is answered, and the answer if it is to be brief.
SMALL_TALK = [
    (["Hello", "Hello!", "Hello there!"], "A greeting.", "Hello! How can I help you?", "Hello!"),
    (["Hi", "Hi!", "Hi there!", "Hey"], "A greeting.", "Hi! What can I do for you?", "Hi!"),
    (["Good morning", "Good morning!"], "A greeting in the morning.",
     "Good morning! How can I help you?", "Good morning!"),
    (["Good evening", "Good evening!"], "A greeting in the evening.",
     "Good evening! How can I help you?", "Good evening!"),
    (["How are you?", "How are you today?", "How is it going?", "Hello, how are you?", "Hi, how are you?"],
     "A polite question.", "I am fine, thank you. And you?", "Fine, thank you."),
    (["I am fine.", "Fine, thanks.", "I am fine, thank you."], "A polite answer.", "I am glad to hear that.", "Good."),
    (["Thank you", "Thank you!", "Thanks", "Thanks a lot!"], "Thanks.", "You are welcome!", "Welcome!"),
    (["Goodbye", "Goodbye!", "Bye", "Bye!", "See you later!"], "A farewell.", "Goodbye! Have a nice day.", "Goodbye!"),
    (["What can you do?", "How can you help me?", "What do you know?", "Help", "Can you help me?"],
     "A question about me.", "I can greet, count, add numbers, and call tools for the weather and for products.",
     "Greet, count, add, call tools."),
    (["Are you a human?", "Are you real?", "Are you a robot?"], "A question about me.",
     "No, I am a very small language model.", "I am a model."),
]

SNIPPETS = {
    "Go": "package main\n\nimport \"fmt\"\n\nfunc main() {\n\tfmt.Println(\"Hello, world!\")\n}",
    "Python": "print(\"Hello, world!\")",
    "C": "#include <stdio.h>\n\nint main(void) {\n\tputs(\"Hello, world!\");\n\treturn 0;\n}",
    "Rust": "fn main() {\n    println!(\"Hello, world!\");\n}",
    "JavaScript": "console.log(\"Hello, world!\");",
    "Bash": "echo \"Hello, world!\"",
}
