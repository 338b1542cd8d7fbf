// A model of the duration of GPU work, and of macOS's limits for it.
//
// METALSIM_WORK names a file with the work of kernels, one kernel per line, fields separated by tabs:
//
//   function  rows  width  row_flops  pair_flops  cached_flops  bytes  pair_bytes  cached_bytes
//   split_bytes  splits  tile  least
//
// rows is the index of the argument with the rows of the batch, -1 if there is none. width is the
// number of these rows. A row is four uint32: the third is the number of cached rows that it
// attends to (0: padding), the fourth the block table that they are in. row_flops is counted for
// each row, pair_flops for each pair of a row and a cached row, cached_flops for each cached row of
// a table, in whole pages of 64; bytes are counted in the same way. The cached rows of a row are
// divided into splits of whole tiles, of at least the last field, and split_bytes is counted for
// each split. The GPU reaches half of the rates in runtime/device/chips/chips.tsv, or
// METALSIM_SPEED percent of that half.
//
// Without the file nothing is predicted and nothing takes too long.
#pragma once

#include <string>

#include "command.h"

namespace metalsim::duration {

// Returns whether there is a model, that is, a file.
bool known();

// The seconds that a command takes.
double of(const Command &c);

// The cores of the GPU's chip.
uint64_t cores();

// How a command buffer ended. Well is success.
enum class End { Well, DispatchTooLong, BufferTooLong, Refused };

// The seconds after which a dispatch, or a command buffer, is ended.
double dispatchLimit();
double bufferLimit();

// Once something was ended, the device refuses all later command buffers, until it is opened anew.
void refuse();
bool refuses();
void opened();

// The code and the text of macOS's error for an end other than Well.
int64_t code(End e);
std::string text(End e);

}  // namespace metalsim::duration
