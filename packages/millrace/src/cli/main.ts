#!/usr/bin/env node
import module from 'node:module'

// Our own modules are imported only after the version check, and only those that the command needs.

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
if (major < 22 || (major === 22 && minor < 13)) {
  process.stderr.write(`millrace needs Node 22.13 or newer; this is ${process.version}\n`)
  process.exit(1)
}

// Without the cache, compiling takes several times as long as starting.
// Deno does not have it.
module.enableCompileCache?.()
const { run } = await import('./run.ts')
await run(process.argv.slice(2))
