import { mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { agent } from 'millrace'
import { type ScriptRound, scriptedModel } from 'millrace/testing'
import type { CallView } from 'millrace/view'
import { applyEntry, createView } from 'millrace/view'
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { startApp, untilIdle } from '../../millrace/src/threads/threads.test-kit.ts'
import { type EditorOptions, testEditor } from './editor.test-kit.ts'
import { files, permission, shell, webFetch } from './index.ts'
import { setWorkspaceClient } from './workspace-client.ts'

let root: string
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'millrace-editor-')))
  writeFileSync(join(root, 'a.txt'), 'saved\n')
  writeFileSync(join(root, '.env'), 'SECRET-7\n')
})
afterEach(() => rmSync(root, { recursive: true, force: true }))

type Calls = Parameters<typeof scriptedModel>[0]

function opened(
  calls: readonly ScriptRound[],
  { inSubAgent = false, editor: given = {} as EditorOptions } = {},
) {
  const box = shell({ workspace: root, sandbox: 'off', graceMs: 100 })
  onTestFinished(() => box.close())
  const rules = permission({
    allow: ['read(**)', 'run(**)'],
    deny: ['read(.env)', 'write(.env)', 'run(rm *)'],
  })
  const tools = [files({ workspace: root }), box, webFetch()]
  const worker = agent({
    name: 'worker',
    model: scriptedModel([...calls, 'Done.'] as Calls),
    tools,
    permission: rules,
  })
  const boss = agent({
    name: 'boss',
    model: scriptedModel([[{ call: 'worker', input: { prompt: 'Do it.' } }], 'Done.']),
    tools: [worker.asTool({ description: 'Works' })],
    permission: permission({ allow: ['worker', 'read(**)', 'write(**)', 'run(**)'], deny: [] }),
  })
  const editor = testEditor([root], given)
  const thread = startApp({ agents: inSubAgent ? boss : worker }).thread(editor.thread)
  return { editor, thread }
}

async function viewAfter(thread: ReturnType<typeof opened>['thread']) {
  const view = createView()
  for (const entry of await untilIdle(thread)) applyEntry(view, entry)
  return view
}

function textOf({ result }: CallView): string {
  const [part] = result?.output ?? []
  return part?.type === 'text' ? part.text : JSON.stringify(part)
}

