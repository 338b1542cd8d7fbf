package quant

// foreign names ggml types that this package does not support: types of llama.cpp, types that llama.cpp has
// removed, and types of ik_llama.cpp, which numbers its own from 97 on.
var foreign = map[Type]string{
	4: "Q4_2", 5: "Q4_3", 9: "Q8_1", 15: "Q8_K",
	24: "I8", 25: "I16", 26: "I32", 27: "I64", 28: "F64",
	31: "Q4_0_4_4", 32: "Q4_0_4_8", 33: "Q4_0_8_8",
	36: "IQ4_NL_4_4", 37: "IQ4_NL_4_8", 38: "IQ4_NL_8_8",

	97: "Q8_0_X4", 98: "Q8_1_X4", 99: "Q8_2_X4",
	133: "Q6_0", 134: "IQ1_BN", 135: "IQ2_BN", 136: "Q8_K64", 137: "IQ2_K", 138: "IQ3_K", 139: "IQ4_K", 140: "IQ5_K",
	141: "IQ6_K", 142: "IQ2_TN", 143: "IQ1_TN", 144: "IQ4_KS", 145: "IQ2_KS", 146: "IQ4_KSS", 147: "Q8_K16", 148: "Q8_K32",
	149: "Q8_KR8", 150: "Q8_K128", 151: "Q8_KV", 152: "IQ5_KS", 153: "IQ2_KT", 154: "IQ3_KT", 155: "IQ4_KT", 156: "IQ3_KS",
	157: "IQ2_KL", 158: "IQ1_KT",
	202: "Q4_0_R8", 206: "Q5_0_R4", 208: "Q8_0_R8", 210: "Q2_K_R4", 211: "Q3_K_R4", 212: "Q4_K_R4", 213: "Q5_K_R4", 214: "Q6_K_R4",
	216: "IQ2_XXS_R4", 217: "IQ2_XS_R4", 218: "IQ3_XXS_R4", 219: "IQ1_S_R4", 220: "IQ4_NL_R4", 221: "IQ3_S_R4", 222: "IQ2_S_R4",
	223: "IQ4_XS_R8", 229: "IQ1_M_R4", 230: "BF16_R16", 233: "Q6_0_R4", 335: "IQ2_BN_R4", 337: "IQ2_K_R4", 338: "IQ3_K_R4",
	339: "IQ4_K_R4", 340: "IQ5_K_R4", 344: "IQ4_KS_R4", 352: "IQ5_KS_R4", 398: "Q8_KV_R8", 399: "Q8_K_R8",
}

// Origin says where type t comes from, for users with such a file: "removed" from llama.cpp, "ik_llama.cpp",
// or "" for all others.
func (t Type) Origin() string {
	switch {
	case t == 4 || t == 5 || t >= 31 && t <= 33 || t >= 36 && t <= 38:
		return "removed"
	case foreign[t] != "" && t >= 97:
		return "ik_llama.cpp"
	}
	return ""
}
