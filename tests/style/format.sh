#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The formatter finds nothing to change.
set -euo pipefail
git ls-files '*.c' '*.h' | xargs clang-format --dry-run --Werror
