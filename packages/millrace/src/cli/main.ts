#!/usr/bin/env node
import module from 'node:module'

// Nothing of ours is imported before it is known that this Node can run it, and nothing that the command does not need.

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
if (major < 22 || (major === 22 && minor < 13)) {
  process.stderr.write(`millrace needs Node 22.13 or newer, and this is ${process.version}\n`)
  process.exit(1)
}

// To compile all of it anew takes several times as long as to start.
module.enableCompileCache()
const { run } = await import('./run.ts')
await run(process.argv.slice(2))
