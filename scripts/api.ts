import { spawnSync } from 'node:child_process'
import { globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { apiReport, difference } from './api/report.ts'
import { declarationsOf } from './declarations.ts'
import { publishOrder, readPackages } from './release/workspace.ts'

// `npm run api` writes a report of the types of each entry point. `--check` fails if the build differs
// from the reports, so that a review shows every change of the API.
const root = fileURLToPath(new URL('..', import.meta.url))
const check = process.argv.includes('--check')

function format(path: string, text: string): string {
  const options = { cwd: root, input: text, encoding: 'utf8' } as const
  const { status, stdout, stderr } = spawnSync('biome', ['format', `--stdin-file-path=${path}`], options)
  if (status !== 0) throw new Error(`biome cannot format ${path}: ${stderr}`)
  return stdout
}

const reports = new Map<string, string>()
for (const { path, folder, manifest } of publishOrder(readPackages(root)))
  for (const [subpath, target] of Object.entries(manifest.exports ?? {})) {
    if (typeof target === 'string' || subpath.startsWith('./internal')) continue
    const report = `${path}/api/${subpath === '.' ? 'index' : subpath.slice(2)}.api.d.ts`
    reports.set(report, format(report, apiReport(await declarationsOf(folder, target.types, false))))
  }

const present = globSync('packages/*/api/**/*.api.d.ts', { cwd: root }).map((path) =>
  path.replaceAll('\\', '/'),
)
const stale = present.filter((path) => !reports.has(path))

if (check) {
  const accepted = (path: string) => (present.includes(path) ? readFileSync(join(root, path), 'utf8') : '')
  const changed = [...reports].filter(([path, report]) => report !== accepted(path))
  for (const [path, report] of changed) console.error(`${path}\n${difference(accepted(path), report)}\n`)
  for (const path of stale) console.error(`${path}\n  This entry point does not exist.\n`)
  if (changed.length + stale.length > 0) {
    console.error('The API differs from its reports. If that is intended, run npm run api to update them.')
    process.exit(1)
  }
} else {
  for (const path of stale) rmSync(join(root, path))
  for (const [path, report] of reports) {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), report)
  }
}
