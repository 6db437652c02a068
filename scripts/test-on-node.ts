import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

// `npm run test:node -- 26.10.0`: runs the unit and socket tests of millrace on another Node version,
// which is installed into node_modules/.cache on first use.
const root = fileURLToPath(new URL('..', import.meta.url))
const [version = ''] = process.argv.slice(2)
if (!/^\d+\.\d+\.\d+$/.test(version))
  throw new Error(`pass a full Node version, not '${version}': npm run test:node -- 26.10.0`)

function run(command: string, args: readonly string[], env: NodeJS.ProcessEnv = process.env) {
  const { status, signal, error } = spawnSync(command, args, { cwd: root, env, stdio: 'inherit' })
  if (error) throw error
  if (status !== 0) process.exit(status ?? (signal ? 1 : 0))
}

const folder = join(root, 'node_modules', '.cache', `node-${version}`)
const binary = join(folder, 'node_modules', 'node', 'bin', 'node')
if (!existsSync(binary))
  run('npm', ['install', '--prefix', folder, '--no-save', '--no-audit', '--no-fund', `node@${version}`])

const options = [process.env.NODE_OPTIONS]
// Tests start processes from .ts files. Node strips types by default since 22.18.
if (version.startsWith('22.'))
  options.push('--experimental-strip-types --disable-warning=ExperimentalWarning')
// Where Node versions differ: connections, streams, SQLite.
const projects = ['--project', 'unit', '--project', 'io']
const folders = ['log/', 'models/wire/', 'threads/', 'client/', 'protocols/'].map(
  (folder) => `packages/millrace/src/${folder}`,
)
run(binary, ['node_modules/vitest/vitest.mjs', 'run', ...projects, ...folders], {
  ...process.env,
  PATH: `${join(binary, '..')}:${process.env.PATH}`,
  NODE_OPTIONS: options.filter(Boolean).join(' '),
})
