// A model of how long the GPU takes, and what the system does about work that takes long.
//
// METALSIM_WORK names a file that says what kernels do, one a line, fields separated by tabs:
//
//   function  rows  width  row_flops  pair_flops  cached_flops  bytes  pair_bytes  cached_bytes
//   split_bytes  splits  tile  least
//
// rows is the argument that holds the records of what is computed, -1 if there is none, and width
// how many there are, of four uint32: the third is how many cached rows a record goes over (0: it is
// dead), the fourth names the table these are in. Operations and bytes are counted once for each of
// width, for each record and each of its cached rows, and for each cached row of a table in whole
// pages of 64. The cached rows of a record are cut into splits of whole tiles, each of which has some at
// least: split_bytes are counted for each of them. Rates are those of runtime/device/chips/chips.tsv, of which the GPU reaches half, or
// METALSIM_SPEED percent of that.
//
// Without the file nothing is predicted and nothing takes too long.
#pragma once

#include <string>

#include "command.h"

namespace metalsim::duration {

// Tells whether there is a model.
bool known();

// The seconds that a command takes.
double of(const Command &c);

// The cores of the GPU's chip.
uint64_t cores();

// How a command buffer ended.
enum class End { Well, DispatchTooLong, BufferTooLong, Refused };

// The seconds after which a dispatch, or a command buffer, is ended.
double dispatchLimit();
double bufferLimit();

// Once something was ended, the device refuses all later command buffers, until it is opened anew.
void refuse();
bool refuses();
void opened();

// The code and the text of an end that is not well, as macOS has them.
int64_t code(End e);
std::string text(End e);

}  // namespace metalsim::duration
