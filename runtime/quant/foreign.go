package quant

import (
	"fmt"
	"strings"
)

// foreign are types that files have and this package cannot read, with what is known about them.
var foreign = map[Type]struct{ name, about string }{
	9: {"Q8_1", onlyInMemory}, 15: {"Q8_K", onlyInMemory},
	24: {"I8", noWeights}, 25: {"I16", noWeights}, 26: {"I32", noWeights}, 27: {"I64", noWeights}, 28: {"F64", noWeights},
	31: {"Q4_0_4_4", givenUp}, 32: {"Q4_0_4_8", givenUp}, 33: {"Q4_0_8_8", givenUp},
	36: {"IQ4_NL_4_4", "no file of llama.cpp has it; in BitNet's and ik_llama.cpp's files it is I2_S"},
	37: {"IQ4_NL_4_8", givenUp}, 38: {"IQ4_NL_8_8", givenUp},
	133: {"Q6_0", ik}, 134: {"IQ1_BN", ik}, 135: {"IQ2_BN", ik}, 137: {"IQ2_K", ik}, 138: {"IQ3_K", ik}, 139: {"IQ4_K", ik},
	140: {"IQ5_K", ik}, 141: {"IQ6_K", ik}, 144: {"IQ4_KS", ik}, 145: {"IQ2_KS", ik}, 146: {"IQ4_KSS", ik}, 152: {"IQ5_KS", ik},
	153: {"IQ2_KT", ik}, 154: {"IQ3_KT", ik}, 155: {"IQ4_KT", ik}, 156: {"IQ3_KS", ik}, 157: {"IQ2_KL", ik}, 158: {"IQ1_KT", ik},
	202: {"Q4_0_R8", ik}, 206: {"Q5_0_R4", ik}, 208: {"Q8_0_R8", ik}, 210: {"Q2_K_R4", ik}, 211: {"Q3_K_R4", ik}, 212: {"Q4_K_R4", ik},
	213: {"Q5_K_R4", ik}, 214: {"Q6_K_R4", ik}, 216: {"IQ2_XXS_R4", ik}, 217: {"IQ2_XS_R4", ik}, 218: {"IQ3_XXS_R4", ik},
	219: {"IQ1_S_R4", ik}, 220: {"IQ4_NL_R4", ik}, 221: {"IQ3_S_R4", ik}, 222: {"IQ2_S_R4", ik}, 223: {"IQ4_XS_R8", ik}, 229: {"IQ1_M_R4", ik},
	337: {"IQ2_K_R4", ik}, 338: {"IQ3_K_R4", ik}, 339: {"IQ4_K_R4", ik}, 340: {"IQ5_K_R4", ik}, 344: {"IQ4_KS_R4", ik}, 352: {"IQ5_KS_R4", ik},
}

const (
	onlyInMemory = "llama.cpp uses it in memory alone"
	noWeights    = "no weights of a model have it"
	givenUp      = "llama.cpp has given it up; files of Q4_0 and IQ4_NL took its place"
	ik           = "only ik_llama.cpp has it"
)

// Describe names a type for messages as file names do ("Q4_K"), and says of one that cannot be read what is
// known about it.
func (t Type) Describe() string {
	if f, ok := Lookup(t); ok {
		return strings.ToUpper(f.Name)
	}
	if f, ok := foreign[t]; ok {
		return fmt.Sprintf("%s (id %d: %s)", f.name, uint32(t), f.about)
	}
	return fmt.Sprintf("id %d, which this program does not know", uint32(t))
}

// Readable lists the types of all formats as Describe names them.
func Readable() string {
	names := make([]string, len(formats))
	for i, f := range formats {
		names[i] = f.Type.Describe()
	}
	return strings.Join(names, ", ")
}
