import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { root } from './root.ts'

// What a run makes should be freed by the next minor garbage collection. V8 gives each object literal
// with a getter a hidden class of its own, and allocates a function literal that is assigned to a
// property among the old objects. Only a major collection frees them, with all that they refer to:
// the run. Fields, methods, the getters of a class and functions that are assigned by name do not
// have this cost.

/** Made for every run, round or call. */
const perRun = ['agent', 'models', 'protocol', 'tools', 'log/memory-log.ts', 'log/delta-buffer.ts']

/** A getter that is not one of a class at the top level of its file. */
const getter = /^ {4,}get \w+\(/m
const assigned =
  /^ *[\w#]+(\.[\w#]+)+ (\?\?|\|\|)?= *\n?\s*(async )?(function\b|\w+ =>|\([^()\n]*\)(: [^=\n]+)? =>)/m

function problemsIn(source: string): string[] {
  return [getter, assigned].flatMap((pattern) => pattern.exec(source)?.[0].trim() ?? [])
}

test('what is made for every run has no getters of its own, and no functions assigned to properties', () => {
  const paths = globSync(
    perRun.map((path) => `packages/millrace/src/${path.endsWith('.ts') ? path : `${path}/**/*.ts`}`),
    { cwd: root },
  ).filter((path) => !/\.test(-kit)?\.ts$/.test(path))
  expect(paths.length).toBeGreaterThan(150)
  const found = paths.flatMap((path) => problemsIn(readFileSync(join(root, path), 'utf8')))
  expect(found).toEqual([])
})

test('such getters and functions are found', () => {
  expect(problemsIn('  return {\n    get text() {')).toEqual(['get text('])
  for (const value of [
    '(event) => {',
    'async (a, b) => {',
    'event => 1',
    '(event: Event): void => {',
    'function () {',
  ])
    expect(problemsIn(`  log.onSignal = ${value}`)).toHaveLength(1)
  expect(problemsIn('class Log {\n  get text() {\n  }\n}\n')).toEqual([])
  expect(problemsIn('  log.onSignal = onSignal\n  const wake = () => {}\n  wake = () => {}\n')).toEqual([])
})
