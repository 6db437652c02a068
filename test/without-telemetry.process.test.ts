import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { plainEnv, run } from './processes.ts'
import { root } from './root.ts'

const manifest: { readonly exports: Readonly<Record<string, { readonly default?: string }>> } = JSON.parse(
  readFileSync(join(root, 'packages/millrace/package.json'), 'utf8'),
)

/** The sources of the exports of `millrace`. */
const entries = Object.values(manifest.exports).flatMap(
  (target) => target.default?.replace(/^\.\/dist\/(.*)\.js$/, './packages/millrace/src/$1.ts') ?? [],
)

/**
 * Runs a program as if OpenTelemetry were not installed. Prints which of its packages were
 * imported.
 */
async function withoutIt(program: string) {
  const source = `
    import { registerHooks } from 'node:module'
    const asked = []
    registerHooks({
      resolve(specifier, context, next) {
        if (!specifier.startsWith('@opentelemetry/')) return next(specifier, context)
        asked.push(specifier + ' by ' + context.parentURL)
        throw new Error(specifier + ' is not installed')
      },
    })
    process.on('exit', () => console.log(JSON.stringify(asked)))
    ${program}
  `
  const args = ['--conditions=@millrace/source', '--no-warnings', '--input-type=module', '--eval', source]
  return run(process.execPath, args, { cwd: root, env: plainEnv() })
}

const nothing = { exit: 0, stdout: '[]\n', stderr: '' }

test('importing millrace imports nothing of OpenTelemetry', async () => {
  expect(entries).toContain('./packages/millrace/src/index.ts')
  expect(await withoutIt(entries.map((path) => `await import('${path}')`).join('\n'))).toEqual(nothing)
})

test('nor does a run without telemetry, a run in a thread, or a run with a logger', async () => {
  const program = `
    const { agent, logs, millrace } = await import('./packages/millrace/src/index.ts')
    const { scriptedModel } = await import('./packages/millrace/src/testing/index.ts')
    const lines = []
    const logger = { debug() {}, info: (...line) => lines.push(line), warn() {}, error() {} }
    const model = () => scriptedModel(() => 'Yes.')
    await agent({ model: model() }).run('Hi')
    await agent({ model: model(), telemetry: logs(logger) }).run('Hi')
    const app = millrace({ agents: agent({ model: model() }) })
    const thread = app.thread()
    await thread.send('Hi')
    for await (const _ of thread.follow({ until: 'idle' }));
    await app.close()
    if (lines.length === 0) throw new Error('nothing was logged')
  `
  expect(await withoutIt(program)).toEqual(nothing)
})

test('only @millrace/otel does', async () => {
  const { exit, stdout, stderr } = await withoutIt(`await import('./packages/otel/src/index.ts')`)
  expect(exit).not.toBe(0)
  expect(stdout).toMatch('@opentelemetry/api')
  expect(stderr).toMatch('@opentelemetry/api is not installed')
})
