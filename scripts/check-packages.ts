import { fileURLToPath } from 'node:url'
import { tarballProblems, withTarballs } from './release/pack.ts'
import { publishOrder, readPackages } from './release/workspace.ts'

// Packs what `npm run build` has built, and checks that Node, bundlers and TypeScript find everything in it.
const root = fileURLToPath(new URL('..', import.meta.url))
const problems = await withTarballs(root, publishOrder(readPackages(root)), tarballProblems)
for (const problem of problems) console.error(problem)
if (problems.length > 0) process.exit(1)
