import { fileURLToPath } from 'node:url'
import { tarballProblems, withTarballs } from './release/pack.ts'
import { publishOrder, readPackages } from './release/workspace.ts'

// Packs the build, and checks that Node, bundlers and TypeScript can resolve everything in it.
const root = fileURLToPath(new URL('..', import.meta.url))
const problems = await withTarballs(root, publishOrder(readPackages(root)), tarballProblems)
for (const problem of problems) console.error(problem)
if (problems.length > 0) process.exit(1)
