import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { importsOf } from './imports.ts'
import { faultsOf, type Tree } from './layering.ts'
import { root } from './root.ts'

describe('imports are read from source', () => {
  const specifiers = (source: string) => importsOf(source).map(({ specifier }) => specifier)

  test('every form of import is found', () => {
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

  test('only `import type` and `export type` are erased at run time', () => {
    const typeOnly = (source: string) => importsOf(source).map((one) => one.typeOnly)
    expect(typeOnly(`import type { A } from 'a'; export type { B } from 'b'`)).toEqual([true, true])
    expect(typeOnly(`import { type A } from 'a'; import type from 'b'`)).toEqual([false, false])
  })

  test('imports in comments, strings, templates and regular expressions do not count', () => {
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

const entries = {
  millrace: ['millrace', 'millrace/internal'],
  '@millrace/voice': ['@millrace/voice'],
}

describe('each rule reports violations', () => {
  /** Paths below `packages/millrace/src`, or below `packages` if they start with a slash. */
  const faults = (files: Record<string, string>) =>
    faultsOf(
      new Map(
        Object.entries(files).map(([path, source]) => [
          path.startsWith('/') ? `packages${path}` : `packages/millrace/src/${path}`,
          source,
        ]),
      ),
      entries,
    )

  test('a valid tree has no faults', () => {
    const tidy = {
      'index.ts': `export { loop } from './agent/index.ts'\nexport { fold } from './protocol/index.ts'`,
      'protocol/index.ts': `export { fold } from './fold.ts'`,
      'protocol/fold.ts': `import type { Spec } from 'a-package'\nexport const fold = (spec: Spec) => spec`,
      'agent/index.ts': `export { loop } from './loop.ts'`,
      'agent/loop.ts': `import 'node:fs'\nimport { fold } from '../protocol/index.ts'\nexport const loop = fold`,
      'client/index.ts': `export { fold } from '../protocol/index.ts'`,
      'cli/voice.ts': `import type { Voice } from '@millrace/voice'\nconst load = () => import('@millrace/voice')`,
      '/voice/src/index.ts': `export { say } from './say.ts'`,
      '/voice/src/say.ts': `import { check } from 'millrace/internal'\nexport const say = check`,
    }
    expect(faults(tidy)).toEqual([])
  })

  test('another package is imported by an entry point, and millrace imports others only on demand', () => {
    expect(faults({ '/voice/src/say.ts': `import { a } from '../../millrace/src/index.ts'` })).toEqual([
      "packages/voice/src/say.ts imports '../../millrace/src/index.ts': " +
        'another package is imported by its name, not by a path',
    ])
    expect(faults({ '/voice/src/say.ts': `import { a } from 'millrace/agent/loop'` })).toEqual([
      "packages/voice/src/say.ts imports 'millrace/agent/loop': not an entry point of a package",
    ])
    expect(faults({ '/otel/src/say.ts': `import { a } from '@millrace/voice'` })).toEqual([
      "packages/otel/src/say.ts imports '@millrace/voice': a package imports only millrace",
    ])
    const onDemand = 'millrace loads other packages only on demand, from cli'
    expect(faults({ 'cli/voice.ts': `import { voice } from '@millrace/voice'` })).toEqual([
      `packages/millrace/src/cli/voice.ts imports '@millrace/voice': ${onDemand}`,
    ])
    expect(faults({ 'server/voice.ts': `const load = () => import('@millrace/voice')` })).toEqual([
      `packages/millrace/src/server/voice.ts imports '@millrace/voice': ${onDemand}`,
    ])
  })

  test('a layer does not import a later layer, nor the entry points of the package', () => {
    expect(faults({ 'models/sse.ts': `import { loop } from '../agent/index.ts'` })).toEqual([
      "packages/millrace/src/models/sse.ts imports '../agent/index.ts': " +
        'models imports only from layers before it, and agent is after',
    ])
    expect(faults({ 'cli/main.ts': `const all = await import('../index.ts')` })).toEqual([
      "packages/millrace/src/cli/main.ts imports '../index.ts': " +
        'cli is a layer, and layers do not import the entry points of the package',
    ])
  })

  test('the direction applies to types too', () => {
    expect(faults({ 'tools/run.ts': `import type { Loop } from '../agent/index.ts'` })).toHaveLength(1)
    expect(faults({ 'tools/run.ts': `type Loop = import('../agent/index.ts').Loop` })).toHaveLength(1)
    expect(faults({ 'tools/run.ts': `export type { Loop } from '../agent/index.ts'` })).toHaveLength(1)
  })

  test('client imports only protocol', () => {
    expect(faults({ 'client/follow.ts': `import { agent } from '../agent/index.ts'` })).toEqual([
      "packages/millrace/src/client/follow.ts imports '../agent/index.ts': client imports only protocol",
    ])
  })

  test('protocol imports no other layer, and no package at run time', () => {
    expect(faults({ 'protocol/events.ts': `import type { Tool } from '../tools/index.ts'` })).toEqual([
      "packages/millrace/src/protocol/events.ts imports '../tools/index.ts': protocol imports no other layer",
    ])
    expect(faults({ 'protocol/events.ts': `import { z } from 'zod'` })).toEqual([
      "packages/millrace/src/protocol/events.ts imports 'zod': protocol imports no package at run time",
    ])
    expect(faults({ 'protocol/events.ts': `import { type Hash } from 'node:crypto'` })).toHaveLength(1)
  })

  test('the entry points of the package do not import testing and cli', () => {
    expect(faults({ 'index.ts': `export { scripted } from './testing/index.ts'` })).toEqual([
      "packages/millrace/src/index.ts imports './testing/index.ts': " +
        'an entry point of the package imports neither testing nor cli',
    ])
    expect(faults({ 'server.ts': `export { main } from './cli/index.ts'` })).toHaveLength(1)
  })

  test('another layer is imported through its index', () => {
    expect(faults({ 'agent/loop.ts': `import { fold } from '../protocol/fold.ts'` })).toEqual([
      "packages/millrace/src/agent/loop.ts imports '../protocol/fold.ts': " +
        'another layer is imported through its packages/millrace/src/protocol/index.ts',
    ])
    expect(faults({ 'index.ts': `export { loop } from './agent/loop.ts'` })).toHaveLength(1)
    expect(faults({ 'agent/loop.ts': `import { sh } from '../tools/shell/index.ts'` })).toHaveLength(1)
  })

  test('a package does not import itself by name', () => {
    expect(faults({ 'agent/loop.ts': `import { tool } from 'millrace'` })).toEqual([
      "packages/millrace/src/agent/loop.ts imports 'millrace': " +
        'inside a package files are imported, not the package by its own name',
    ])
    expect(faults({ '/voice/src/say.ts': `import { voice } from '@millrace/voice'` })).toHaveLength(1)
  })

  test('tests may import anything, and published code does not import tests', () => {
    const scripted = `import { scripted } from '../testing/index.ts'`
    expect(faults({ 'agent/loop.test.ts': scripted, 'agent/loop.test-kit.ts': scripted })).toEqual([])
    expect(faults({ 'agent/loop.ts': `import { kit } from './loop.test-kit.ts'` })).toEqual([
      "packages/millrace/src/agent/loop.ts imports './loop.test-kit.ts': published code does not import tests",
    ])
  })

  test('an entry point names what it exports', () => {
    expect(faults({ 'tools/index.ts': `export * from './tool.ts'` })).toEqual([
      "packages/millrace/src/tools/index.ts has `export *` from './tool.ts': an entry point names what it exports",
    ])
    expect(faults({ 'tools/shell/index.ts': `export * as shell from './run.ts'` })).toHaveLength(1)
    expect(faults({ '/voice/src/index.ts': `export * from './say.ts'` })).toHaveLength(1)
  })

  test('a folder is a layer or inside one, and its name says what it contains', () => {
    expect(faults({ 'stores/memory.ts': '' })).toEqual([
      'packages/millrace/src/stores: not a layer; the layers are protocol, view, log, models, tools, agent, threads, ' +
        'protocols, client, server, telemetry, testing, cli',
    ])
    for (const name of ['utils', 'helpers', 'common', 'lib']) {
      expect(faults({ [`agent/${name}/a.ts`]: '', [`agent/${name}/b.test.ts`]: '' })).toEqual([
        `packages/millrace/src/agent/${name}: name a folder for what it contains, not ${name}`,
      ])
    }
  })

  test('files do not import in a circle, not even for types', () => {
    const circle = {
      'agent/index.ts': `export { a } from './a.ts'`,
      'agent/a.ts': `import { b } from './b.ts'\nexport const a = b`,
      'agent/b.ts': `import type { c } from './c.ts'\nexport const b = 1`,
      'agent/c.ts': `import { a } from './a.ts'\nexport const c = a`,
    }
    const [a, b, c] = ['a', 'b', 'c'].map((name) => `packages/millrace/src/agent/${name}.ts`)
    expect(faults(circle)).toEqual([
      `${a} imports ${b} imports ${c} imports ${a}: files do not import in a circle`,
    ])
    expect(faults({ 'agent/a.ts': `import { a } from './a.ts'` })).toHaveLength(1)
  })
})

test('every package follows the rules', () => {
  const paths = globSync('packages/*/{src/,}**/*.{ts,tsx}', {
    cwd: root,
    exclude: ['**/node_modules', '**/dist'],
  })
  const tree: Tree = new Map(paths.sort().map((path) => [path, readFileSync(join(root, path), 'utf8')]))
  expect(tree.size).toBeGreaterThan(500)
  expect(faultsOf(tree, allEntries())).toEqual([])
})

function allEntries(): Record<string, string[]> {
  const manifests = globSync('packages/*/package.json', { cwd: root }).map((path) =>
    JSON.parse(readFileSync(join(root, path), 'utf8')),
  )
  return Object.fromEntries(
    manifests.map(({ name, exports = {} }) => [
      name,
      Object.keys(exports).map((entry) => entry.replace(/^\./, name)),
    ]),
  )
}
