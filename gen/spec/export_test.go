package spec

import "fmt"

// Role is a role as the tests outside the package see it.
type Role struct {
	Name              string
	First, Last, Cols int
	Among             string
}

// Roles exports roles.
func Roles(s *Spec, legacy bool) []Role {
	var list []Role
	for _, r := range roles(s, legacy) {
		list = append(list, Role{r.name, r.first, r.last, r.cols, fmt.Sprint(r.among)})
	}
	return list
}
