import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

// `npm run test:node -- 26.10.0`: the unit and socket tests of millrace on another Node, which is installed beside the packages when first asked for.
const root = fileURLToPath(new URL('..', import.meta.url))
const [version = ''] = process.argv.slice(2)
if (!/^\d+\.\d+\.\d+$/.test(version))
  throw new Error(`which Node? Pass a whole version: npm run test:node -- 26.10.0, not '${version}'`)

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
// Tests start processes from .ts files; Node strips types without being asked from 22.18 on.
if (version.startsWith('22.'))
  options.push('--experimental-strip-types --disable-warning=ExperimentalWarning')
// Where versions of Node differ: connections, streams, SQLite.
const projects = ['--project', 'unit', '--project', 'io']
const folders = ['protocol/', 'log/', 'models/wire/', 'agent/', 'threads/', 'client/', 'protocols/'].map(
  (folder) => `packages/millrace/src/${folder}`,
)
run(binary, ['node_modules/vitest/vitest.mjs', 'run', ...projects, ...folders], {
  ...process.env,
  PATH: `${join(binary, '..')}:${process.env.PATH}`,
  NODE_OPTIONS: options.filter(Boolean).join(' '),
})
