#!/usr/bin/env node
// Not in dist, so that npm can link it before the first build.
import '../dist/cli/main.js'
