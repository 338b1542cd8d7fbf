// What the shared object exports: C symbols, everything else is hidden.
#pragma once

#define EXPORT extern "C" __attribute__((visibility("default")))
