package schema

// Parts of formats.
const (
	date       = `(\d{4}-((0[13578]|1[02])-(0[1-9]|[12]\d|3[01])|(0[469]|11)-(0[1-9]|[12]\d|30)|02-(0[1-9]|1\d|2[0-8]))|(\d\d(0[48]|[2468][048]|[13579][26])|([02468][048]|[13579][26])00)-02-29)`
	clock      = `([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{1,9})?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)`
	label      = `[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?`
	host       = label + `(\.` + label + `){0,5}`
	quad       = `(25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)`
	h16        = `[0-9a-f]{1,4}`
	ofTime     = `(\d{1,4}H(\d{1,4}M(\d{1,4}S)?)?|\d{1,4}M(\d{1,4}S)?|\d{1,4}S)`
	ofDate     = `(\d{1,4}Y(\d{1,4}M(\d{1,4}D)?)?|\d{1,4}M(\d{1,4}D)?|\d{1,4}D)`
	atoms      = `[A-Za-z0-9_+-]{1,30}(\.[A-Za-z0-9_+-]{1,30})?`
	uriPathEtc = `(:\d{1,4})?(/[A-Za-z0-9._~-]*)*(\?[A-Za-z0-9._~=&-]*)?(#[A-Za-z0-9._~-]*)?`
)

// Parts of references.
const (
	reference = `^(https?://` + host + `)?(/[A-Za-z0-9._~-]+)*/?(\?[A-Za-z0-9._~=&-]*)?(#[A-Za-z0-9._~-]*)?$`
	steps     = `(/([A-Za-z0-9._ -]|~[01])*)*`
)

// formats has patterns for formats; they need not match all valid texts. Unknown formats have no effect.
var formats = map[string]string{
	"date":      `^` + date + `$`,
	"time":      `^` + clock + `$`,
	"date-time": `^` + date + `T` + clock + `$`,
	"duration":  `^P(\d{1,4}W|` + ofDate + `(T` + ofTime + `)?|T` + ofTime + `)$`,
	"email":     `^` + atoms + `@` + host + `$`,
	"hostname":  `^` + host + `$`,
	"ipv4":      `^(` + quad + `\.){3}` + quad + `$`,
	"ipv6":      `^((` + h16 + `:){7}` + h16 + `|(` + h16 + `:){1,6}:` + h16 + `|::(` + h16 + `:){0,5}` + h16 + `|::)$`,
	"uuid":      `^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`,
	"uri":       `^https?://` + host + uriPathEtc + `$`,

	"idn-email":             `^` + atoms + `@` + host + `$`,
	"idn-hostname":          `^` + host + `$`,
	"iri":                   `^https?://` + host + uriPathEtc + `$`,
	"uri-reference":         reference,
	"iri-reference":         reference,
	"uri-template":          `^(/[A-Za-z0-9._~-]*|/\{[a-z][a-z0-9_]{0,30}\})*$`,
	"json-pointer":          `^` + steps + `$`,
	"relative-json-pointer": `^(0|[1-9]\d{0,3})(#|` + steps + `)$`,
	"regex":                 `^\^?((\w|[ ,:;/@-]|\\[dDwWsS.]|\.|\[(\w-\w|\w){1,10}\])([*+?]|\{\d{1,2}\})?)*\$?$`,
}
