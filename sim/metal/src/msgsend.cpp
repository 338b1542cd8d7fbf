// objc_msgSend: finds the method and jumps to it with all argument registers,
// the stack and the register for structure results as they were.
//
// On x86-64, a result of more than 16 bytes shifts the arguments by one
// register; objc_msgSend_stret is the entry for those, as on Intel Macs.

#if defined(__x86_64__)

#define TRAMPOLINE(name, self, sel)                                                                \
  asm(".text\n.globl " #name "\n.type " #name ",@function\n.p2align 4\n" #name ":\n"               \
      "  pushq %rbp\n  movq %rsp,%rbp\n  subq $192,%rsp\n"                                         \
      "  movq %rdi,0(%rsp)\n  movq %rsi,8(%rsp)\n  movq %rdx,16(%rsp)\n  movq %rcx,24(%rsp)\n"     \
      "  movq %r8,32(%rsp)\n  movq %r9,40(%rsp)\n  movq %rax,48(%rsp)\n"                           \
      "  movups %xmm0,64(%rsp)\n  movups %xmm1,80(%rsp)\n  movups %xmm2,96(%rsp)\n"                \
      "  movups %xmm3,112(%rsp)\n  movups %xmm4,128(%rsp)\n  movups %xmm5,144(%rsp)\n"             \
      "  movups %xmm6,160(%rsp)\n  movups %xmm7,176(%rsp)\n"                                       \
      "  movq " #self ",%rax\n  movq " #sel ",%rsi\n  movq %rax,%rdi\n"                            \
      "  call metalsim_lookup\n  movq %rax,%r11\n"                                                 \
      "  movq 0(%rsp),%rdi\n  movq 8(%rsp),%rsi\n  movq 16(%rsp),%rdx\n  movq 24(%rsp),%rcx\n"     \
      "  movq 32(%rsp),%r8\n  movq 40(%rsp),%r9\n  movq 48(%rsp),%rax\n"                           \
      "  movups 64(%rsp),%xmm0\n  movups 80(%rsp),%xmm1\n  movups 96(%rsp),%xmm2\n"                \
      "  movups 112(%rsp),%xmm3\n  movups 128(%rsp),%xmm4\n  movups 144(%rsp),%xmm5\n"             \
      "  movups 160(%rsp),%xmm6\n  movups 176(%rsp),%xmm7\n"                                       \
      "  movq %rbp,%rsp\n  popq %rbp\n  jmp *%r11\n"                                               \
      ".size " #name ",.-" #name "\n")

TRAMPOLINE(objc_msgSend, %rdi, %rsi);
TRAMPOLINE(objc_msgSend_stret, %rsi, %rdx);

#elif defined(__aarch64__)

asm(R"(
.text
.globl objc_msgSend
.type objc_msgSend,%function
.p2align 4
objc_msgSend:
  stp x29,x30,[sp,#-224]!
  mov x29,sp
  stp x0,x1,[sp,#16]
  stp x2,x3,[sp,#32]
  stp x4,x5,[sp,#48]
  stp x6,x7,[sp,#64]
  str x8,[sp,#80]
  stp q0,q1,[sp,#96]
  stp q2,q3,[sp,#128]
  stp q4,q5,[sp,#160]
  stp q6,q7,[sp,#192]
  bl metalsim_lookup
  mov x16,x0
  ldp x0,x1,[sp,#16]
  ldp x2,x3,[sp,#32]
  ldp x4,x5,[sp,#48]
  ldp x6,x7,[sp,#64]
  ldr x8,[sp,#80]
  ldp q0,q1,[sp,#96]
  ldp q2,q3,[sp,#128]
  ldp q4,q5,[sp,#160]
  ldp q6,q7,[sp,#192]
  ldp x29,x30,[sp],#224
  br x16
.size objc_msgSend,.-objc_msgSend
)");

#else
#error "objc_msgSend is written for x86-64 and arm64"
#endif
