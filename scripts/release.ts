import { parseArgs } from 'node:util'
import { rehearse, release } from './release/release.ts'

// npm run release -- <version|patch|minor|major> [--dry-run [--skip-tests]]
// Makes the commit and the tag of a release. The release workflow publishes it once the tag is pushed.
try {
  const { values, positionals } = parseArgs({
    options: {
      'dry-run': { type: 'boolean', default: false },
      'skip-tests': { type: 'boolean', default: false },
    },
    allowPositionals: true,
  })
  const [wanted, ...more] = positionals
  if (wanted === undefined || more.length > 0)
    throw new Error('No version given: npm run release -- <version|patch|minor|major> [--dry-run]')
  if (values['skip-tests'] && !values['dry-run']) throw new Error('--skip-tests only works with --dry-run.')
  // npm runs scripts in the root of the workspace.
  const options = { root: process.cwd(), wanted, date: new Date().toISOString().slice(0, 10) }
  if (values['dry-run']) {
    const problems = await rehearse({ ...options, skipTests: values['skip-tests'] })
    if (problems.length > 0) throw new Error(`\nThis release would fail:\n${problems.join('\n')}`)
  } else await release(options)
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 1
}
