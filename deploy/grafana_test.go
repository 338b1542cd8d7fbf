package deploy_test

import (
	"encoding/json"
	"os"
	"regexp"
	"testing"
)

// units are the units of what queries ask for, by Grafana's names: the first pattern that a
// query matches says it.
var units = []struct {
	query *regexp.Regexp
	unit  string
}{
	{regexp.MustCompile(`\) / sum\(rate\(mla_step_rows_count`), "short"},
	{regexp.MustCompile(`\) / sum\(`), "percentunit"},
	{regexp.MustCompile(`^rate\(mla_step_seconds_total`), "percentunit"},
	{regexp.MustCompile(`tokens_per_second_bucket|rate\(mla_rows_total`), "suffix: tok/s"},
	{regexp.MustCompile(`_seconds_bucket`), "s"},
	{regexp.MustCompile(`rate\(mla_http_requests_total`), "reqps"},
	{regexp.MustCompile(`^histogram_quantile`), "short"},
	{regexp.MustCompile(`rate\(`), "suffix: /s"},
	{regexp.MustCompile(`_bytes\b`), "bytes"},
	{regexp.MustCompile(``), "short"},
}

// TestPanelUnits: each line of a panel has the unit of what it shows, and one with another unit
// than the panel's has an axis of its own: goroutines beside bytes would be a line at zero.
func TestPanelUnits(t *testing.T) {
	text, err := os.ReadFile("grafana/mlarun.json")
	if err != nil {
		t.Fatal(err)
	}
	var dashboard struct {
		Panels []struct {
			Title       string
			FieldConfig struct {
				Defaults  struct{ Unit string }
				Overrides []struct {
					Matcher    struct{ ID, Options string }
					Properties []struct{ ID, Value string }
				}
			}
			Targets []struct{ RefID, Expr string }
		}
	}
	if err := json.Unmarshal(text, &dashboard); err != nil {
		t.Fatal(err)
	}
	count := 0
	for _, p := range dashboard.Panels {
		for _, q := range p.Targets {
			unit, axis := p.FieldConfig.Defaults.Unit, ""
			for _, o := range p.FieldConfig.Overrides {
				if o.Matcher.ID != "byFrameRefID" || o.Matcher.Options != q.RefID {
					continue
				}
				for _, property := range o.Properties {
					switch property.ID {
					case "unit":
						unit = property.Value
					case "custom.axisPlacement":
						axis = property.Value
					}
				}
			}
			for _, u := range units {
				if u.query.MatchString(q.Expr) {
					if unit != u.unit {
						t.Errorf("%s, query %s has the unit %q; expected %q", p.Title, q.RefID, unit, u.unit)
					}
					break
				}
			}
			if unit != p.FieldConfig.Defaults.Unit && axis != "right" {
				t.Errorf("%s, query %s has another unit than the panel, and no axis of its own", p.Title, q.RefID)
			}
			count++
		}
	}
	if count < 20 {
		t.Errorf("%d queries; expected 20 and more", count)
	}
}
