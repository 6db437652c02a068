import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { root } from './root.ts'

/** The folds of the log. Everything else reads their state. */
const folds = [
  'packages/millrace/src/protocol/run-state.ts',
  'packages/millrace/src/protocol/thread-state.ts',
  'packages/millrace/src/view/fold.ts',
]

/** The voice has its own fold, to utterances. */
const spoken = 'packages/voice/src/speaking/reading.ts'

/** Upgrades the events of earlier versions before they are folded. */
const upgrade = 'packages/millrace/src/protocol/upgrade.ts'

const events = readFileSync(join(root, 'packages/millrace/src/protocol/events.ts'), 'utf8')
const [, modelEvents = ''] = /export type ModelEvent =([\s\S]*?\n)\n/.exec(events) ?? []

/** Event types that only a log has. Model events have other switches. */
const logTypes = [
  ...events.matchAll(/export interface (\w+)(?:<.*>)?(?: extends \w+)? \{\n {2}readonly type: '([\w-]+)'/g),
].flatMap(([, name = '', type = '']) => (modelEvents.includes(`| ${name}\n`) ? [] : [type]))

/** The switches of a source over four or more types of log events. */
function switchesIn(source: string): string[] {
  const switches = [...source.matchAll(/^( *)[^\n]*\bswitch \([^\n]*\{\n[\s\S]*?\n\1\}/gm)].map(
    ([text]) => text,
  )
  return switches.filter((text) => {
    const labels = new Set(Array.from(text.matchAll(/\bcase '([\w-]+)'/g), ([, label = '']) => label))
    return logTypes.filter((type) => labels.has(type)).length >= 4
  })
}

test('the log is folded in three places, and the compiler names them when an event is added', () => {
  expect(logTypes).toHaveLength(18)
  const paths = globSync(['packages/*/src/**/*.ts', 'packages/inspector/**/*.{ts,tsx}'], {
    cwd: root,
  }).filter((path) => !/\.test(-kit)?\.tsx?$/.test(path) && path !== spoken && path !== upgrade)
  const found = paths.flatMap((path) =>
    switchesIn(readFileSync(join(root, path), 'utf8')).map((text) => [path, text] as const),
  )
  expect(found.map(([path]) => path).sort()).toEqual(folds)
  for (const [, text] of found) expect(text).toMatch(/default:\n +event satisfies never\n/)
})

test('switches over the log are distinguished from switches over parts or model events', () => {
  const over = (types: readonly string[]) =>
    `  switch (event.type) {\n${types.map((type) => `    case '${type}':\n`).join('')}      return\n  }\n`
  expect(switchesIn(over(['run-start', 'round-start', 'round-retract', 'run-end']))).toHaveLength(1)
  expect(switchesIn(over(['text', 'reasoning', 'tool-call', 'provider-tool', 'tool-result']))).toEqual([])
})
