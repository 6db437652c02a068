import { readdirSync, readFileSync } from 'node:fs'
import { join, sep } from 'node:path'
import { describe, expect, test } from 'vitest'
import { faultsOf, type Tree } from './house.ts'
import { importsOf } from './imports.ts'
import { root } from './root.ts'

describe('imports are read from source', () => {
  const specifiers = (source: string) => importsOf(source).map(({ specifier }) => specifier)

  test('every form that names a module is found', () => {
    const source = `
      import './effect.ts'
      import one from './default.ts'
      import two, { type Three } from "./both.ts"
      import * as four from './namespace.ts'
      import {
        five,
        six as seven,
      } from './lines.ts'
      import type { Eight } from './type.ts'
      import data from './data.json' with { type: 'json' }
      export { nine } from './export.ts'
      export type { Ten } from './export-type.ts'
      export * from './star.ts'
      export * as eleven from './star-as.ts'
      const twelve = await import('./dynamic.ts')
      type Thirteen = import('./type-query.ts').Thirteen
    `
    expect(specifiers(source)).toEqual([
      './effect.ts',
      './default.ts',
      './both.ts',
      './namespace.ts',
      './lines.ts',
      './type.ts',
      './data.json',
      './export.ts',
      './export-type.ts',
      './star.ts',
      './star-as.ts',
      './dynamic.ts',
      './type-query.ts',
    ])
  })

  test('only `import type` and `export type` leave nothing at run time', () => {
    const typeOnly = (source: string) => importsOf(source).map((one) => one.typeOnly)
    expect(typeOnly(`import type { A } from 'a'; export type { B } from 'b'`)).toEqual([true, true])
    expect(typeOnly(`import { type A } from 'a'; import type from 'b'`)).toEqual([false, false])
  })

  test('comments, strings, templates and regular expressions hide what they quote', () => {
    const source = `
      // import a from './line.ts'
      /** import b from './block.ts' */
      const c = "import c from './string.ts'"
      const d = \`import d from './template.ts' \${\`export * from './nested.ts'\`} import('./tail.ts')\`
      const e = /['"\`/*]/.test(c) ? 1 / 2 : 3 / 4
      const f = [/import\\('.\\/regex.ts'\\)/, loader.import('./method.ts'), import.meta.url]
      export { c, d }
      const from = './after.ts'
      import g from './real.ts'
    `
    expect(specifiers(source)).toEqual(['./real.ts'])
  })
})

