package grammar

// JSON is a grammar that tests share.
const JSON = jsonGBNF

// Shallows is how many masks were not finished in time.
func (c *Compiled) Shallows() int { return c.shallows }
