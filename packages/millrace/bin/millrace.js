#!/usr/bin/env node
// Stands here, and not in dist, so that npm finds it to link before the first build.
import '../dist/cli/main.js'