describe('each rule of the house catches what breaks it', () => {
  const faults = (files: Record<string, string>) => faultsOf(new Map(Object.entries(files)))

  test('a house in order has no faults', () => {
    const tidy = {
      'src/index.ts': `export { loop } from './agent/index.ts'\nexport { fold } from './protocol/index.ts'`,
      'src/protocol/index.ts': `export { fold } from './fold.ts'`,
      'src/protocol/fold.ts': `import type { Spec } from 'a-package'\nexport const fold = (spec: Spec) => spec`,
      'src/agent/index.ts': `export { loop } from './loop.ts'`,
      'src/agent/loop.ts': `import 'node:fs'\nimport { fold } from '../protocol/index.ts'\nexport const loop = fold`,
      'src/client/index.ts': `export { fold } from '../protocol/index.ts'`,
    }
    expect(faults(tidy)).toEqual([])
  })

  test('a room does not import a later room, nor the front doors of the package', () => {
    expect(faults({ 'src/models/sse.ts': `import { loop } from '../agent/index.ts'` })).toEqual([
      "src/models/sse.ts imports '../agent/index.ts': models imports only from rooms before it, and agent is after",
    ])
    expect(faults({ 'src/cli/main.ts': `const all = await import('../index.ts')` })).toEqual([
      "src/cli/main.ts imports '../index.ts': cli is a room, and rooms do not import the front doors of the package",
    ])
  })

  test('types are held to the direction as values are', () => {
    expect(faults({ 'src/tools/run.ts': `import type { Loop } from '../agent/index.ts'` })).toHaveLength(1)
    expect(faults({ 'src/tools/run.ts': `type Loop = import('../agent/index.ts').Loop` })).toHaveLength(1)
    expect(faults({ 'src/tools/run.ts': `export type { Loop } from '../agent/index.ts'` })).toHaveLength(1)
  })

  test('client imports only protocol', () => {
    expect(faults({ 'src/client/follow.ts': `import { agent } from '../agent/index.ts'` })).toEqual([
      "src/client/follow.ts imports '../agent/index.ts': client imports only protocol",
    ])
  })

  test('protocol imports nothing of ours, and no package at run time', () => {
    expect(faults({ 'src/protocol/events.ts': `import type { Tool } from '../tools/index.ts'` })).toEqual([
      "src/protocol/events.ts imports '../tools/index.ts': protocol imports nothing of ours",
    ])
    expect(faults({ 'src/protocol/events.ts': `import { z } from 'zod'` })).toEqual([
      "src/protocol/events.ts imports 'zod': protocol imports no package at run time",
    ])
    expect(faults({ 'src/protocol/events.ts': `import { type Hash } from 'node:crypto'` })).toHaveLength(1)
  })

  test('the front doors of the package leave testing and cli alone', () => {
    expect(faults({ 'src/index.ts': `export { scripted } from './testing/index.ts'` })).toEqual([
      "src/index.ts imports './testing/index.ts': a front door of the package imports neither testing nor cli",
    ])
    expect(faults({ 'src/server.ts': `export { main } from './cli/index.ts'` })).toHaveLength(1)
  })

  test('another room is entered by its front door', () => {
    expect(faults({ 'src/agent/loop.ts': `import { fold } from '../protocol/fold.ts'` })).toEqual([
      "src/agent/loop.ts imports '../protocol/fold.ts': " +
        'another room is entered by its front door, src/protocol/index.ts',
    ])
    expect(faults({ 'src/index.ts': `export { loop } from './agent/loop.ts'` })).toHaveLength(1)
    expect(faults({ 'src/agent/loop.ts': `import { sh } from '../tools/shell/index.ts'` })).toHaveLength(1)
  })

  test('the package does not import itself by name', () => {
    expect(faults({ 'src/agent/loop.ts': `import { tool } from 'millrace'` })).toEqual([
      "src/agent/loop.ts imports 'millrace': inside the house we import files, not the package by its own name",
    ])
  })

  test('tests may import anything, and nothing that is shipped imports them', () => {
    const scripted = `import { scripted } from '../testing/index.ts'`
    expect(faults({ 'src/agent/loop.test.ts': scripted, 'src/agent/loop.test-kit.ts': scripted })).toEqual([])
    expect(faults({ 'src/agent/loop.ts': `import { kit } from './loop.test-kit.ts'` })).toEqual([
      "src/agent/loop.ts imports './loop.test-kit.ts': what is shipped does not import tests",
    ])
  })

  test('a front door names what it exports', () => {
    expect(faults({ 'src/tools/index.ts': `export * from './tool.ts'` })).toEqual([
      "src/tools/index.ts has `export *` from './tool.ts': a front door names what it exports",
    ])
    expect(faults({ 'src/tools/shell/index.ts': `export * as shell from './run.ts'` })).toHaveLength(1)
    expect(faults({ 'src/openai.ts': `export * from './models/index.ts'` })).toHaveLength(1)
  })

  test('a folder is a room or lies in one, and is not a drawer', () => {
    expect(faults({ 'src/stores/memory.ts': '' })).toEqual([
      'src/stores: the folder is not a room; the rooms are protocol, view, log, models, tools, agent, threads, channels, ' +
        'protocols, client, server, telemetry, testing, cli',
    ])
    for (const name of ['utils', 'helpers', 'common', 'lib']) {
      expect(faults({ [`src/agent/${name}/a.ts`]: '', [`src/agent/${name}/b.test.ts`]: '' })).toEqual([
        `src/agent/${name}: a folder is named for what it holds, not ${name}`,
      ])
    }
  })

  test('files do not import in a circle, not even for types', () => {
    const circle = {
      'src/agent/index.ts': `export { a } from './a.ts'`,
      'src/agent/a.ts': `import { b } from './b.ts'\nexport const a = b`,
      'src/agent/b.ts': `import type { c } from './c.ts'\nexport const b = 1`,
      'src/agent/c.ts': `import { a } from './a.ts'\nexport const c = a`,
    }
    expect(faults(circle)).toEqual([
      'src/agent/a.ts imports src/agent/b.ts imports src/agent/c.ts imports src/agent/a.ts: ' +
        'files do not import in a circle',
    ])
    expect(faults({ 'src/agent/a.ts': `import { a } from './a.ts'` })).toHaveLength(1)
  })
})

test('the house is in order', () => {
  const tree = readTree()
  expect(tree.size).toBeGreaterThan(0)
  expect(faultsOf(tree)).toEqual([])
})

function readTree(): Tree {
  const paths = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts'))
    .sort()
  return new Map(
    paths.map((path) => [`src/${path.split(sep).join('/')}`, readFileSync(join(root, 'src', path), 'utf8')]),
  )
}
