import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { root } from './root.ts'

const read = (path: string) => readFileSync(join(root, path), 'utf8')
const json = (path: string) => JSON.parse(read(path))
const { scripts, devDependencies } = json('package.json')

describe.each(globSync('.github/workflows/*.yml', { cwd: root }))('%s', (path) => {
  const workflow = read(path)

  test('runs only npm scripts that exist', () => {
    const named = [...workflow.matchAll(/\bnpm (?:run (?:--silent )?([\w:]+)|(test)\b)/g)]
    const names = named.map(([, script, test]) => script ?? test ?? '')
    expect(names).toContain('test')
    expect(names.filter((name) => !(name in scripts))).toEqual([])
  })

  test('pins actions to a major version', () => {
    const actions = [...workflow.matchAll(/uses: (\S+)/g)].map(([, action]) => action)
    expect(actions).not.toEqual([])
    for (const action of actions) expect(action).toMatch(/^[\w-]+\/[\w-]+@v\d+$/)
  })

  test('declares its permissions', () => {
    expect(workflow).toMatch(/^permissions:\n {2}contents: (read|write)$/m)
  })
})

test('CI tests the oldest supported Node, the one for npm scripts, and the versions of the soak test', () => {
  const list = /node: \[(.*)\]/.exec(read('.github/workflows/ci.yml'))?.[1] ?? ''
  const [oldest, own, newest] = list.split(', ').map((version) => version.slice(1, -1))
  const engines = globSync('packages/*/package.json', { cwd: root })
    .map((path) => json(path))
    .flatMap((manifest) => (manifest.private ? [] : [manifest.engines.node]))
  expect(new Set(engines)).toEqual(new Set([`>=${oldest?.split('.').slice(0, 2).join('.')}`]))
  expect(devDependencies.node).toMatch(new RegExp(`^\\^${own}\\.`))
  for (const version of [oldest, newest])
    expect(scripts['test:soak']).toContain(`npm run test:node -- ${version}`)
})

test('the release workflow may publish with provenance', () => {
  expect(read('.github/workflows/release.yml')).toContain(
    'permissions:\n  contents: write\n  id-token: write\n',
  )
})

test('.editorconfig agrees with biome.json', () => {
  const { formatter } = json('biome.json')
  const editor = read('.editorconfig')
  expect(editor).toContain(`indent_style = ${formatter.indentStyle}\n`)
  expect(editor).toContain(`indent_size = ${formatter.indentWidth ?? 2}\n`)
  expect(editor).toContain(`max_line_length = ${formatter.lineWidth}\n`)
})