describe.each([false, true])('the tools of a thread with an editor (of a sub-agent: %s)', (inSubAgent) => {
  const run = async (...calls: ScriptRound[]) => {
    const { editor, thread } = opened(calls, { inSubAgent })
    editor.type(join(root, 'a.txt'), 'typed\n')
    await thread.send('Go.')
    const { runs } = await viewAfter(thread)
    const [first] = runs[0]?.calls ?? []
    return { editor, calls: (inSubAgent ? first?.inner?.runs[0]?.calls : runs[0]?.calls) ?? [] }
  }

  test('use it', async () => {
    const { editor, calls } = await run([
      { call: 'read_file', input: { path: 'a.txt' } },
      { call: 'shell', input: { command: 'echo hi' } },
    ])
    expect(calls.map(textOf)).toEqual(['     1\ttyped', expect.stringMatching(/^hi\n\[exit code 0/)])
    expect(editor.asked.toSorted()).toEqual([`read ${join(root, 'a.txt')}`, 'terminal'])
    expect(calls[1]).toMatchObject({
      display: { kind: 'execute', title: 'echo hi', terminal: 'term_1' },
      printed: 'hi\n',
    })
  })

  test('ask it nothing that the rules deny', async () => {
    const { editor, calls } = await run([
      { call: 'read_file', input: { path: '.env' } },
      { call: 'write_file', input: { path: '.env', content: 'x' } },
      { call: 'edit_file', input: { path: '.env', old_text: 'S', new_text: 'x' } },
      { call: 'shell', input: { command: 'echo hi && rm a.txt' } },
    ])
    expect(calls.map(({ state }) => state)).toEqual(['blocked', 'blocked', 'blocked', 'blocked'])
    expect(editor.asked).toEqual([])
    expect(JSON.stringify(calls.map(({ display }) => display))).not.toContain('SECRET')
  })
})

test('an edit shows its diff while it waits for approval, and changes nothing before that', async () => {
  const { editor, thread } = opened([
    [{ call: 'edit_file', input: { path: 'a.txt', old_text: 'typed', new_text: 'edited' } }],
  ])
  const path = join(root, 'a.txt')
  editor.type(path, 'first\ntyped\n')
  await thread.send('Go.')
  const asking = await viewAfter(thread)
  const diff = [{ path, oldText: 'typed', newText: 'edited' }]
  expect(asking.runs[0]?.calls[0]).toMatchObject({
    state: 'asking',
    display: { kind: 'edit', title: 'Edit a.txt', locations: [{ path }], diff },
  })
  expect(editor.asked).toEqual([])
  await thread.approve('call_1', { approved: true })
  const view = await viewAfter(thread)
  expect(view.runs[0]?.calls[0]?.display).toMatchObject({ diff, locations: [{ path, line: 2 }] })
  expect(readFileSync(path, 'utf8')).toBe('first\nedited\n')
})

test('an editor that leaves during a run is not asked again', async () => {
  const { editor, thread } = opened([
    [{ call: 'read_file', input: { path: 'a.txt' } }],
    [{ call: 'read_file', input: { path: 'a.txt', limit: 5 } }],
  ])
  editor.type(join(root, 'a.txt'), 'typed\n')
  setWorkspaceClient(editor.thread, {
    ...editor.client,
    async readTextFile() {
      editor.close()
      throw new Error('the connection is closed')
    },
  })
  await thread.send('Go.')
  const { runs } = await viewAfter(thread)
  expect(runs[0]?.calls.map(textOf)).toEqual([
    "The tool failed: The editor could not read 'a.txt': the connection is closed.",
    '     1\tsaved',
  ])
})

describe('what built-in tools show', () => {
  const shown = (name: string, input: object) => {
    const box = shell({ workspace: root, sandbox: 'off' })
    onTestFinished(() => box.close())
    const tool = [...files({ workspace: root }).tools, ...box.tools, webFetch()].find(
      (one) => one.name === name,
    )
    return (async () => {
      const checked = await tool?.schema.check(input)
      if (!tool?.display || !checked || checked.issues) throw new Error(`no display of ${name}`)
      return tool.display(checked.value as never)
    })()
  }

  test.each<[string, object, (root: string) => object]>([
    [
      'read_file',
      { path: './a/../b.ts', offset: 3 },
      (root) => ({ kind: 'read', title: 'Read ./a/../b.ts', locations: [{ path: `${root}/b.ts`, line: 3 }] }),
    ],
    [
      'write_file',
      { path: 'b.ts', content: 'x' },
      (root) => ({
        kind: 'edit',
        title: 'Write b.ts',
        locations: [{ path: `${root}/b.ts` }],
        diff: [{ path: `${root}/b.ts`, newText: 'x' }],
      }),
    ],
    [
      'edit_file',
      {
        path: 'b.ts',
        edits: [
          { old_text: 'a', new_text: 'b' },
          { old_text: 'c', new_text: '' },
        ],
      },
      (root) => ({
        diff: [
          { path: `${root}/b.ts`, oldText: 'a', newText: 'b' },
          { path: `${root}/b.ts`, oldText: 'c', newText: '' },
        ],
      }),
    ],
    ['list_files', {}, () => ({ kind: 'search', title: 'List .' })],
    ['find_files', { pattern: '*.ts', path: 'src' }, () => ({ kind: 'search', title: 'Find *.ts in src' })],
    ['search_files', { pattern: 'TODO' }, () => ({ kind: 'search', title: 'Search for TODO' })],
    ['shell', { command: 'npm test' }, () => ({ kind: 'execute', title: 'npm test' })],
    ['shell', { command: ['npm', 'test'] }, () => ({ kind: 'execute', title: 'npm test' })],
    ['shell_output', { id: 'bg_12345678' }, () => ({ kind: 'execute', title: 'Output of bg_12345678' })],
    [
      'web_fetch',
      { url: 'https://example.org/' },
      () => ({ kind: 'fetch', title: 'Fetch https://example.org/' }),
    ],
  ])('%s %j', async (name, input, display) => {
    expect(await shown(name, input)).toMatchObject(display(root))
  })

  test.each(['../secret.txt', '/etc/passwd', '~/.ssh/id_rsa', 'a/../../secret.txt'])(
    'no location for %s',
    async (path) => {
      expect(await shown('read_file', { path })).toMatchObject({ locations: [] })
      expect(await shown('write_file', { path, content: 'x' })).toMatchObject({ locations: [], diff: [] })
    },
  )

  test('characters that hide something are visible, and long titles and diffs are limited', async () => {
    const command = `echo ok \u202e; rm -rf x\n${'y'.repeat(1000)}`
    const { title } = (await shown('shell', { command })) as { title: string }
    expect(title).toMatch(/^echo ok \\u\{?202e\}?; rm -rf x\\ny/)
    expect(title.length).toBeLessThan(600)
    const long = await shown('write_file', { path: 'b.ts', content: 'x'.repeat(70_000) })
    expect(long).toMatchObject({ title: 'Write b.ts' })
    expect(long).not.toHaveProperty('diff')
  })
})
