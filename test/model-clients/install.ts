import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { basename, join } from 'node:path'
import { promisify } from 'node:util'
import { root } from '../root.ts'

/** The clients, at the versions that the tests were written for, and their programs. */
const packages = {
  codex: { spec: '@openai/codex@0.169.0', bin: 'codex' },
  'claude-code': { spec: '@anthropic-ai/claude-code@2.1.327', bin: 'claude' },
  opencode: { spec: 'opencode-ai@1.18.33', bin: 'opencode' },
  // 1.x depends on @earendil-works/pi-codemode, which is not on npm.
  pi: { spec: '@earendil-works/pi-coding-agent@0.87.1', bin: 'pi' },
}
export type ClientName = keyof typeof packages

const cache = join(root, 'node_modules/.cache/model-clients')
const answerMs = 20_000
const installMs = 300_000
const npm = promisify(execFile).bind(undefined, 'npm')

/**
 * The program of a client, installed into a cache if it is missing: together they have more than a
 * gigabyte, so they are not dev dependencies. Undefined without network on a developer's machine,
 * where its tests are skipped. In CI nothing may be skipped.
 */
export async function installed(name: ClientName): Promise<string | undefined> {
  const { spec, bin } = packages[name]
  const folder = join(cache, basename(spec))
  const program = join(folder, 'node_modules/.bin', bin)
  if (existsSync(program)) return program
  say(`installing ${spec} for tests`)
  try {
    await install(spec, folder)
    return program
  } catch (error) {
    const hint = `${spec} cannot be installed: npm install --prefix ${folder} --no-save ${spec}`
    if (process.env.CI) throw new Error(hint, { cause: error })
    say(`its tests are skipped: ${hint}`)
    return undefined
  }
}

async function install(spec: string, folder: string) {
  // Without network npm would try for minutes.
  await npm(['view', spec, 'version'], { timeout: answerMs })
  mkdirSync(cache, { recursive: true })
  // Another test file may install the same client: the first that is complete stays.
  const own = mkdtempSync(join(cache, 'installing-'))
  const args = ['install', '--prefix', own, '--no-save', '--no-audit', '--no-fund', spec]
  try {
    await npm(args, { timeout: installMs })
    if (!existsSync(folder)) renameSync(own, folder)
  } finally {
    rmSync(own, { recursive: true, force: true })
  }
}

function say(line: string) {
  process.stderr.write(`${line}\n`)
}
