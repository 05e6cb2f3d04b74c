// Graph dumps of TorchAir and GE: read tolerantly, written by the grammar of docs/formats.md,
// converted from and to graphs, drawn. All functions are pure and thread-safe.
#pragma once

#include "anabranch/formats/convert.h"
#include "anabranch/formats/draw.h"
#include "anabranch/formats/dump.h"
#include "anabranch/formats/ge_types.h"
#include "anabranch/formats/reader.h"
#include "anabranch/formats/writer.h"
